/**
 * Tests the sign-in to subscriptions against servers that speak the documented forms of their services, and the tokens
 * that calls of models send: which, with what beside them, and when they are renewed.
 */

import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { replaceClock } from '#durable/platform/clock.ts'
import { tenantStub } from '#durable/platform/addresses.ts'
import { systemAuthority } from '#agent/core/permission/authority.ts'
import { answerRequests } from '../support/answered-requests.ts'
import { createSkippingClock } from '../support/clock.ts'
import { Gate, until } from '../support/scripted-model.ts'
import { applyMigrations, bindings, call, type ErrorBody, newKey, newSession, newTenant } from './client.ts'

beforeAll(applyMigrations)

type SignIn = {
  readonly status: string
  readonly sign_in?: string
  readonly user_code?: string
  readonly verification_url?: string
  readonly interval?: number
  readonly credential?: { readonly id: string; readonly name: string | null; readonly provider: string }
}
type Received = { readonly url: string; readonly headers: Headers; readonly text: string }
type Script = (received: Received) => Response | Promise<Response | undefined> | undefined

let received: Received[] = []
let script: Script = () => undefined
let stopAnswering = () => {}
const hosts =
  /^https:\/\/(auth\.openai\.com|chatgpt\.com|github\.com|api\.github\.com|(api|api\.individual)\.githubcopilot\.com|auth\.x\.ai|api\.x\.ai|chat\.qwen\.ai|portal\.qwen\.ai|account\.qwen\.ai|evil\.example)\//

beforeEach(() => {
  received = []
  script = () => undefined
  stopAnswering = answerRequests((url, input, init) => {
    if (!hosts.test(url)) return undefined
    return (async () => {
      const request = new Request(input as RequestInfo, { ...init, signal: null })
      const one = { url, headers: request.headers, text: await request.text() }
      received.push(one)
      return (await script(one)) ?? Response.json({ error: 'unexpected' }, { status: 500 })
    })()
  })
})
afterEach(() => {
  stopAnswering()
  replaceClock()
})

const jwt = (claims: object) => `h.${btoa(JSON.stringify(claims)).replaceAll('=', '')}.s`
const sse = (...frames: readonly object[]) =>
  new Response([...frames.map((frame) => `data: ${JSON.stringify(frame)}\n\n`), 'data: [DONE]\n\n'].join(''), {
    headers: { 'content-type': 'text/event-stream' },
  })
const chatAnswer = () =>
  sse(
    { id: 'c', choices: [{ index: 0, delta: { content: 'ok' } }] },
    { id: 'c', choices: [{ index: 0, delta: {}, finish_reason: 'stop' }] },
  )
const responsesAnswer = () => {
  const item = { type: 'message', id: 'm', role: 'assistant', content: [{ type: 'output_text', text: 'ok' }] }
  const response = { id: 'r', status: 'completed', output: [item], usage: { input_tokens: 1, output_tokens: 1 } }
  return sse(
    { type: 'response.output_item.added', output_index: 0, item: { ...item, content: [] } },
    { type: 'response.output_text.delta', output_index: 0, content_index: 0, delta: 'ok' },
    { type: 'response.output_item.done', output_index: 0, item },
    { type: 'response.completed', response },
  )
}

const post = (body: object, key: string) => call<SignIn & ErrorBody>('POST', '/api/credentials/oauth', { key, body })
const ask = async (model: string, key: string) => {
  const session = await newSession({ model }, key)
  return call<{ output: string | null; error: string | null }>('POST', `/api/sessions/${session.id}/chat`, {
    key,
    body: { input: 'hi' },
  })
}
const formOf = ({ text }: Received) => Object.fromEntries(new URLSearchParams(text))
const bearers = (pattern: RegExp) =>
  received.filter(({ url }) => pattern.test(url)).map(({ headers }) => headers.get('authorization'))

