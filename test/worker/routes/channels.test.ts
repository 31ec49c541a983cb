import { createExecutionContext } from 'cloudflare:test'
import { beforeAll, describe, expect, it } from 'vitest'
import { findMailConnection } from '#db/channel-connections.ts'
import { createApp } from '#worker/app.ts'
import { listPlatforms, loadChannel } from '#channels/channels.ts'
import { secret } from '../../support/chat.ts'
import { Gate, until } from '../../support/scripted-model.ts'
import { createTelegramApi } from '../../support/telegram-api.ts'
import { adminKey, assignMail, bindings, call, applyMigrations, newKey, newTenant, type ErrorBody } from '../client.ts'

beforeAll(applyMigrations)

type Channel = { readonly id: string; readonly status: string; readonly [more: string]: unknown }
const secrets = { bot_token: '4711:abcdefghijklmnop', webhook_secret: secret }
const whatsapp = { access_token: 'a', app_secret: 'b', verify_token: 'c', phone_number_id: '1' }
const sms = { account_sid: 'AC1', auth_token: 'a', from: '+15550001111' }
const create = (body: object, key?: string) =>
  call<Channel & ErrorBody>('POST', '/api/channels', { body, ...(key && { key }) })

/** A database in which another change runs right before the first statement that begins with `sql`. */
function overtakenDatabase(sql: string, first: () => Promise<unknown>): D1Database {
  let matches = 0
  const { DB } = bindings
  const prepare: D1Database['prepare'] = (one) => {
    if (one.startsWith(sql)) matches++
    return DB.prepare(one)
  }
  const batch: D1Database['batch'] = async (statements) => {
    if (matches === 1) await first()
    return DB.batch(statements)
  }
  return { prepare, batch } as D1Database
}

