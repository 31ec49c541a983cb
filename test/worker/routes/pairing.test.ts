import { beforeAll, describe, expect, it } from 'vitest'
import {
  anna,
  type ChatFixture,
  postUpdate,
  createMessage,
  createChat,
  receiveMessage,
  createUpdate,
} from '../../support/chat.ts'
import { says, until } from '../../support/scripted-model.ts'
import { runInDurableObject } from 'cloudflare:test'
import { bindings, call, applyMigrations, newTenant, type ErrorBody } from '../client.ts'

beforeAll(applyMigrations)

const codeShape = /: ([A-HJ-NP-Z2-9]{8})\n/
const closed = { allow_users: [], allow_chats: [] }

async function createClosedChat() {
  const { id, key } = await newTenant()
  const chat = await createChat([says('Hello.')], closed, key)
  return { id, key, chat }
}
const person = (id: number) => ({ chat: { id, type: 'private' }, from: { ...anna, id } })
const codeFor = async ({ api }: ChatFixture, nth = 0) => {
  const text = await until(() => api.sentTexts.filter((one) => codeShape.test(one))[nth])
  return codeShape.exec(text)?.[1] ?? ''
}
const approve = (key: string, code: string, platform = 'telegram') =>
  call<ErrorBody & { person: string }>('POST', '/api/pairing/approve', { key, body: { platform, code } })
type People = { data: { id: string; person: string; status: string }[] }
const people = async (key: string) => (await call<People>('GET', '/api/pairing', { key })).body.data

/** Moves all stored times of the tenant into the past, as if time had passed. */
const passTime = (tenant: string, ms: number) =>
  runInDurableObject(bindings.TENANT.getByName(`t/${tenant}`), (_object, { storage: { sql } }) => {
    sql.exec('UPDATE pairing SET at = at - ?', ms)
    sql.exec('UPDATE pairing_guesses SET until = until - ? WHERE until > 0', ms)
  })

describe('an unknown person in a direct chat', () => {
  it('gets one code for many messages, and answers once approved', async () => {
    const { key, chat } = await createClosedChat()
    const update = createUpdate({ message: createMessage('hi') })
    await Promise.all(Array.from({ length: 8 }, () => postUpdate(chat, update)))
    await receiveMessage(chat, 'hello?')
    const code = await codeFor(chat)
    expect(chat.api.sentTexts).toHaveLength(1)
    expect(chat.scripted.requests).toEqual([])
    expect(await people(key)).toEqual([expect.objectContaining({ id: 'telegram:11', name: 'Anna', status: 'pending' })])
    expect(JSON.stringify(await people(key))).not.toContain(code)
    const approved = await approve(key, ` ${code.toLowerCase()} `)
    expect([approved.status, approved.body]).toEqual([200, { platform: 'telegram', person: '11', name: 'Anna' }])
    expect((await approve(key, code)).status).toBe(404)
    await receiveMessage(chat, 'hi')
    await chat.api.waitForText('Hello.')
    expect((await people(key)).map(({ status }) => status)).toEqual(['approved'])
  })

  it('loses access when the approval is removed', async () => {
    const { key, chat } = await createClosedChat()
    await receiveMessage(chat, 'hi')
    await approve(key, await codeFor(chat))
    expect((await call('DELETE', '/api/pairing/telegram:11', { key })).status).toBe(204)
    expect((await call('DELETE', '/api/pairing/telegram:11', { key })).status).toBe(404)
    await receiveMessage(chat, 'hi')
    await codeFor(chat, 1)
    expect(chat.scripted.requests).toEqual([])
  })

  it('gets another code after ten minutes, which replaces the first', async () => {
    const { id, key, chat } = await createClosedChat()
    await receiveMessage(chat, 'hi')
    const first = await codeFor(chat)
    await passTime(id, 601_000)
    await receiveMessage(chat, 'hi')
    const second = await codeFor(chat, 1)
    expect((await approve(key, first)).status).toBe(404)
    expect((await approve(key, second)).status).toBe(200)
  })

  it('gets no code while three others wait', async () => {
    const { key, chat } = await createClosedChat()
    for (const id of [21, 22, 23, 24]) await receiveMessage(chat, 'hi', person(id))
    await codeFor(chat, 2)
    expect([(await people(key)).length, chat.api.sentTexts.length]).toEqual([3, 3])
  })

  it('gets no code in a group', async () => {
    const { key, chat } = await createClosedChat()
    await receiveMessage(chat, 'hi', { chat: { id: -9, type: 'group' } })
    expect([chat.api.calls, await people(key)]).toEqual([[], []])
  })
})

describe('a pairing code', () => {
  it('expires after an hour', async () => {
    const { id, key, chat } = await createClosedChat()
    await receiveMessage(chat, 'hi')
    const code = await codeFor(chat)
    await passTime(id, 3_601_000)
    expect((await approve(key, code)).status).toBe(404)
    expect(await people(key)).toEqual([])
  })

  it('is locked for an hour after five wrong guesses', async () => {
    const { id, key, chat } = await createClosedChat()
    await receiveMessage(chat, 'hi')
    const code = await codeFor(chat)
    for (let n = 0; n < 5; n++) expect((await approve(key, 'AAAAAAAA')).status).toBe(404)
    const locked = await approve(key, code)
    expect([locked.status, Number(locked.headers.get('retry-after')) > 3_500]).toEqual([429, true])
    await passTime(id, 3_601_000)
    expect((await approve(key, code)).status).toBe(404)
  })

  it('is valid for its platform and tenant only', async () => {
    const [{ key, chat }, other] = [await createClosedChat(), await newTenant()]
    await receiveMessage(chat, 'hi')
    const code = await codeFor(chat)
    expect((await approve(other.key, code)).status).toBe(404)
    expect((await approve(key, code, 'slack')).status).toBe(404)
    expect(await people(other.key)).toEqual([])
    expect((await approve(key, code)).status).toBe(200)
  })

  it('is stored only as a hash', async () => {
    const { id, chat } = await createClosedChat()
    await receiveMessage(chat, 'hi')
    const code = await codeFor(chat)
    const rows = await runInDurableObject(bindings.TENANT.getByName(`t/${id}`), (_object, { storage }) =>
      JSON.stringify(storage.sql.exec('SELECT * FROM pairing').toArray()),
    )
    expect(rows).not.toContain(code)
  })
})
