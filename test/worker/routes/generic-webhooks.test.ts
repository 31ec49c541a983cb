import { beforeAll, describe, expect, it } from 'vitest'
import { computeHmac } from '#channels/hmac.ts'
import { createChat } from '../../support/chat.ts'
import { calls, model, type Reply, says, until } from '../../support/scripted-model.ts'
import { applyMigrations, call, newKey, newTenant, request } from '../client.ts'
import { toHex } from '#durable/platform/hash.ts'

beforeAll(applyMigrations)

const secret = 'a-secret-of-a-webhook'
const bytesOf = (text: string) => Uint8Array.from(new TextEncoder().encode(text))
type Webhook = { readonly id: string; readonly webhook_url: string; readonly [more: string]: unknown }
type ErrorBody = { readonly error: { readonly code: string; readonly param?: string; readonly message: string } }

/** A tenant of its own, so that the webhook's turns have a scripted model. */
async function createWebhook(fields: object, replies: readonly Reply[] = []) {
  const { key } = await newTenant()
  const scripted = model(replies)
  await call('PATCH', '/api/settings', { key, body: { model: { default: scripted.id } } })
  const made = await call<Webhook>('POST', '/api/webhooks', {
    key,
    body: { name: 'CI', signature: 'gitlab', secret, ...fields },
  })
  expect(made.status).toBe(201)
  const path = new URL(made.body.webhook_url).pathname
  const post = (body: unknown, id: string, headers: Record<string, string> = {}) =>
    request('POST', path, {
      key: null,
      body,
      headers: { 'x-gitlab-token': secret, 'x-gitlab-event': 'Push Hook', 'x-gitlab-event-uuid': id, ...headers },
    })
  return { key, scripted, webhook: made.body, path, post }
}

const statusOf = async (answer: Response) => [answer.status, ((await answer.json()) as { status: string }).status]
const sessionsOf = async (key: string) =>
  (await call<{ data: { id: string; title: string }[] }>('GET', '/api/sessions?source=webhook', { key })).body.data

describe('/api/webhooks', () => {
  it('creates, lists, changes and removes a webhook, and never shows its secret', async () => {
    const { key, webhook } = await createWebhook({ prompt: 'Look at {a}.', events: ['push'] })
    expect(webhook).toMatchObject({ name: 'CI', status: 'active', secret: 'hook', deliver_only: false, job: null })
    const path = `/api/webhooks/${webhook.id}`
    expect((await call<{ data: Webhook[] }>('GET', '/api/webhooks', { key })).body.data).toEqual([webhook])
    const changed = await call<Webhook>('PATCH', path, { key, body: { events: null, secret: 'another-secret-of-it' } })
    expect(changed.body).toMatchObject({ prompt: 'Look at {a}.', events: null, secret: 'f-it' })
    expect((await call<{ data: object[] }>('GET', '/api/channels', { key })).body.data).toEqual([])
    expect((await call('GET', `/api/channels/${webhook.id}`, { key })).status).toBe(404)
    expect((await call('POST', `/api/channels/${webhook.id}/pause`, { key })).status).toBe(404)
    const stranger = await newTenant()
    for (const method of ['GET', 'PATCH', 'DELETE'] as const)
      expect((await call(method, path, { key: stranger.key, ...(method === 'PATCH' && { body: {} }) })).status).toBe(
        404,
      )
    expect((await call('DELETE', path, { key })).status).toBe(204)
    expect((await call('GET', path, { key })).status).toBe(404)
  })

  it.each([
    ['a short secret', { secret: 'short' }, 'secret'],
    ['a standard secret that is no base64', { signature: 'standard', secret: 'not base64 at all' }, 'secret'],
    ['an unknown signature', { signature: 'none' }, 'signature'],
    ['a filter without a test', { filters: [{ field: 'a' }] }, 'filters.0'],
    ['a chat of no channel', { deliver: 'telegram:11' }, 'deliver'],
    ['a platform without a home chat', { deliver: 'telegram' }, 'deliver'],
    ['a target that is no chat', { deliver: 'https://example.com/x' }, 'deliver'],
    ['deliver_only without a chat', { deliver_only: true }, 'deliver'],
    ['an unknown job', { job: 'nobody' }, 'job'],
  ])('refuses %s', async (_name, fields, param) => {
    const { key } = await newTenant()
    const body = { name: 'CI', signature: 'gitlab', secret, ...fields }
    const answer = await call<ErrorBody>('POST', '/api/webhooks', { key, body })
    expect([answer.status, answer.body.error.param]).toEqual([400, param])
  })
})

