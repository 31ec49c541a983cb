/** Tests outgoing webhooks: what is sent, signed, repeated and given up, and that a crash loses and doubles nothing. */

import { env, runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test'
import { Webhook } from 'standardwebhooks'
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { itInTurn } from '#test/support/long.ts'
import { objectOf } from '../durable/support/object.ts'
import { calls, model, says } from '../support/scripted-model.ts'
import { applyMigrations, call, type ErrorBody, newKey, newSession, newTenant } from './client.ts'

beforeAll(applyMigrations)
afterEach(() => void vi.restoreAllMocks())

const host = 'hooks.example.com'
const url = `https://${host}/talaria`
const path = '/api/hooks'
type Hook = ErrorBody & {
  readonly id: string
  readonly secret: string
  readonly status: string
  readonly reason: string | null
}
type Delivery = {
  readonly id: string
  readonly type: string
  readonly status: string
  readonly attempts: readonly { readonly status: number | null; readonly error: string | null }[]
  readonly next_attempt_at: string | null
}
type Received = { readonly headers: Headers; readonly body: string }

function serve(answer: (n: number) => Response | Promise<Response> = () => new Response(null, { status: 204 })) {
  const received: Received[] = []
  const goOn = fetch
  vi.spyOn(globalThis, 'fetch').mockImplementation(async (input, init) => {
    const request = new Request(input as RequestInfo, init as RequestInit)
    if (new URL(request.url).host !== host) return goOn(input as RequestInfo, init as RequestInit)
    received.push({ headers: request.headers, body: await request.text() })
    return answer(received.length)
  })
  return received
}

async function add(more: object = {}) {
  const { key, id } = await newTenant()
  const made = await call<Hook>('POST', path, { key, body: { url, events: ['*'], ...more } })
  expect(made.status, JSON.stringify(made.body)).toBe(201)
  return { key, tenant: id, hook: made.body }
}

async function runTurn(key: string, command = 'echo hello') {
  const scripted = model([calls({ name: 'terminal', input: { command } }), says('done')])
  await call('PATCH', '/api/settings', { key, body: { approvals: { mode: 'off' } } })
  const { id } = await newSession({ model: scripted.id }, key)
  await call('POST', `/api/sessions/${id}/chat`, { key, body: { input: 'go' } })
  return id
}

const deliveriesOf = async (key: string, hook: string) =>
  (await call<{ data: Delivery[] }>('GET', `${path}/${hook}/deliveries`, { key })).body.data
const typesOf = (received: readonly Received[]) =>
  received.map(({ body }) => (JSON.parse(body) as { type: string }).type)
const verify = ({ headers, body }: Received, secret: string) =>
  new Webhook(secret).verify(body, Object.fromEntries(headers))
const tenantObject = (id: string) => env.TENANT.getByName(`t/${id}`)
/** Lets every delivery be due, and runs the alarm. */
async function passTime(tenant: string) {
  await runInDurableObject(tenantObject(tenant), (_object, { storage }) => {
    storage.sql.exec("UPDATE outgoing_delivery SET nextAt = 1 WHERE status = 'pending'")
    storage.sql.exec("UPDATE kept SET body = '1' WHERE name = 'outgoing next'")
    return storage.setAlarm(Date.now())
  })
  await runDurableObjectAlarm(tenantObject(tenant))
}

describe('events', () => {
  it('of a turn arrive once each, in order, and the standard library verifies them', async () => {
    const received = serve()
    const { key, hook } = await add()
    const session = await runTurn(key)
    await vi.waitFor(() => expect(received).toHaveLength(4))
    expect(typesOf(received).toSorted()).toEqual([
      'on_session_end',
      'on_session_start',
      'post_llm_call',
      'post_tool_call',
    ])
    for (const one of received) expect(verify(one, hook.secret)).toMatchObject({ data: { session_id: session } })
    expect(() => verify(received[0]!, `whsec_${btoa('x'.repeat(32))}`)).toThrow(/signature/i)
    const tool = received
      .map(({ body }) => JSON.parse(body) as { type: string; data: object })
      .find(({ type }) => type === 'post_tool_call')
    expect(tool?.data).toMatchObject({ tool_name: 'terminal', failed: false })
    const delivered = await deliveriesOf(key, hook.id)
    expect(delivered.map(({ status }) => status)).toEqual(Array.from({ length: 4 }, () => 'delivered'))
    expect(new Set(received.map(({ headers }) => headers.get('webhook-id')))).toEqual(
      new Set(delivered.map(({ id }) => id)),
    )
  })

  it('tell that the task of another agent has ended', async () => {
    const received = serve()
    const { key, hook } = await add({ events: ['on_session_end'] })
    await call('PATCH', '/api/settings', { key, body: { model: { default: model([says('done')]).id } } })
    const message = { messageId: 'm1', role: 'ROLE_USER', parts: [{ text: 'Work.' }] }
    const { body } = await call<{ result: { task: { id: string; contextId: string } } }>('POST', '/a2a', {
      key,
      headers: { 'a2a-version': '1.0' },
      body: {
        jsonrpc: '2.0',
        id: 1,
        method: 'SendMessage',
        params: { message, configuration: { returnImmediately: true } },
      },
    })
    const { id, contextId } = body.result.task
    await vi.waitFor(() => expect(received).toHaveLength(1))
    expect(verify(received[0]!, hook.secret)).toMatchObject({
      type: 'on_session_end',
      data: { session_id: contextId, run_id: id },
    })
  })

  it('are those that the webhook wants, and of the tools that it names', async () => {
    const received = serve()
    const { key } = await add({ events: ['post_tool_call', 'on_session_end'], matcher: 'mcp__*|todo' })
    await runTurn(key)
    await vi.waitFor(() => expect(typesOf(received)).toEqual(['on_session_end']))
  })

  it('have secrets masked', async () => {
    const received = serve()
    const { key } = await add({ events: ['post_tool_call'] })
    await call('POST', '/api/secrets', { key, body: { name: 'API_TOKEN', value: 'token-1234567890abcdef' } })
    await runTurn(key, 'echo token-1234567890abcdef')
    await vi.waitFor(() => expect(received).toHaveLength(1))
    expect(received[0]?.body).not.toContain('1234567890')
  })

  it('of another tenant are not sent', async () => {
    const received = serve()
    await add()
    const other = await newTenant()
    await runTurn(other.key)
    await new Promise((resolve) => setTimeout(resolve, 300))
    expect(received).toEqual([])
  })

  it('carry the signature of Hermes where it is asked for', async () => {
    const received = serve()
    const { key } = await add({ hermes: true, events: ['on_session_end'] })
    await runTurn(key)
    await vi.waitFor(() => expect(received).toHaveLength(1))
    expect(received[0]?.headers.get('x-hermes-event')).toBe('on_session_end')
    expect(received[0]?.headers.get('x-hermes-signature-256')).toMatch(/^sha256=[0-9a-f]{64}$/)
  })
})

describe('a delivery', () => {
  it('that fails is repeated with the same id, and then delivered', async () => {
    const received = serve((n) => new Response(null, { status: n < 3 ? 503 : 200 }))
    const { key, tenant, hook } = await add({ events: ['on_session_end'] })
    await runTurn(key)
    await vi.waitFor(async () => expect((await deliveriesOf(key, hook.id))[0]?.attempts).toHaveLength(1))
    for (const attempts of [2, 3]) {
      await passTime(tenant)
      await vi.waitFor(async () => expect((await deliveriesOf(key, hook.id))[0]?.attempts).toHaveLength(attempts))
    }
    expect(await deliveriesOf(key, hook.id)).toMatchObject([{ status: 'delivered', next_attempt_at: null }])
    expect(new Set(received.map(({ headers }) => headers.get('webhook-id'))).size).toBe(1)
  })

  itInTurn.each([
    ['410', () => new Response(null, { status: 410 }), 1, /410 Gone/],
    ['failures to the end', () => new Response(null, { status: 500 }), 7, /failed 7 times.*500/],
    [
      'redirects to the end',
      () => new Response(null, { status: 302, headers: { location: 'https://other.example.com/' } }),
      7,
      /302/,
    ],
  ])('after %s disables the webhook, which a person enables again', async (_, answer, attempts, reason) => {
    const received = serve(answer)
    const { key, tenant, hook } = await add({ events: ['on_session_end'] })
    await runTurn(key)
    await vi.waitFor(() => expect(received).toHaveLength(1))
    for (let n = 1; n < attempts; n++) {
      await passTime(tenant)
      await vi.waitFor(() => expect(received).toHaveLength(n + 1))
    }
    await vi.waitFor(async () => {
      const { body } = await call<Hook>('GET', `${path}/${hook.id}`, { key })
      expect([body.status, body.reason]).toEqual(['disabled', expect.stringMatching(reason)])
    })
    expect((await deliveriesOf(key, hook.id))[0]?.status).toBe('failed')
    await runTurn(key)
    expect(received).toHaveLength(attempts)
    const [delivery] = await deliveriesOf(key, hook.id)
    const retry = `${path}/${hook.id}/deliveries/${delivery?.id}/retry`
    expect((await call('POST', retry, { key })).status).toBe(409)
    expect((await call<Hook>('PATCH', `${path}/${hook.id}`, { key, body: { status: 'active' } })).body.status).toBe(
      'active',
    )
    expect((await call('POST', retry, { key })).status).toBe(202)
    await vi.waitFor(() => expect(received).toHaveLength(attempts + 1))
  })

  it('that a crash interrupts is sent again with the same id', async () => {
    const gate = Promise.withResolvers<Response>()
    const received = serve((n) => (n === 1 ? gate.promise : new Response(null, { status: 200 })))
    const { key, tenant, hook } = await add({ events: ['on_session_end'] })
    await runTurn(key)
    await vi.waitFor(() => expect(received).toHaveLength(1))
    await runInDurableObject(tenantObject(tenant), (_object, state) => state.abort('killed by a test')).catch(
      () => undefined,
    )
    gate.resolve(new Response(null, { status: 200 }))
    await passTime(tenant)
    await vi.waitFor(async () => expect((await deliveriesOf(key, hook.id))[0]?.status).toBe('delivered'))
    expect(new Set(received.map(({ headers }) => headers.get('webhook-id'))).size).toBe(1)
  })

  it('is reported again when the session dies before it knows that it was', async () => {
    const received = serve()
    const { key, tenant } = await add({ events: ['on_session_end'] })
    const session = await runTurn(key)
    await vi.waitFor(() => expect(received).toHaveLength(1))
    /** The session forgets that it has reported, dies, and its alarm fires. */
    const dieBeforeReport = async () => {
      await runInDurableObject(objectOf(session, tenant), async (_object, { storage }) => {
        const [row] = storage.sql.exec<{ entries: string }>('SELECT entries FROM step WHERE n = 0').toArray()
        const meta = { ...(JSON.parse(row!.entries) as object), hooksThrough: 0 }
        storage.sql.exec('UPDATE step SET entries = ? WHERE n = 0', JSON.stringify(meta))
        await storage.sync()
      })
      await runInDurableObject(objectOf(session, tenant), (_object, state) => state.abort('killed by a test')).catch(
        () => undefined,
      )
      await runInDurableObject(objectOf(session, tenant), (_object, { storage }) =>
        storage.setAlarm(Date.now() + 60_000),
      )
      await runDurableObjectAlarm(objectOf(session, tenant))
    }
    await dieBeforeReport()
    await new Promise((resolve) => setTimeout(resolve, 300))
    expect(received).toHaveLength(1)
    await runInDurableObject(tenantObject(tenant), (_object, { storage }) => {
      storage.sql.exec('DELETE FROM outgoing_delivery')
    })
    await dieBeforeReport()
    await vi.waitFor(() => expect(received).toHaveLength(2))
    expect(new Set(received.map(({ headers }) => headers.get('webhook-id'))).size).toBe(1)
  })
})

describe('a webhook', () => {
  it.each([
    [{ url: 'http://127.0.0.1/x' }, 'url'],
    [{ url: 'https://localhost/x' }, 'url'],
    [{ events: ['nothing'] }, 'events.0'],
    [{ secret: 'whsec_short' }, 'secret'],
  ])('with %j is refused', async (more, param) => {
    const { key } = await newTenant()
    const { status, body } = await call<Hook>('POST', path, { key, body: { url, events: ['*'], ...more } })
    expect([status, body.error.param]).toEqual([400, param])
  })

  it('is tested at once', async () => {
    const received = serve((n) => new Response(null, { status: n === 1 ? 200 : 500 }))
    const { key, hook } = await add()
    const test = () => call<{ ok: boolean; status: number }>('POST', `${path}/${hook.id}/test`, { key })
    expect((await test()).body).toEqual({ ok: true, status: 200, error: null })
    expect(verify(received[0]!, hook.secret)).toMatchObject({ type: 'test' })
    expect((await test()).body).toMatchObject({ ok: false, status: 500 })
  })

  it('signs with the old and the new secret for a day', async () => {
    const received = serve()
    const { key, hook } = await add({ events: ['on_session_end'] })
    const rotated = await call<Hook>('POST', `${path}/${hook.id}/rotate`, { key })
    expect(rotated.body.secret).not.toBe(hook.secret)
    await runTurn(key)
    await vi.waitFor(() => expect(received).toHaveLength(1))
    for (const secret of [hook.secret, rotated.body.secret]) expect(verify(received[0]!, secret)).toBeTruthy()
    expect(JSON.stringify((await call('GET', path, { key })).body)).not.toContain('whsec_')
  })

  it('is changed, disabled and deleted; a role with limits changes none', async () => {
    const received = serve()
    const { key, tenant, hook } = await add({ events: ['on_session_end'] })
    const roles = { reader: { scopes: ['read', 'write'], max_risk: 'read' } }
    await call('PATCH', '/api/settings', { key, body: { roles } })
    const reader = await newKey(tenant, ['read', 'write'], { role: 'reader' })
    expect((await call('DELETE', `${path}/${hook.id}`, { key: reader })).status).toBe(403)
    // Events have what sessions of others say.
    const writer = await newKey(tenant, ['chat', 'write'])
    for (const [method, at, body] of [
      ['POST', path, { url: 'https://hooks.example.com/mine', events: ['*'] }],
      ['PATCH', `${path}/${hook.id}`, { url: 'https://hooks.example.com/mine' }],
      ['PATCH', `${path}/${hook.id}`, { events: ['*'] }],
    ] as const)
      expect((await call(method, at, { key: writer, body })).status).toBe(403)
    await call('PATCH', `${path}/${hook.id}`, { key, body: { status: 'disabled' } })
    await runTurn(key)
    await new Promise((resolve) => setTimeout(resolve, 200))
    expect(received).toEqual([])
    expect((await call('DELETE', `${path}/${hook.id}`, { key })).status).toBe(204)
    expect((await call('GET', `${path}/${hook.id}`, { key })).status).toBe(404)
  })
})