describe('/api/channels', () => {
  it('creates, shows, changes, pauses, resumes and removes a channel', async () => {
    const made = await create({ platform: 'telegram', name: 'Ours', secrets, settings: { allow_users: [5, '6'] } })
    expect(made.status).toBe(201)
    const { registration, ...shown } = made.body
    const { id } = shown
    expect(registration).toMatchObject({ ok: false })
    expect(shown).toEqual({
      id: expect.stringMatching(/^ch_[0-9a-f]{32}$/),
      platform: 'telegram',
      name: 'Ours',
      status: 'active',
      webhook_url: `https://talaria.test/webhooks/telegram/${id}`,
      settings: expect.objectContaining({
        allow_users: ['5', '6'],
        allow_chats: [],
        admins: [],
        search_scope: 'chat',
        require_mention: true,
        busy_mode: 'interrupt',
        streaming: false,
        address: null,
      }),
      secrets: { bot_token: 'mnop', webhook_secret: 'rs-1' },
      created_at: expect.any(String),
    })
    expect((await call('GET', `/api/channels/${id}`)).body).toEqual(shown)
    const changed = await call<Channel>('PATCH', `/api/channels/${id}`, {
      body: { settings: { streaming: true }, secrets: { bot_token: '4711:zyxwvutsrq' } },
    })
    expect(changed.body).toMatchObject({
      name: 'Ours',
      settings: { allow_users: ['5', '6'], streaming: true },
      secrets: { bot_token: 'tsrq', webhook_secret: 'rs-1' },
    })
    expect((await call<Channel>('POST', `/api/channels/${id}/pause`)).body.status).toBe('paused')
    expect((await call<Channel>('POST', `/api/channels/${id}/resume`)).body.status).toBe('active')
    expect((await call('DELETE', `/api/channels/${id}`)).status).toBe(204)
    expect((await call('DELETE', `/api/channels/${id}`)).status).toBe(404)
    expect((await call('GET', `/api/channels/${id}`)).status).toBe(404)
  })

  it.each([
    ['email', {}, ' Anna@Example.ORG ', 'anna@example.org'],
    ['whatsapp', whatsapp, '+1 (555) 000-2222', '15550002222'],
    ['whatsapp', whatsapp, 'US.1', 'US.1'],
    ['sms', sms, '1 555 000-2222', '+15550002222'],
    ['sms', sms, '12345', '12345'],
  ])('stores ids as events of %s have them', async (platform, given, typed, id) => {
    const { id: tenant, key } = await newTenant()
    await assignMail(tenant)
    const own = platform === 'email' && { address: 'bot@ids.test' }
    const settings = { ...own, allow_users: ['*', typed, id], admins: [typed] }
    const { body, status } = await create({ platform, secrets: given, settings }, key)
    expect([status, body['settings']]).toEqual([201, expect.objectContaining({ allow_users: ['*', id], admins: [id] })])
    const change = { allow_chats: [typed], free_chats: [typed], same_person: [[typed, 'US.2']] }
    const changed = await call<Channel>('PATCH', `/api/channels/${body.id}`, { key, body: { settings: change } })
    const [other] = platform === 'email' ? ['us.2'] : ['US.2']
    const expected = { allow_users: ['*', id], allow_chats: [id], free_chats: [id], same_person: [[id, other]] }
    expect(changed.body['settings']).toMatchObject(expected)
  })

  it('applies concurrent changes of different fields', async () => {
    const { body } = await create({ platform: 'telegram', secrets })
    const at = `/api/channels/${body.id}`
    const patch = (change: object) => call('PATCH', at, { body: change })
    const settings = { streaming: true, require_mention: false, busy_mode: 'queue', allow_users: ['7'], admins: ['7'] }
    const each = Object.entries(settings).map(([name, value]) => patch({ settings: { [name]: value } }))
    await Promise.all([
      ...each,
      patch({ secrets: { bot_token: '4711:zyxwvutsrq' } }),
      patch({ name: 'Other' }),
      call('POST', `${at}/pause`),
    ])
    expect((await call<Channel>('GET', at)).body).toMatchObject({
      name: 'Other',
      status: 'paused',
      settings,
      secrets: { bot_token: 'tsrq' },
    })
  })

  it('applies concurrent changes of different secrets', async () => {
    const { body } = await create({ platform: 'telegram', secrets })
    const at = `/api/channels/${body.id}`
    const other = () =>
      call('PATCH', at, { body: { secrets: { webhook_secret: 'another-secret-with-32-characters-2' } } })
    const answer = await createApp().fetch(
      new Request(`https://talaria.test${at}`, {
        method: 'PATCH',
        headers: { authorization: `Bearer ${adminKey}` },
        body: JSON.stringify({ secrets: { bot_token: '4711:zyxwvutsrq' } }),
      }),
      { ...bindings, DB: overtakenDatabase('UPDATE channel', other) },
      createExecutionContext(),
    )
    const now = { bot_token: 'tsrq', webhook_secret: 'rs-2' }
    expect([answer.status, (await answer.json<Channel>())['secrets']]).toEqual([200, now])
    expect((await call<Channel>('GET', at)).body['secrets']).toEqual(now)
  })

  it('generates a webhook secret that is not given, and shows it once', async () => {
    const { status, body } = await create({ platform: 'telegram', secrets: { bot_token: '1:a' } })
    const { generated = {} } = body as { generated?: Record<string, string> }
    expect([status, generated]).toEqual([201, { webhook_secret: expect.stringMatching(/^[0-9a-f]{64}$/) }])
    expect(body['secrets']).toMatchObject({ webhook_secret: generated['webhook_secret']?.slice(-4) })
    expect((await call('GET', `/api/channels/${body.id}`)).body).not.toHaveProperty('generated')
    expect((await create({ platform: 'telegram', secrets })).body).not.toHaveProperty('generated')
  })

  it('stores secrets sealed', async () => {
    const { body } = await create({ platform: 'telegram', secrets })
    const row = await bindings.DB.prepare('SELECT * FROM channel WHERE id = ?').bind(body.id).first()
    expect(JSON.stringify(row)).not.toContain(secrets.bot_token)
    expect(JSON.stringify(row)).not.toContain(secret)
  })

  it.each([
    ['an unknown platform', { platform: 'pigeon', secrets: {} }, 'platform'],
    ['a missing token', { platform: 'telegram', secrets: { webhook_secret: secret } }, 'secrets.bot_token'],
    [
      'a short secret',
      { platform: 'telegram', secrets: { ...secrets, webhook_secret: 'a'.repeat(31) } },
      'secrets.webhook_secret',
    ],
    ['an empty token', { platform: 'telegram', secrets: { ...secrets, bot_token: '' } }, 'secrets.bot_token'],
    [
      'a token with a path',
      { platform: 'telegram', secrets: { ...secrets, bot_token: '1:a/../x' } },
      'secrets.bot_token',
    ],
    [
      'a secret that Telegram cannot send',
      { platform: 'telegram', secrets: { ...secrets, webhook_secret: 'ä' } },
      'secrets.webhook_secret',
    ],
    ['an unknown secret', { platform: 'telegram', secrets: { ...secrets, other: 'x' } }, 'secrets.other'],
    [
      'the name of a prototype method',
      { platform: 'telegram', secrets: { ...secrets, toString: 'x' } },
      'secrets.toString',
    ],
    ['an unknown setting', { platform: 'telegram', secrets, settings: { colour: 1 } }, 'settings.colour'],
    ['an unknown busy mode', { platform: 'telegram', secrets, settings: { busy_mode: 'drop' } }, 'settings.busy_mode'],
    [
      'merging of bursts over more than ten seconds',
      { platform: 'telegram', secrets, settings: { burst_ms: 10_001 } },
      'settings.burst_ms',
    ],
  ])('refuses %s', async (_name, body, param) => {
    const answer = await create(body)
    expect([answer.status, answer.body.error.param]).toEqual([400, param])
  })

  it('lists every platform with what a connection to it needs, and the page that explains it', async () => {
    type Listed = { readonly platform: string; readonly guide: string; readonly secrets: readonly { name: string }[] }
    const { status, body } = await call<{ data: readonly Listed[] }>('GET', '/api/channels/platforms')
    expect([status, body.data.map(({ platform }) => platform).toSorted()]).toEqual([200, listPlatforms().toSorted()])
    const find = (platform: string) => body.data.find((one) => one.platform === platform)
    expect(find('slack')).toEqual({
      platform: 'slack',
      name: 'Slack',
      delivery: ['webhook', 'socket'],
      secrets: [
        { name: 'bot_token', required: true, hint: expect.any(String) },
        { name: 'signing_secret', required: true, hint: expect.any(String), delivery: 'webhook' },
        { name: 'app_token', required: false, hint: expect.any(String), delivery: 'socket' },
      ],
      settings: [],
      choices: {},
      guide: '/docs/slack.html',
    })
    expect(find('telegram')).toMatchObject({
      delivery: ['webhook', 'polling'],
      settings: ['secretary'],
      choices: { secretary: ['true', 'false'] },
    })
    expect(find('feishu')).toMatchObject({ choices: { domain: ['feishu', 'lark'] } })
    expect(find('nextcloud_talk')).toMatchObject({ settings: ['url', 'direct_rooms'], choices: { direct_rooms: [] } })
    expect(find('phone')).toMatchObject({ choices: {} })
    expect(find('google_chat')).toMatchObject({ settings: ['audience'] })
    expect(find('email')).toMatchObject({ settings: ['address'], secrets: [] })
    expect(find('twilio_whatsapp')).toMatchObject({ name: 'WhatsApp (Twilio)', guide: '/docs/twilio-whatsapp.html' })
  })

  it('names what a connection to a listed platform lacks', async () => {
    for (const platform of ['line', 'messenger', 'instagram', 'twilio_whatsapp', 'rcs']) {
      const channel = await loadChannel(platform)
      const given: Record<string, string> = {}
      for (const name of Object.keys(channel?.secrets ?? {})) {
        const { status, body } = await create({ platform, secrets: given })
        expect([platform, status, body.error.param]).toEqual([platform, 400, `secrets.${name}`])
        given[name] = name === 'account_sid' ? 'AC1' : name === 'from' ? '+15550001111' : '123456'
      }
    }
  })

  it('registers the webhook with the platform, again with a test, and takes it back at the end', async () => {
    const api = createTelegramApi()
    const body = { platform: 'telegram', secrets: { ...secrets, bot_token: api.token } }
    const made = await call<Channel>('POST', '/api/channels', { body })
    expect(made.body['registration']).toEqual({ ok: true, detail: expect.any(String) })
    expect(api.webhook).toMatchObject({
      url: made.body['webhook_url'],
      secret_token: secrets.webhook_secret,
      allowed_updates: ['message', 'edited_message', 'callback_query', 'my_chat_member'],
    })
    api.webhook = { url: 'https://elsewhere.test' }
    const tested = await call<{ ok: boolean }>('POST', `/api/channels/${made.body.id}/test`)
    expect([tested.body.ok, api.webhook.url]).toEqual([true, made.body['webhook_url']])
    await call('DELETE', `/api/channels/${made.body.id}`)
    await until(() => api.webhook.url === undefined)
  })

  it('creates the channel also when the platform refuses, and shows why', async () => {
    const unknown = { platform: 'telegram', secrets: { ...secrets, bot_token: '4711:unknown-to-telegram' } }
    const made = await call<Channel>('POST', '/api/channels', { body: unknown })
    expect([made.status, made.body['registration']]).toEqual([201, { ok: false, detail: 'HTTP 401: Unauthorized' }])
    expect((await call<Channel>('GET', `/api/channels/${made.body.id}`)).body).not.toHaveProperty('registration')
  })

  it('refuses a job for a chat that the platform does not know', async () => {
    const { key } = await newTenant()
    const api = createTelegramApi()
    api.chats.set(11, 'private')
    await call('POST', '/api/channels', {
      key,
      body: { platform: 'telegram', secrets: { ...secrets, bot_token: api.token } },
    })
    const jobFor = (deliver: string) =>
      call<ErrorBody>('POST', '/api/jobs', { key, body: { name: deliver, prompt: 'x', schedule: 'every 9h', deliver } })
    expect((await jobFor('telegram:11')).status).toBe(201)
    expect((await jobFor('telegram:11:5')).status).toBe(201)
    for (const deliver of ['telegram:12', 'telegram:@name', 'telegram:11:x', 'slack:C1']) {
      const { status, body } = await jobFor(deliver)
      expect([deliver, status, body.error?.param]).toEqual([deliver, 400, 'deliver'])
    }
  })

  it('names the supported platforms', async () => {
    expect((await create({ platform: 'pigeon', secrets: {} })).body.error.message).toContain('telegram')
  })

  it('hides a channel from other tenants', async () => {
    const [mine, other] = [await newTenant(), await newTenant()]
    const { body } = await create({ platform: 'telegram', secrets }, mine.key)
    const unknown = await call('GET', '/api/channels/ch_unknown', { key: other.key })
    for (const [method, path] of [
      ['GET', ''],
      ['PATCH', ''],
      ['DELETE', ''],
      ['POST', '/test'],
      ['POST', '/pause'],
      ['POST', '/resume'],
    ] as const) {
      const answer = await call(method, `/api/channels/${body.id}${path}`, {
        key: other.key,
        ...(method !== 'GET' && { body: {} }),
      })
      expect([method, path, answer.status, answer.body]).toEqual([method, path, 404, unknown.body])
    }
    expect((await call<{ data: unknown[] }>('GET', '/api/channels', { key: other.key })).body.data).toEqual([])
    expect((await call<Channel>('GET', `/api/channels/${body.id}`, { key: mine.key })).body.status).toBe('active')
  })

  it('lists channels page by page, newest first', async () => {
    const { key } = await newTenant()
    const ids: string[] = []
    for (let n = 0; n < 3; n++) ids.push((await create({ platform: 'telegram', secrets }, key)).body.id)
    type Page = { data: Channel[]; next_cursor: string | null }
    const first = (await call<Page>('GET', '/api/channels?limit=2', { key })).body
    const second = (await call<Page>('GET', `/api/channels?limit=2&cursor=${first.next_cursor}`, { key })).body
    expect([...first.data, ...second.data].map(({ id }) => id).toSorted()).toEqual(ids.toSorted())
    expect([first.data.length, second.next_cursor]).toEqual([2, null])
  })

  it('requires the write scope', async () => {
    const { key } = await newTenant(['read', 'chat'])
    expect((await create({ platform: 'telegram', secrets }, key)).status).toBe(403)
  })

  it('tests the secrets with the platform', async () => {
    const api = createTelegramApi()
    const good = await create({ platform: 'telegram', secrets: { ...secrets, bot_token: api.token } })
    const bad = await create({ platform: 'telegram', secrets })
    expect((await call('POST', `/api/channels/${good.body.id}/test`)).body).toEqual({
      ok: true,
      detail: 'Connected as TalariaBot. Telegram sends its updates to this channel.',
    })
    expect((await call('POST', `/api/channels/${bad.body.id}/test`)).body).toEqual({
      ok: false,
      detail: 'HTTP 401: Unauthorized',
    })
  })

  it('does not store the account of secrets that changed during the test', async () => {
    const api = createTelegramApi()
    const { body } = await create({ platform: 'telegram', secrets: { ...secrets, bot_token: api.token } })
    const at = `/api/channels/${body.id}`
    const gate = new Gate()
    api.overrideNext('getMe', gate)
    const tested = call('POST', `${at}/test`)
    await gate.waitUntilReached()
    expect((await call('PATCH', at, { body: { secrets: { bot_token: '4711:zyxwvutsrq' } } })).status).toBe(200)
    gate.open()
    expect((await tested).status).toBe(200)
    const row = await bindings.DB.prepare('SELECT account FROM channel WHERE id = ?').bind(body.id).first()
    expect(row).toEqual({ account: null })
  })
})