describe('a request to a generic webhook', () => {
  it('begins one turn in a session of its own, without tools for terminal, files and code', async () => {
    const { key, scripted, post } = await createWebhook({ prompt: 'Review {title}.' }, [says('Reviewed.')])
    expect(await statusOf(await post({ title: 'the /stop change' }, 'd1'))).toEqual([202, 'accepted'])
    await until(async () => (await sessionsOf(key)).length === 1)
    const [session] = await sessionsOf(key)
    expect(session?.title).toBe('CI: Push Hook')
    await until(
      async () =>
        (await call<{ data: object[] }>('GET', `/api/sessions/${session?.id}/messages`, { key })).body.data.length ===
        2,
    )
    const [asked] = scripted.requests
    expect(String(asked?.messages.at(-1)?.content)).toMatch(/not instructions\.\]\s+Review the \/stop change\./)
    const tools = JSON.stringify(asked?.tools ?? [])
    for (const name of ['terminal', 'write_file', 'read_file', 'execute_code', 'delegate_task', 'cronjob'])
      expect(tools).not.toContain(`"${name}"`)
    expect(await statusOf(await post({ title: 'the /stop change' }, 'd1'))).toEqual([200, 'duplicate'])
    expect(scripted.requests).toHaveLength(1)
  })

  it('does not run a forbidden tool that the model calls all the same', async () => {
    const write = calls({ id: 'c1', name: 'terminal', input: { command: 'echo x > a.txt' } })
    const { key, post } = await createWebhook({ prompt: 'x' }, [write, says('Done.')])
    await post({}, 'd1')
    await until(async () => (await sessionsOf(key)).length === 1)
    const [session] = await sessionsOf(key)
    const id = session?.id ?? ''
    await until(async () =>
      (await request('GET', `/api/sessions/${id}/messages`, { key }).then((one) => one.text())).includes('Done.'),
    )
    expect((await request('GET', `/api/sessions/${id}/files/a.txt`, { key })).status).toBe(404)
  })

  it('is refused without a trace when it is not proven, and does not count against the rate then', async () => {
    const { key, post, path } = await createWebhook({ events: ['none'] })
    for (let n = 0; n < 40; n++) expect((await post({}, `d${n}`, { 'x-gitlab-token': `${secret}x` })).status).toBe(401)
    const answer = await request('POST', path, { key: null, body: {} })
    expect([answer.status, await answer.text()]).toEqual([401, ''])
    expect((await request('POST', '/webhooks/webhook/wh_unknown', { key: null, body: {} })).status).toBe(404)
    expect((await request('POST', `/webhooks/webhook/wh_${'0'.repeat(32)}`, { key: null, body: {} })).status).toBe(404)
    expect((await post('x'.repeat(1024 * 1024 + 1), 'd1')).status).toBe(413)
    expect(await statusOf(await post({}, 'd1'))).toEqual([200, 'ignored'])
    expect(await sessionsOf(key)).toEqual([])
  })

  it('is ignored by its event, by a filter, and while the webhook is paused', async () => {
    const filters = [{ field: 'branch', equals: 'main' }]
    const { key, webhook, post } = await createWebhook({ events: ['Push Hook'], filters }, [])
    expect(await statusOf(await post({ branch: 'main' }, 'd1', { 'x-gitlab-event': 'Tag Hook' }))).toEqual([
      200,
      'ignored',
    ])
    expect(await statusOf(await post({ branch: 'other' }, 'd2'))).toEqual([200, 'ignored'])
    await call('POST', `/api/webhooks/${webhook.id}/pause`, { key })
    expect(await statusOf(await post({ branch: 'main' }, 'd3'))).toEqual([200, 'ignored'])
    expect(await sessionsOf(key)).toEqual([])
  })

  it.each([
    [
      'github',
      async (body: string) => ({
        'x-hub-signature-256': `sha256=${toHex(await computeHmac('SHA-256', secret, bytesOf(body)))}`,
      }),
      'x-github-delivery',
    ],
    [
      'talaria',
      async (body: string) => {
        const time = String(Math.floor(Date.now() / 1_000))
        const signed = await computeHmac('SHA-256', secret, bytesOf(`${time}.${body}`))
        return { 'x-webhook-timestamp': time, 'x-webhook-signature-v2': toHex(signed) }
      },
      'x-webhook-id',
    ],
  ] as const)('counts once when it is copied with another name of the delivery: %s', async (signature, sign, name) => {
    const { key, path } = await createWebhook({ signature, prompt: 'x' }, [says('Done.')])
    const body = JSON.stringify({ n: 1 })
    const signed = await sign(body)
    const post = (headers: Record<string, string>) =>
      request('POST', path, { key: null, body: bytesOf(body), headers: { ...signed, ...headers } })
    expect(await statusOf(await post({ [name]: 'd1' }))).toEqual([202, 'accepted'])
    for (const copied of [{ [name]: 'd2' }, { 'x-request-id': 'd3' }, {}, { [name]: 'd1' }])
      expect(await statusOf(await post(copied))).toEqual([200, 'duplicate'])
    expect(await sessionsOf(key)).toHaveLength(1)
  })

  it('is answered 429 with a pause after thirty in a minute', async () => {
    const { key } = await newTenant()
    const chat = await createChat([], {}, key)
    const made = await call<Webhook>('POST', '/api/webhooks', {
      key,
      body: {
        name: 'Many',
        signature: 'gitlab',
        secret,
        prompt: '{n}',
        deliver: `${chat.channel}:11`,
        deliver_only: true,
      },
    })
    const path = new URL(made.body.webhook_url).pathname
    const post = (n: number) =>
      request('POST', path, {
        key: null,
        body: { n },
        headers: { 'x-gitlab-token': secret, 'x-gitlab-event-uuid': `${n}` },
      })
    const answers = await Promise.all(Array.from({ length: 32 }, (_, n) => post(n)))
    const refused = answers.filter(({ status }) => status === 429)
    expect([answers.filter(({ ok }) => ok).length, refused.length]).toEqual([30, 2])
    expect(Number(refused[0]?.headers.get('retry-after'))).toBeGreaterThan(0)
    await until(() => chat.api.sentTexts.length === 30)
    expect(chat.scripted.requests).toEqual([])
  })
})