/** A service of Qwen that gives new tokens with every renewal, and accepts each refresh token once. */
function createQwen({ lifetime = 3_600, host = 'account.qwen.ai' } = {}) {
  const state = { nth: 0, confirmed: true, isRevoked: false, renewals: 0, gate: undefined as Gate | undefined }
  const issue = () => {
    state.nth++
    return Response.json({
      access_token: `qwen-access-${state.nth}-secret`,
      refresh_token: `qwen-refresh-${state.nth}-secret`,
      token_type: 'Bearer',
      expires_in: state.nth === 1 ? lifetime : 3_600,
      resource_url: host,
    })
  }
  script = async (one) => {
    if (one.url.endsWith('/oauth2/device/code'))
      return Response.json({
        device_code: 'dev-secret',
        user_code: 'QWEN-1234',
        verification_uri: 'https://chat.qwen.ai/authorize',
        verification_uri_complete: 'https://chat.qwen.ai/authorize?user_code=QWEN-1234',
        expires_in: 900,
        interval: 2,
      })
    if (one.url.endsWith('/oauth2/token')) {
      const form = formOf(one)
      if (form['grant_type'] !== 'refresh_token')
        return state.confirmed ? issue() : Response.json({ error: 'authorization_pending' }, { status: 400 })
      state.renewals++
      await state.gate?.waitUntilOpen()
      const isCurrent = form['refresh_token'] === `qwen-refresh-${state.nth}-secret`
      return state.isRevoked || !isCurrent ? Response.json({ error: 'invalid_grant' }, { status: 400 }) : issue()
    }
    const isValid = one.headers.get('authorization') === `Bearer qwen-access-${state.nth}-secret`
    return isValid && !state.isRevoked
      ? chatAnswer()
      : Response.json({ error: { message: 'expired' } }, { status: 401 })
  }
  return state
}

async function signIn(provider: string, key: string) {
  const started = await post({ provider }, key)
  expect(started.status, JSON.stringify(started.body)).toBe(200)
  const done = await post({ sign_in: started.body.sign_in }, key)
  expect(done.body, JSON.stringify(done.body)).toMatchObject({ status: 'done' })
  return { started: started.body, done: done.body }
}