describe('who holds the scope approve in chats, and who may read beyond them,', () => {
  it('is decided by a key that holds the scope itself', async () => {
    const { id: tenant, key } = await newTenant()
    const weak = await newKey(tenant, ['read', 'write', 'chat'])
    const made = await call<Channel>('POST', '/api/channels', {
      key,
      body: { platform: 'telegram', secrets, settings: { admins: ['1'] } },
    })
    const change = (by: string, settings: object) =>
      call<ErrorBody>('PATCH', `/api/channels/${made.body.id}`, { key: by, body: { settings } })
    for (const [field, settings] of [
      ['settings.admins', { admins: ['1', '2'] }],
      ['settings.search_scope', { search_scope: 'tenant' }],
      ['settings.same_person', { same_person: [['5', '6']] }],
    ] as const) {
      const answers = [
        await change(weak, settings),
        await call<ErrorBody>('POST', '/api/channels', {
          key: weak,
          body: { platform: 'telegram', secrets, settings },
        }),
      ]
      for (const { status, body } of answers)
        expect([status, body.error.code, body.error.param]).toEqual([403, 'policy', field])
      expect((await change(key, settings)).status).toBe(200)
    }
    // The system keeps which chat continues which: nobody writes that, and nobody reads it.
    const moved = await change(key, { moved_chats: { '-2': '-1' } })
    expect([moved.status, moved.body.error.code]).toEqual([400, 'invalid_request'])
    expect(made.body['settings']).not.toHaveProperty('moved_chats')
    // Fewer rights, and settings that grant none, need no such key.
    for (const settings of [{ admins: ['1'] }, { search_scope: 'chat' }, { streaming: true }])
      expect((await change(weak, settings)).status).toBe(200)
  })
})