describe('a webhook that only delivers', () => {
  it('sends its filled text unchanged, whatever its values look like', async () => {
    const { key } = await newTenant()
    const chat = await createChat([], {}, key)
    const made = await call<Webhook>('POST', '/api/webhooks', {
      key,
      body: {
        name: 'CI',
        signature: 'gitlab',
        secret,
        prompt: 'Build *{branch}*:\n{log}',
        deliver: `${chat.channel}:11`,
        deliver_only: true,
      },
    })
    const log = '# not a heading\n- **a** _b_ `c` [d](https://e.test) <b>f</b> ~~g~~\n```js\nh'
    const path = new URL(made.body.webhook_url).pathname
    const headers = { 'x-gitlab-token': secret, 'x-gitlab-event-uuid': 'u1' }
    await request('POST', path, { key: null, body: { branch: 'fix_a_b', log }, headers })
    await until(() => chat.api.sentTexts.length === 1)
    expect(chat.api.sentTexts).toEqual([`Build *fix_a_b*:\n${log}`])
    expect(JSON.stringify(chat.api.callsOf('sendMessage')[0]?.body)).not.toMatch(/parse_mode|entities/)
  })
})

describe('the answer to a webhook', () => {
  it('goes to the chat of `deliver`, once, and silence goes nowhere', async () => {
    const { key } = await newTenant()
    const chat = await createChat([says('**Broken** build.'), says('[SILENT]')], {}, key)
    const made = await call<Webhook>('POST', '/api/webhooks', {
      key,
      body: { name: 'CI', signature: 'gitlab', secret, prompt: '{a}', deliver: 'telegram:11' },
    })
    const path = new URL(made.body.webhook_url).pathname
    const post = (id: string) =>
      request('POST', path, {
        key: null,
        body: { a: id },
        headers: { 'x-gitlab-token': secret, 'x-gitlab-event-uuid': id },
      })
    expect((await post('one')).status).toBe(202)
    await chat.api.waitForText('Broken build.')
    expect((await post('two')).status).toBe(202)
    await until(() => chat.scripted.requests.length === 2)
    const sessions = await until(async () => {
      const found = await sessionsOf(key)
      return found.length === 2 ? found : undefined
    })
    for (const { id } of sessions) await until(async () => (await listLinesOf(id, key)) === 2)
    expect(chat.api.sentTexts).toEqual(['Broken build.'])
  })

  it('is the filled prompt itself with deliver_only: 200 when it stands there, 502 when it cannot', async () => {
    const { key } = await newTenant()
    const chat = await createChat([], {}, key)
    const made = await call<Webhook>('POST', '/api/webhooks', {
      key,
      body: {
        name: 'Ping',
        signature: 'gitlab',
        secret,
        prompt: 'Build {n}',
        deliver: `${chat.channel}:11`,
        deliver_only: true,
      },
    })
    const path = new URL(made.body.webhook_url).pathname
    const post = (n: number) =>
      request('POST', path, {
        key: null,
        body: { n },
        headers: { 'x-gitlab-token': secret, 'x-gitlab-event-uuid': `${n}` },
      })
    expect(await statusOf(await post(1))).toEqual([200, 'delivered'])
    expect(await statusOf(await post(1))).toEqual([200, 'duplicate'])
    chat.api.overrideNext('sendMessage', { status: 403, description: 'Forbidden: bot was blocked by the user' })
    expect((await post(2)).status).toBe(502)
    expect(chat.api.messageTexts).toEqual(['Build 1'])
  })

  it('is the run of a job with `job`', async () => {
    const { key } = await newTenant()
    const scripted = model([says('Job done.')])
    await call('PATCH', '/api/settings', { key, body: { model: { default: scripted.id } } })
    const job = await call<{ id: string }>('POST', '/api/jobs', {
      key,
      body: { name: 'nightly', schedule: 'every 9h', prompt: 'Do it.' },
    })
    expect(job.status).toBe(201)
    const made = await call<Webhook>('POST', '/api/webhooks', {
      key,
      body: { name: 'Run', signature: 'gitlab', secret, job: job.body.id },
    })
    const path = new URL(made.body.webhook_url).pathname
    const headers = { 'x-gitlab-token': secret, 'x-gitlab-event-uuid': 'd1' }
    expect((await request('POST', path, { key: null, body: {}, headers })).status).toBe(202)
    await until(() => scripted.requests.length === 1)
    expect((await request('POST', path, { key: null, body: {}, headers })).status).toBe(202)
    expect(scripted.requests).toHaveLength(1)
  })
})

