/** Channels by the API, and what their webhooks let in. */

import { createExecutionContext } from 'cloudflare:test'
import { beforeAll, describe, expect, it } from 'vitest'
import { createApp } from '../../src/worker/app.ts'
import { Gate, says, until } from '../support/scripted-model.ts'
import {
  allSettled,
  bert,
  type Chat,
  deliver,
  messageOf,
  newChat,
  secret,
  sessionOf,
  tell,
  updateOf,
} from '../support/chat.ts'
import { telegramApi } from '../support/telegram-api.ts'
import { linesOf } from './listen.ts'
import { adminKey, bindings, call, migrated, newTenant, type Problem, request } from './client.ts'
import { countRows, inObject } from '../durable/support/object.ts'

beforeAll(migrated)

type Channel = { readonly id: string; readonly status: string; readonly [more: string]: unknown }
const secrets = { bot_token: '4711:abcdefghijklmnop', webhook_secret: secret }
const create = (body: object, key?: string) =>
  call<Channel & Problem>('POST', '/api/channels', { body, ...(key && { key }) })

/** The database, in which somebody else's change comes first of all that begins like this. */
function overtaken(sql: string, first: () => Promise<unknown>): D1Database {
  let overtakes = 0
  const { DB } = bindings
  const prepare: D1Database['prepare'] = (one) => {
    if (one.startsWith(sql)) overtakes++
    return DB.prepare(one)
  }
  const batch: D1Database['batch'] = async (statements) => {
    if (overtakes === 1) await first()
    return DB.batch(statements)
  }
  return { prepare, batch } as D1Database
}