describe('the address of an email channel', () => {
  const mail = (address: string | null) => ({ platform: 'email', settings: { address } })
  const taken = [409, 'conflict', 'settings.address']
  const outcome = ({ status, body }: { status: number; body: ErrorBody }) => [
    status,
    body.error?.code,
    body.error?.param,
  ]

  it('is one that the operator has assigned, by name or domain', async () => {
    const { id: tenant, key } = await newTenant()
    const ask = async (address: string) => outcome(await create(mail(address), key))
    const refused = [403, 'policy', 'settings.address']
    expect(await ask('agent@assigned.test')).toEqual(refused)
    await assignMail(tenant, ['Desk@other.test', '@assigned.test'])
    expect((await call('GET', `/api/admin/tenants/${tenant}`)).body['mail']).toEqual([
      'Desk@other.test',
      '@assigned.test',
    ])
    expect(await ask('agent@sub.assigned.test')).toEqual(refused)
    expect(await ask('agent@other.test')).toEqual(refused)
    const { body } = await create(mail('Agent@Assigned.test'), key)
    expect(await ask('desk@other.test')).toEqual([201, undefined, undefined])
    const change = (settings: object) =>
      call<ErrorBody>('PATCH', `/api/channels/${body.id}`, { key, body: { settings } })
    expect(outcome(await change({ address: 'agent@elsewhere.test' }))).toEqual(refused)
    // A channel keeps what it has.
    await assignMail(tenant, [])
    expect((await change({ streaming: true })).status).toBe(200)
    expect(outcome(await change({ address: 'second@assigned.test' }))).toEqual(refused)
  })

  it.each(['agent', '@', 'a b@x.test', '*@x.test '])('is assigned by a name that it can have, not %j', async (one) => {
    const { id } = await newTenant()
    expect((await assignMail(id, [one])).status).toBe(400)
  })

  it('belongs to one tenant, also when an older channel takes it later', async () => {
    const [older, mine] = [await newTenant(), await newTenant()]
    await Promise.all([older, mine].map(({ id }) => assignMail(id)))
    const theirs = await create(mail('other@mail.test'), older.key)
    const own = await create(mail('agent@mail.test'), mine.key)
    expect([theirs.status, own.status]).toEqual([201, 201])
    const take = (change: object) =>
      call<ErrorBody>('PATCH', `/api/channels/${theirs.body.id}`, { key: older.key, body: change })
    const settings = { address: 'Agent@MAIL.test' }
    expect(outcome(await create(mail(settings.address), older.key))).toEqual(taken)
    expect(outcome(await take({ settings }))).toEqual(taken)
    expect(outcome(await take({ settings, secrets: {} }))).toEqual(taken)
    expect(await findMailConnection(bindings.DB, 'agent@mail.test')).toBe(own.body.id)
    expect((await take({ settings: { address: 'free@mail.test' } })).status).toBe(200)
  })

  it('goes to one of two requests at once', async () => {
    const { id: tenant, key } = await newTenant()
    await assignMail(tenant)
    const answers = await Promise.all([1, 2].map(() => create(mail('both@mail.test'), key)))
    expect(answers.map(({ status }) => status).toSorted()).toEqual([201, 409])
  })

  it('stays until another one replaces it', async () => {
    const { id: tenant, key } = await newTenant()
    await assignMail(tenant)
    const missing = [400, 'invalid_request', 'settings.address']
    expect(outcome(await create(mail(null), key))).toEqual(missing)
    const { body } = await create(mail('stays@mail.test'), key)
    const change = (settings: object) =>
      call<Channel & ErrorBody>('PATCH', `/api/channels/${body.id}`, { key, body: { settings } })
    expect(outcome(await change({ address: null }))).toEqual(missing)
    expect((await change({ streaming: true })).body).toMatchObject({
      settings: { address: 'stays@mail.test', streaming: true },
    })
  })
})