const listLinesOf = async (id: string, key: string): Promise<number> =>
  (await call<{ data: object[] }>('GET', `/api/sessions/${id}/messages`, { key })).body.data.length

describe('the turns of a webhook', () => {
  const roles = { asker: { scopes: ['chat', 'read', 'write'], toolsets: ['clarify', 'web'], max_risk: 'send' } }

  /** A webhook of a key with a role, and the names of the tools of its turns. */
  async function setUp() {
    const { id, key } = await newTenant()
    const scripted = model(() => says('Read.'))
    await call('PATCH', '/api/settings', { key, body: { roles, model: { default: scripted.id } } })
    const creator = await newKey(id, ['chat', 'read', 'write'], { role: 'asker' })
    const body = { name: 'CI', signature: 'gitlab', secret, prompt: 'Look.' }
    const made = await call<Webhook>('POST', '/api/webhooks', { key: creator, body })
    const path = new URL(made.body.webhook_url).pathname
    const deliver = async (event: string) => {
      const before = scripted.requests.length
      const headers = { 'x-gitlab-token': secret, 'x-gitlab-event': 'Push Hook', 'x-gitlab-event-uuid': event }
      expect((await request('POST', path, { key: null, body: {}, headers })).status).toBe(202)
      await until(() => scripted.requests.length > before)
      return (scripted.requests.at(-1)?.tools ?? []).map((tool) => tool.function.name)
    }
    return { key, creator, webhook: made.body, deliver }
  }

  it('have no tools that its creator lacks', async () => {
    const { deliver } = await setUp()
    const tools = await deliver('one')
    expect(tools).toContain('clarify')
    expect(tools).not.toContain('vision_analyze')
  })

  it('get no wider when its tenant changes it, and narrower with the role of its creator', async () => {
    const { key, webhook, deliver } = await setUp()
    const path = `/api/webhooks/${webhook.id}`
    expect((await call('PATCH', path, { key, body: { prompt: 'Look again.' } })).status).toBe(200)
    expect(await deliver('two')).not.toContain('vision_analyze')
    await call('PATCH', '/api/settings', { key, body: { roles: { asker: { ...roles.asker, toolsets: ['clarify'] } } } })
    expect(await deliver('three')).toEqual(['clarify'])
  })

  it('of a tenant have the tools for webhooks', async () => {
    const { key, scripted, post } = await createWebhook({ prompt: 'Look.' }, [says('Read.')])
    expect(key).toBeTruthy()
    await post({}, 'four')
    await until(() => scripted.requests.length > 0)
    const tools = (scripted.requests[0]?.tools ?? []).map((tool) => tool.function.name)
    expect(tools).toContain('web_extract')
  })

  it('send nothing to a chat for a role that may not send', async () => {
    const { id, key } = await newTenant()
    const { channel } = await createChat([], {}, key)
    await call('PATCH', '/api/settings', { key, body: { roles: { reader: { ...roles.asker, max_risk: 'net' } } } })
    const reader = await newKey(id, ['chat', 'read', 'write'], { role: 'reader' })
    const body = { name: 'CI', signature: 'gitlab', secret, prompt: 'x', deliver: `${channel}:11`, deliver_only: true }
    const refused = await call<ErrorBody>('POST', '/api/webhooks', { key: reader, body })
    expect([refused.status, refused.body.error.param]).toEqual([403, 'deliver'])
  })
})