describe('a channel', () => {
  it('is created, shown without its secrets, changed, paused, resumed and removed', async () => {
    const made = await create({ platform: 'telegram', name: 'Ours', secrets, settings: { allow_users: [5, '6'] } })
    expect(made.status).toBe(201)
    const { id } = made.body
    expect(made.body).toEqual({
      id: expect.stringMatching(/^ch_[0-9a-f]{32}$/),
      platform: 'telegram',
      name: 'Ours',
      status: 'active',
      webhook_url: `https://talaria.test/webhooks/telegram/${id}`,
      settings: {
        allow_users: ['5', '6'],
        allow_chats: [],
        admins: [],
        require_mention: true,
        busy_mode: 'interrupt',
        streaming: false,
        burst_ms: 0,
      },
      secrets: { bot_token: 'mnop', webhook_secret: 'et-1' },
      created_at: expect.any(String),
    })
    expect((await call('GET', `/api/channels/${id}`)).body).toEqual(made.body)
    const changed = await call<Channel>('PATCH', `/api/channels/${id}`, {
      body: { settings: { streaming: true }, secrets: { bot_token: '4711:zyxwvutsrq' } },
    })
    expect(changed.body).toMatchObject({
      name: 'Ours',
      settings: { allow_users: ['5', '6'], streaming: true },
      secrets: { bot_token: 'tsrq', webhook_secret: 'et-1' },
    })
    expect((await call<Channel>('POST', `/api/channels/${id}/pause`)).body.status).toBe('paused')
    expect((await call<Channel>('POST', `/api/channels/${id}/resume`)).body.status).toBe('active')
    expect((await call('DELETE', `/api/channels/${id}`)).status).toBe(204)
    expect((await call('DELETE', `/api/channels/${id}`)).status).toBe(404)
    expect((await call('GET', `/api/channels/${id}`)).status).toBe(404)
  })

  it('has all of what is changed at the same time', async () => {
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

  it('has every secret that is changed at the same time', async () => {
    const { body } = await create({ platform: 'telegram', secrets })
    const at = `/api/channels/${body.id}`
    const other = () => call('PATCH', at, { body: { secrets: { webhook_secret: 'another-secret-2' } } })
    const answer = await createApp().fetch(
      new Request(`https://talaria.test${at}`, {
        method: 'PATCH',
        headers: { authorization: `Bearer ${adminKey}` },
        body: JSON.stringify({ secrets: { bot_token: '4711:zyxwvutsrq' } }),
      }),
      { ...bindings, DB: overtaken('UPDATE channel', other) },
      createExecutionContext(),
    )
    const now = { bot_token: 'tsrq', webhook_secret: 'et-2' }
    expect([answer.status, (await answer.json<Channel>())['secrets']]).toEqual([200, now])
    expect((await call<Channel>('GET', at)).body['secrets']).toEqual(now)
  })

  it('keeps its secrets sealed', async () => {
    const { body } = await create({ platform: 'telegram', secrets })
    const row = await bindings.DB.prepare('SELECT * FROM channel WHERE id = ?').bind(body.id).first()
    expect(JSON.stringify(row)).not.toContain(secrets.bot_token)
    expect(JSON.stringify(row)).not.toContain(secret)
  })

  it.each([
    ['another platform', { platform: 'slack', secrets: {} }, 'platform'],
    ['a missing token', { platform: 'telegram', secrets: { webhook_secret: secret } }, 'secrets.bot_token'],
    ['a missing secret', { platform: 'telegram', secrets: { bot_token: '1:a' } }, 'secrets.webhook_secret'],
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
    ['a secret nobody knows', { platform: 'telegram', secrets: { ...secrets, other: 'x' } }, 'secrets.other'],
    ['a prototype', { platform: 'telegram', secrets: { ...secrets, toString: 'x' } }, 'secrets.toString'],
    ['a setting nobody knows', { platform: 'telegram', secrets, settings: { colour: 1 } }, 'settings.colour'],
    ['a mode nobody knows', { platform: 'telegram', secrets, settings: { busy_mode: 'drop' } }, 'settings.busy_mode'],
    ['merging', { platform: 'telegram', secrets, settings: { burst_ms: 500 } }, 'settings.burst_ms'],
  ])('is refused with %s', async (_name, body, param) => {
    const answer = await create(body)
    expect([answer.status, answer.body.error.param]).toEqual([400, param])
  })

  it('names the platforms there are', async () => {
    expect((await create({ platform: 'discord', secrets: {} })).body.error.message).toContain('telegram')
  })

  it('is nobody else’s', async () => {
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

  it('is listed page by page, newest first', async () => {
    const { key } = await newTenant()
    const ids: string[] = []
    for (let n = 0; n < 3; n++) ids.push((await create({ platform: 'telegram', secrets }, key)).body.id)
    type Page = { data: Channel[]; next_cursor: string | null }
    const first = (await call<Page>('GET', '/api/channels?limit=2', { key })).body
    const second = (await call<Page>('GET', `/api/channels?limit=2&cursor=${first.next_cursor}`, { key })).body
    expect([...first.data, ...second.data].map(({ id }) => id).toSorted()).toEqual(ids.toSorted())
    expect([first.data.length, second.next_cursor]).toEqual([2, null])
  })

  it('needs the scope for it', async () => {
    const { key } = await newTenant(['read', 'chat'])
    expect((await create({ platform: 'telegram', secrets }, key)).status).toBe(403)
  })

  it('is tested by asking the platform', async () => {
    const api = telegramApi()
    const good = await create({ platform: 'telegram', secrets: { ...secrets, bot_token: api.token } })
    const bad = await create({ platform: 'telegram', secrets })
    expect((await call('POST', `/api/channels/${good.body.id}/test`)).body).toEqual({
      ok: true,
      detail: 'Connected as TalariaBot.',
    })
    expect((await call('POST', `/api/channels/${bad.body.id}/test`)).body).toEqual({
      ok: false,
      detail: 'HTTP 401: Unauthorized',
    })
  })

  it('does not have the account of secrets that were changed while the platform was asked', async () => {
    const api = telegramApi()
    const { body } = await create({ platform: 'telegram', secrets: { ...secrets, bot_token: api.token } })
    const at = `/api/channels/${body.id}`
    const gate = new Gate()
    api.next('getMe', gate)
    const asked = call('POST', `${at}/test`)
    await gate.reached()
    expect((await call('PATCH', at, { body: { secrets: { bot_token: '4711:zyxwvutsrq' } } })).status).toBe(200)
    gate.open()
    expect((await asked).status).toBe(200)
    const row = await bindings.DB.prepare('SELECT account FROM channel WHERE id = ?').bind(body.id).first()
    expect(row).toEqual({ account: null })
  })
})

const heardOf = async (session: string) =>
  inObject(session, (_object, { storage }) =>
    storage.sql
      .exec("SELECT name FROM sqlite_master WHERE type = 'table'")
      .toArray()
      .map(({ name }) => String(name))
      .filter((name) => !name.startsWith('_')),
  )

describe('a webhook', () => {
  it.each([
    ['without a signature', {}],
    ['with an empty one', { 'x-telegram-bot-api-secret-token': '' }],
    ['with a wrong one', { 'x-telegram-bot-api-secret-token': `${secret}x` }],
    ['with one that is too short', { 'x-telegram-bot-api-secret-token': secret.slice(1) }],
    ['with one in capitals', { 'x-telegram-bot-api-secret-token': secret.toUpperCase() }],
    ['with it twice', { 'x-telegram-bot-api-secret-token': `${secret}, ${secret}` }],
    ['with it under another name', { 'x-hub-signature-256': secret }],
  ])('%s answers 401 without a word, and nothing is written', async (_name, headers) => {
    const chat = await newChat([says('never')])
    const answer = await request('POST', `/webhooks/telegram/${chat.channel}`, {
      key: null,
      headers: headers as Record<string, string>,
      body: updateOf({ message: messageOf('hi') }),
    })
    expect([answer.status, await answer.text()]).toEqual([401, ''])
    expect(await heardOf(await sessionOf(chat))).toEqual([])
    expect(chat.scripted.asked).toEqual([])
  })

  it('is not opened by the secret of another channel', async () => {
    const [one, other] = [await newChat([]), await newTenant()]
    const made = await create(
      { platform: 'telegram', secrets: { ...secrets, webhook_secret: 'other-secret' } },
      other.key,
    )
    expect((await deliver({ channel: made.body.id }, updateOf({ message: messageOf('hi') }))).status).toBe(401)
    expect((await deliver(one, updateOf({}), { 'x-telegram-bot-api-secret-token': 'other-secret' })).status).toBe(401)
  })

  it.each(['ch_unknown', 'ch_', '..%2f', 'a'.repeat(300), "x'--"])(
    'of an unknown connection is not there: %s',
    async (id) => {
      expect((await deliver({ channel: id }, updateOf({}))).status).toBe(404)
    },
  )

  it('of another platform is not there', async () => {
    const { channel } = await newChat([])
    const path = `/webhooks/slack/${channel}`
    const headers = { 'x-telegram-bot-api-secret-token': secret }
    expect((await request('POST', path, { key: null, headers, body: {} })).status).toBe(404)
  })

  it('takes a megabyte and no more', async () => {
    const chat = await newChat([])
    const sized = (bytes: number) => {
      const update = JSON.stringify(updateOf({ filler: '' }))
      return update.replace('"filler":""', `"filler":"${'x'.repeat(bytes - update.length)}"`)
    }
    expect((await deliver(chat, sized(1024 * 1024))).status).toBe(200)
    expect((await deliver(chat, sized(1024 * 1024 + 1))).status).toBe(413)
    const chunk = new Uint8Array(64 * 1024)
    let left = 20
    const endless = new ReadableStream<Uint8Array>({
      pull: (controller) => (left-- ? controller.enqueue(chunk) : controller.close()),
    })
    expect((await deliver(chat, endless)).status).toBe(413)
  })

  it.each([
    ['no JSON', '{"update_id":'],
    ['bytes that are no text', new Uint8Array([0xff, 0xfe, 0x00])],
    ['nothing', ''],
    ['an unknown kind', { update_id: 1, poll: {} }],
    ['a message that was edited', { update_id: 2, edited_message: messageOf('hi') }],
    ['another bot', { update_id: 3, message: messageOf('hi', { from: { ...bert, is_bot: true } }) }],
    ['what would change a prototype', '{"update_id":4,"__proto__":{"message":{"text":"hi"}}}'],
  ])('answers 200 to what is verified and none of our business: %s', async (_name, body) => {
    const chat = await newChat([says('never')])
    expect((await deliver(chat, body)).status).toBe(200)
    expect(await heardOf(await sessionOf(chat))).toEqual([])
    expect(chat.scripted.asked).toEqual([])
  })

  it('meets a group that is not named with silence', async () => {
    const chat = await newChat([says('never')], { allow_chats: ['-5'] })
    await tell(chat, 'hi', { chat: { id: -6, type: 'group' } })
    expect([chat.scripted.asked, chat.api.calls]).toEqual([[], []])
  })

  it('of a channel that is paused, or of a tenant that is suspended, answers 200 and does nothing', async () => {
    const { id: tenantId, key } = await newTenant()
    const chat = await newChat([says('never')], {}, key)
    await call('POST', `/api/channels/${chat.channel}/pause`, { key })
    await tell(chat, 'hi')
    await call('POST', `/api/channels/${chat.channel}/resume`, { key })
    await call('PATCH', `/api/admin/tenants/${tenantId}`, { body: { status: 'suspended' } })
    await tell(chat, 'hi')
    expect(chat.scripted.asked).toEqual([])
  })
})

describe('an update', () => {
  it('that comes eight times at once, and again after the object died, is one turn and one reply', async () => {
    const chat = await newChat([says('Hello.')])
    const update = updateOf({ message: messageOf('hi') })
    const answers = await Promise.all(Array.from({ length: 8 }, () => deliver(chat, update)))
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 8 }, () => 200))
    const session = await sessionOf(chat)
    await allSettled(session)
    expect(chat.api.sent).toEqual(['Hello.'])
    await inObject(session, (_object, state) => state.abort('killed by a test')).catch(() => undefined)
    expect((await deliver(chat, update)).status).toBe(200)
    await allSettled(session)
    expect(await linesOf(session)).toEqual(['user: hi', 'assistant: Hello.'])
    expect([chat.api.sent.length, chat.scripted.asked.length]).toEqual([1, 1])
  })

  it('of which a hundred come at once, some of them twice, are as many turns, none lost and none twice', async () => {
    const chat = await newChat((asked) => says(`re: ${String(asked.messages.at(-1)?.content)}`), { busy_mode: 'queue' })
    const updates = Array.from({ length: 100 }, (_, n) => updateOf({ message: messageOf(`no. ${n}.`) }))
    const delivered = updates.flatMap((update, n) => (n % 3 ? [update] : [update, update]))
    const answers = await Promise.all(delivered.map((update) => deliver(chat, update)))
    expect(answers.every(({ status }) => status === 200)).toBe(true)
    await until(() => chat.api.shown.length >= 100)
    await allSettled(await sessionOf(chat))
    expect(chat.api.sent.toSorted()).toEqual(Array.from({ length: 100 }, (_, n) => `re: no. ${n}.`).toSorted())
  })

  it('that comes eight times at once, of a tenant whose turns have places, takes one place and gives it back', async () => {
    const { id: tenantId, key } = await newTenant()
    await call('PATCH', `/api/admin/tenants/${tenantId}`, { body: { limits: { concurrent_turns: 1 } } })
    const chat = await newChat([says('Hello.'), says('Again.')], {}, key)
    const update = updateOf({ message: messageOf('hi') })
    await Promise.all(Array.from({ length: 8 }, () => deliver(chat, update)))
    await chat.api.has('Hello.')
    await until(async () => {
      await tell(chat, 'more')
      return chat.api.shown.includes('Again.')
    })
    expect(chat.scripted.asked.length).toBeGreaterThanOrEqual(2)
  })

  it('whose first delivery failed before it was written counts when it comes again', async () => {
    const chat = await newChat([says('Hello.')])
    const session = await sessionOf(chat)
    const update = updateOf({ message: messageOf('hi') })
    // The storage fails while it is put down.
    await inObject(session, (_object, { storage }) => {
      storage.sql.exec('CREATE TABLE heard (other INTEGER)')
    })
    expect((await deliver(chat, update)).status).toBeGreaterThanOrEqual(500)
    expect(chat.scripted.asked).toEqual([])
    await inObject(session, (_object, { storage }) => void storage.sql.exec('DROP TABLE heard'))
    await inObject(session, (_object, state) => state.abort('killed by a test')).catch(() => undefined)
    expect((await deliver(chat, update)).status).toBe(200)
    await chat.api.has('Hello.')
    expect(await countRows(session, 'heard')).toBe(1)
  })

  it('over a limit of the tenant is told so, once', async () => {
    const { id: tenantId, key } = await newTenant()
    await call('PATCH', `/api/admin/tenants/${tenantId}`, { body: { limits: { concurrent_turns: 1 } } })
    const gate = new Gate()
    const chat = await newChat([says('Wait', gate, ' a moment.')], {}, key)
    await tell(chat, 'hi')
    await gate.reached()
    const update = updateOf({ message: messageOf('hi', { chat: { id: 12, type: 'private' }, from: bert }) })
    for (let n = 0; n < 2; n++) expect((await deliver(chat, update)).status).toBe(200)
    await chat.api.has('A limit of this tenant is reached')
    gate.open()
    await chat.api.has('Wait a moment.')
    expect([chat.api.sent.length, chat.scripted.asked.length]).toEqual([2, 1])
  })

  it('of every chat and topic has a session of its own', async () => {
    const chat: Chat = await newChat([says('one'), says('two'), says('three')], { require_mention: false })
    const group = { id: -50, type: 'supergroup' }
    await tell(chat, 'a')
    await chat.api.has('one')
    await tell(chat, 'b', { chat: group })
    await chat.api.has('two')
    await tell(chat, 'c', { chat: group, message_thread_id: 9, is_topic_message: true })
    await chat.api.has('three')
    expect(await linesOf(await sessionOf(chat))).toEqual(['user: a', 'assistant: one'])
    expect(await linesOf(await sessionOf(chat, '-50'))).toEqual(['user: Anna: b', 'assistant: two'])
    expect(await linesOf(await sessionOf(chat, '-50', '9'))).toEqual(['user: Anna: c', 'assistant: three'])
    expect(chat.api.of('sendMessage').map(({ body }) => [body.chat_id, body.message_thread_id])).toEqual([
      [11, undefined],
      [-50, undefined],
      [-50, 9],
    ])
  })

  it('that nobody meant for us goes, with its name, to the next turn of the group', async () => {
    const chat = await newChat([says('Five.')])
    const group = { chat: { id: -60, type: 'group' } }
    await tell(chat, 'lunch at five?', group)
    await tell(chat, 'fine', { ...group, from: bert })
    expect(chat.scripted.asked).toEqual([])
    await tell(chat, '@TalariaBot when?', { ...group, entities: [{ type: 'mention', offset: 0, length: 11 }] })
    await chat.api.has('Five.')
    expect(await linesOf(await sessionOf(chat, '-60'))).toEqual([
      'user: [Said in the group before, not to you:]\nAnna: lunch at five?\nBert: fine\n\nAnna: when?',
      'assistant: Five.',
    ])
    expect(chat.api.of('sendMessage')[0]?.body.reply_parameters).toMatchObject({ message_id: 7 })
  })
})