describe('the sign-in to a subscription', () => {
  it('to ChatGPT redeems the confirmed code, and calls name the account and no limit', async () => {
    const { key } = await newTenant()
    let polls = 0
    const access = jwt({ 'https://api.openai.com/auth': { chatgpt_account_id: 'acct-1' }, email: 'ann@example.com' })
    script = ({ url }) => {
      if (url === 'https://auth.openai.com/api/accounts/deviceauth/usercode')
        return Response.json({ device_auth_id: 'da', user_code: 'ABCD-EFGH', interval: '5' })
      if (url === 'https://auth.openai.com/api/accounts/deviceauth/token')
        return polls++
          ? Response.json({ authorization_code: 'code', code_challenge: 'c', code_verifier: 'v' })
          : new Response('', { status: 403 })
      if (url === 'https://auth.openai.com/oauth/token')
        return Response.json({ id_token: access, access_token: access, refresh_token: 'openai-refresh-secret' })
      return responsesAnswer()
    }
    const started = await post({ provider: 'openai-codex' }, key)
    expect(started.body).toMatchObject({
      status: 'pending',
      user_code: 'ABCD-EFGH',
      verification_url: 'https://auth.openai.com/codex/device',
      interval: 5,
    })
    expect((await post({ sign_in: started.body.sign_in }, key)).body).toMatchObject({ status: 'pending' })
    const done = await post({ sign_in: started.body.sign_in }, key)
    expect(done.body).toMatchObject({
      status: 'done',
      credential: { provider: 'openai-codex', name: 'ann@example.com' },
    })
    expect(formOf(received.find(({ url }) => url.endsWith('/oauth/token')) as Received)).toEqual({
      client_id: 'app_EMoamEEZ73f0CkXaXp7hrann',
      grant_type: 'authorization_code',
      code: 'code',
      redirect_uri: 'https://auth.openai.com/deviceauth/callback',
      code_verifier: 'v',
    })
    expect((await ask('codex/gpt-5.4', key)).body).toMatchObject({ output: 'ok' })
    const sent = received.findLast(({ url }) => url === 'https://chatgpt.com/backend-api/codex/responses') as Received
    expect(Object.fromEntries(sent.headers)).toMatchObject({
      authorization: `Bearer ${access}`,
      'chatgpt-account-id': 'acct-1',
      originator: 'codex_cli_rs',
    })
    const body = JSON.parse(sent.text) as Record<string, unknown>
    expect(body).toMatchObject({ store: false, stream: true, instructions: expect.any(String) })
    expect(body).not.toHaveProperty('max_output_tokens')
  })

  it('to GitHub Copilot exchanges the token of GitHub, and calls say who began', async () => {
    const { key } = await newTenant()
    script = ({ url, headers }) => {
      if (url === 'https://github.com/login/device/code')
        return Response.json({
          device_code: 'd',
          user_code: 'GH-1',
          verification_uri: 'https://github.com/login/device',
          interval: 5,
          expires_in: 900,
        })
      if (url === 'https://github.com/login/oauth/access_token')
        return Response.json({ access_token: 'gho_secret_of_github', token_type: 'bearer', scope: 'read:user' })
      if (url === 'https://api.github.com/copilot_internal/v2/token')
        return headers.get('authorization') === 'token gho_secret_of_github'
          ? Response.json({
              token: 'tid=copilot-secret',
              expires_at: Math.floor(Date.now() / 1e3) + 1_500,
              endpoints: { api: 'https://api.individual.githubcopilot.com' },
            })
          : new Response('', { status: 401 })
      return chatAnswer()
    }
    await signIn('copilot', key)
    expect((await ask('copilot/gpt-5-mini', key)).body).toMatchObject({ output: 'ok' })
    const sent = received.at(-1) as Received
    expect(sent.url).toBe('https://api.individual.githubcopilot.com/chat/completions')
    expect(Object.fromEntries(sent.headers)).toMatchObject({
      authorization: 'Bearer tid=copilot-secret',
      'copilot-integration-id': 'vscode-chat',
      'x-initiator': 'user',
    })
    expect(sent.headers.get('editor-version')).toMatch(/^vscode\//)
    expect(sent.headers.has('copilot-vision-request')).toBe(false)
  })

  it('to GitHub says that an account without Copilot has none', async () => {
    const { key } = await newTenant()
    script = ({ url }) => {
      if (url.endsWith('/device/code'))
        return Response.json({ device_code: 'd', user_code: 'G', verification_uri: 'https://github.com/login/device' })
      return url.endsWith('/access_token')
        ? Response.json({ access_token: 'gho_x', token_type: 'bearer' })
        : new Response('', { status: 404 })
    }
    const { body } = await post({ provider: 'copilot' }, key)
    const refused = await post({ sign_in: body.sign_in }, key)
    expect([refused.status, refused.body.error.message]).toEqual([400, expect.stringContaining('no GitHub Copilot')])
  })

  it('to xAI asks at the address of its own tool, and slows down when told', async () => {
    const { key } = await newTenant()
    let polls = 0
    script = (one) => {
      if (one.url === 'https://auth.x.ai/oauth2/device/code')
        return Response.json({
          device_code: 'd',
          user_code: 'X',
          verification_uri: 'https://accounts.x.ai/oauth2/device',
        })
      if (one.url === 'https://auth.x.ai/oauth2/token')
        return polls++
          ? Response.json({
              access_token: 'xai-access-secret',
              refresh_token: 'r',
              expires_in: 3_600,
              token_type: 'Bearer',
            })
          : Response.json({ error: 'slow_down' }, { status: 400 })
      return responsesAnswer()
    }
    const started = await post({ provider: 'xai-oauth' }, key)
    const slowed = await post({ sign_in: started.body.sign_in }, key)
    expect([started.body.interval, slowed.body.interval]).toEqual([5, 10])
    expect((await post({ sign_in: slowed.body.sign_in }, key)).body.status).toBe('done')
    expect((await ask('xai-oauth/grok-4.5', key)).body).toMatchObject({ output: 'ok' })
    expect(bearers(/api\.x\.ai\/v1\/responses/)).toEqual(['Bearer xai-access-secret'])
  })

  it('to Qwen proves that it began here, and calls go to the address of the account', async () => {
    const { key } = await newTenant()
    createQwen()
    const { started } = await signIn('qwen-oauth', key)
    expect(started.verification_url).toBe('https://chat.qwen.ai/authorize?user_code=QWEN-1234')
    const [begun, polled] = received.map(formOf)
    expect(begun).toMatchObject({ code_challenge_method: 'S256', scope: 'openid profile email model.completion' })
    const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(polled?.['code_verifier'] ?? ''))
    const challenge = btoa(String.fromCharCode(...new Uint8Array(digest)))
    expect(begun?.['code_challenge']).toBe(challenge.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', ''))
    expect((await ask('qwen-oauth/qwen3-coder-plus', key)).body).toMatchObject({ output: 'ok' })
    const sent = received.at(-1) as Received
    expect([sent.url, sent.headers.get('x-dashscope-authtype')]).toEqual([
      'https://account.qwen.ai/v1/chat/completions',
      'qwen-oauth',
    ])
  })

  it('never sends tokens to an address of another maker', async () => {
    const { key } = await newTenant()
    createQwen({ host: 'evil.example' })
    await signIn('qwen-oauth', key)
    expect((await ask('qwen-oauth/qwen3-coder-plus', key)).body).toMatchObject({ output: 'ok' })
    expect(received.at(-1)?.url).toBe('https://portal.qwen.ai/v1/chat/completions')
    expect(received.some(({ url }) => url.includes('evil.example'))).toBe(false)
  })

  it('is ended by the one who began it alone, in its time, and not twice', async () => {
    const { id, key } = await newTenant()
    const [other, colleague] = [await newTenant(), await newKey(id, ['chat', 'read', 'write'])]
    const qwen = createQwen()
    const { sign_in: open } = (await post({ provider: 'qwen-oauth' }, key)).body
    for (const foreign of [other.key, colleague])
      expect((await post({ sign_in: open }, foreign)).body.error).toMatchObject({ param: 'sign_in' })
    expect((await post({ sign_in: `${open}x` }, key)).status).toBe(400)
    qwen.confirmed = false
    expect((await post({ sign_in: open }, key)).body.status).toBe('pending')
    replaceClock(createSkippingClock())
    const { sign_in: late } = (await post({ provider: 'qwen-oauth' }, key)).body
    const clock = createSkippingClock()
    replaceClock(clock)
    await clock.pass(901_000)
    expect((await post({ sign_in: late }, key)).body.error.message).toContain('expired')
    expect((await post({}, key)).status).toBe(400)
    expect((await post({ provider: 'anthropic' }, key)).status).toBe(400)
    expect((await post({ provider: 'qwen-oauth', sign_in: late }, key)).status).toBe(400)
  })

  it('says when the service cannot be asked, and needs the scope write', async () => {
    const { id, key } = await newTenant()
    script = () => new Response('down', { status: 502 })
    expect((await post({ provider: 'xai-oauth' }, key)).status).toBe(503)
    expect((await post({ provider: 'xai-oauth' }, await newKey(id, ['chat', 'read']))).status).toBe(403)
    const stored = await call<ErrorBody>('POST', '/api/credentials', { key, body: { provider: 'codex', key: 'k' } })
    expect([stored.status, stored.body.error.message]).toEqual([400, expect.stringContaining('/api/credentials/oauth')])
  })

  it('keeps one entry for an account, and shows no token anywhere', async () => {
    const { key } = await newTenant()
    createQwen()
    await signIn('qwen-oauth', key)
    await ask('qwen-oauth/qwen3-coder-plus', key)
    const { body: list } = await call<{ data: readonly object[] }>('GET', '/api/credentials', { key })
    const audit = await until(async () => {
      const { body } = await call('GET', '/api/audit', { key })
      return JSON.stringify(body).includes('credential.added') && body
    })
    const { body: models } = await call('GET', '/api/settings/models', { key })
    expect(list.data).toMatchObject([{ provider: 'qwen-oauth', last_four: '', status: 'usable' }])
    expect(JSON.stringify([list, audit, models])).not.toMatch(/qwen-(access|refresh)|dev-secret/)
  })
})

describe('tokens of a subscription', () => {
  it('are renewed once for all sessions before they expire', async () => {
    const { key } = await newTenant()
    const qwen = createQwen({ lifetime: 120 })
    await signIn('qwen-oauth', key)
    qwen.gate = new Gate()
    const asked = ['a', 'b', 'c'].map(() => ask('qwen-oauth/qwen3-coder-plus', key))
    await expect.poll(() => qwen.renewals).toBe(1)
    // The others ask meanwhile.
    await expect.poll(() => received.some(({ text }) => text.includes('refresh_token'))).toBe(true)
    qwen.gate.open()
    const outputs = (await Promise.all(asked)).map(({ body }) => body.output)
    expect([outputs, qwen.renewals]).toEqual([['ok', 'ok', 'ok'], 1])
    expect(new Set(bearers(/chat\/completions/))).toEqual(new Set(['Bearer qwen-access-2-secret']))
  })

  it('that the service refuses are renewed, and the call is sent again', async () => {
    const { key } = await newTenant()
    const qwen = createQwen()
    await signIn('qwen-oauth', key)
    const before = script
    let isRefused = true
    script = (one) => {
      if (one.url.endsWith('/chat/completions') && isRefused) {
        isRefused = false
        return Response.json({ error: { message: 'invalid access token' } }, { status: 401 })
      }
      return before(one)
    }
    expect((await ask('qwen-oauth/qwen3-coder-plus', key)).body).toMatchObject({ output: 'ok' })
    expect(bearers(/chat\/completions/)).toEqual(['Bearer qwen-access-1-secret', 'Bearer qwen-access-2-secret'])
    expect(qwen.renewals).toBe(1)
  })

  it('of an old snapshot take the newer ones over without asking the service', async () => {
    const { id, key } = await newTenant()
    const qwen = createQwen()
    const { done } = await signIn('qwen-oauth', key)
    const authority = systemAuthority(id, { kind: 'job', id: 'test' })
    const credentials = () => tenantStub(bindings, id).credentials
    const name = done.credential?.id ?? ''
    const old = (await credentials().list(authority)).list[0]?.sealed ?? ''
    const first = await credentials().renew(authority, name, old)
    const second = await credentials().renew(authority, name, old)
    expect([first.kind, second, qwen.renewals]).toEqual(['renewed', first, 1])
    expect((await ask('qwen-oauth/qwen3-coder-plus', key)).body).toMatchObject({ output: 'ok' })
    expect(bearers(/chat\/completions/)).toEqual(['Bearer qwen-access-2-secret'])
  })

  it('stay in use while they are valid and the service cannot be asked', async () => {
    const { key } = await newTenant()
    createQwen({ lifetime: 120 })
    await signIn('qwen-oauth', key)
    const before = script
    script = (one) => (one.text.includes('refresh_token') ? new Response('', { status: 503 }) : before(one))
    expect((await ask('qwen-oauth/qwen3-coder-plus', key)).body).toMatchObject({ output: 'ok' })
  })

  it('that were revoked end with words that say to sign in again, which mends it', async () => {
    const { key } = await newTenant()
    const qwen = createQwen()
    await signIn('qwen-oauth', key)
    qwen.isRevoked = true
    const { body } = await ask('qwen-oauth/qwen3-coder-plus', key)
    expect(JSON.stringify(body)).toContain('Sign in again')
    expect(JSON.stringify(body)).not.toMatch(/qwen-(access|refresh)/)
    const list = async () =>
      (await call<{ data: readonly { id: string; status: string }[] }>('GET', '/api/credentials', { key })).body.data
    await expect.poll(async () => (await list()).map(({ status }) => status)).toEqual(['dead'])
    qwen.isRevoked = false
    await signIn('qwen-oauth', key)
    expect((await list()).map(({ status }) => status)).toEqual(['usable'])
    expect((await ask('qwen-oauth/qwen3-coder-plus', key)).body).toMatchObject({ output: 'ok' })
  })

  it('cost nothing more by call, so that a limit in USD refuses none', async () => {
    const { key } = await newTenant()
    createQwen()
    await signIn('qwen-oauth', key)
    const settings = { limits: { usd_per_turn: 0.000_001 } }
    const { id } = await newSession({ model: 'qwen-oauth/qwen3-coder-plus', settings }, key)
    const { body } = await call('POST', `/api/sessions/${id}/chat`, { key, body: { input: 'hi' } })
    expect(body).toMatchObject({ output: 'ok', usage: { cost_usd: 0, cost_status: 'included' } })
  })

  it('are gone for good when the object was lost between their renewal and its storage, and it says so', async () => {
    const { id, key } = await newTenant()
    const qwen = createQwen()
    const { done } = await signIn('qwen-oauth', key)
    const authority = systemAuthority(id, { kind: 'job', id: 'test' })
    const credentials = () => tenantStub(bindings, id).credentials
    const old = (await credentials().list(authority)).list[0]?.sealed ?? ''
    const before = script
    // The service gives new tokens, and its answer never arrives.
    script = async (one) => {
      if (one.text.includes('grant_type=refresh_token')) {
        await before(one)
        return new Response('', { status: 502 })
      }
      return before(one)
    }
    const name = done.credential?.id ?? ''
    expect(await credentials().renew(authority, name, old)).toMatchObject({ kind: 'failed' })
    script = before
    const answer = await credentials().renew(authority, name, old)
    expect(answer).toMatchObject({ kind: 'refused', reason: expect.stringContaining('interrupted') })
    expect(qwen.renewals).toBe(2)
  })
})
