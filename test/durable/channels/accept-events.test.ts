import { beforeAll, describe, expect, it } from 'vitest'
import { acceptEventsAgain, countRows, inObject, objectOf, refuseEvents } from '../support/object.ts'
import {
  settleDeliveries,
  bert,
  type ChatFixture,
  postUpdate,
  createMessage,
  createChat,
  getSessionId,
  receiveMessage,
  createUpdate,
} from '../../support/chat.ts'
import { Gate, says, until } from '../../support/scripted-model.ts'
import { call, applyMigrations, newTenant } from '../../worker/client.ts'
import { listLines } from '../../worker/listen.ts'

beforeAll(applyMigrations)

describe('acceptEvents', () => {
  it('runs one turn for eight concurrent deliveries, and for one after the object died', async () => {
    const chat = await createChat([says('Hello.')])
    const update = createUpdate({ message: createMessage('hi') })
    const answers = await Promise.all(Array.from({ length: 8 }, () => postUpdate(chat, update)))
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 8 }, () => 200))
    const session = await getSessionId(chat)
    await settleDeliveries(session)
    expect(chat.api.sentTexts).toEqual(['Hello.'])
    await inObject(session, (_object, state) => state.abort('killed by a test')).catch(() => undefined)
    expect((await postUpdate(chat, update)).status).toBe(200)
    await settleDeliveries(session)
    expect(await listLines(session)).toEqual(['user: hi', 'assistant: Hello.'])
    expect([chat.api.sentTexts.length, chat.scripted.requests.length]).toEqual([1, 1])
  })

  it('runs one turn for each of a hundred concurrent events, some delivered twice', async () => {
    const chat = await createChat((received) => says(`re: ${String(received.messages.at(-1)?.content)}`), {
      busy_mode: 'queue',
      max_queued: 200,
    })
    const updates = Array.from({ length: 100 }, (_, n) => createUpdate({ message: createMessage(`no. ${n}.`) }))
    const delivered = updates.flatMap((update, n) => (n % 3 ? [update] : [update, update]))
    const answers = await Promise.all(delivered.map((update) => postUpdate(chat, update)))
    expect(answers.every(({ status }) => status === 200)).toBe(true)
    await until(() => chat.api.messageTexts.length >= 100)
    await settleDeliveries(await getSessionId(chat))
    expect(chat.api.sentTexts.toSorted()).toEqual(Array.from({ length: 100 }, (_, n) => `re: no. ${n}.`).toSorted())
  })

  it('counts one turn against the limit for eight concurrent deliveries, and releases it', async () => {
    const { id: tenantId, key } = await newTenant()
    await call('PATCH', `/api/admin/tenants/${tenantId}`, { body: { limits: { concurrent_turns: 1 } } })
    const chat = await createChat([says('Hello.'), says('Again.')], {}, key)
    const update = createUpdate({ message: createMessage('hi') })
    await Promise.all(Array.from({ length: 8 }, () => postUpdate(chat, update)))
    await chat.api.waitForText('Hello.')
    await until(async () => {
      await receiveMessage(chat, 'more')
      return chat.api.messageTexts.includes('Again.')
    })
    expect(chat.scripted.requests.length).toBeGreaterThanOrEqual(2)
  })

  it('accepts a repeated delivery after the first one could not be stored', async () => {
    const chat = await createChat([says('Hello.')])
    const session = await getSessionId(chat)
    const update = createUpdate({ message: createMessage('hi') })
    await refuseEvents(objectOf(session))
    expect((await postUpdate(chat, update)).status).toBeGreaterThanOrEqual(500)
    expect(chat.scripted.requests).toEqual([])
    await acceptEventsAgain(objectOf(session))
    expect((await postUpdate(chat, update)).status).toBe(200)
    await chat.api.waitForText('Hello.')
    expect(await countRows(session, 'heard')).toBe(1)
  })

  it('answers once that a limit of the tenant is reached', async () => {
    const { id: tenantId, key } = await newTenant()
    await call('PATCH', `/api/admin/tenants/${tenantId}`, { body: { limits: { concurrent_turns: 1 } } })
    const gate = new Gate()
    const chat = await createChat([says('Wait', gate, ' a moment.')], {}, key)
    await receiveMessage(chat, 'hi')
    await gate.waitUntilReached()
    const update = createUpdate({ message: createMessage('hi', { chat: { id: 12, type: 'private' }, from: bert }) })
    for (let n = 0; n < 2; n++) expect((await postUpdate(chat, update)).status).toBe(200)
    await chat.api.waitForText('A limit of this tenant is reached')
    gate.open()
    await chat.api.waitForText('Wait a moment.')
    expect([chat.api.sentTexts.length, chat.scripted.requests.length]).toEqual([2, 1])
  })

  it('gives every chat and topic a session of its own', async () => {
    const chat: ChatFixture = await createChat([says('one'), says('two'), says('three')], {
      require_mention: false,
      group_sessions: 'chat',
    })
    const group = { id: -50, type: 'supergroup' }
    await receiveMessage(chat, 'a')
    await chat.api.waitForText('one')
    await receiveMessage(chat, 'b', { chat: group })
    await chat.api.waitForText('two')
    await receiveMessage(chat, 'c', { chat: group, message_thread_id: 9, is_topic_message: true })
    await chat.api.waitForText('three')
    expect(await listLines(await getSessionId(chat))).toEqual(['user: a', 'assistant: one'])
    expect(await listLines(await getSessionId(chat, '-50'))).toEqual(['user: Anna: b', 'assistant: two'])
    expect(await listLines(await getSessionId(chat, '-50', '9'))).toEqual(['user: Anna: c', 'assistant: three'])
    expect(chat.api.callsOf('sendMessage').map(({ body }) => [body.chat_id, body.message_thread_id])).toEqual([
      [11, undefined],
      [-50, undefined],
      [-50, 9],
    ])
  })

  it('gives unaddressed messages, with names, to the next turn of the group', async () => {
    const chat = await createChat([says('Five.')], { group_sessions: 'chat' })
    const group = { chat: { id: -60, type: 'group' } }
    await receiveMessage(chat, 'lunch at five?', group)
    await receiveMessage(chat, 'fine', { ...group, from: bert })
    expect(chat.scripted.requests).toEqual([])
    await receiveMessage(chat, '@TalariaBot when?', {
      ...group,
      entities: [{ type: 'mention', offset: 0, length: 11 }],
    })
    await chat.api.waitForText('Five.')
    expect(await listLines(await getSessionId(chat, '-60'))).toEqual([
      'user: [Said in the group before, not to you:]\nAnna: lunch at five?\nBert: fine\n\nAnna: when?',
      'assistant: Five.',
    ])
    expect(chat.api.callsOf('sendMessage')[0]?.body.reply_parameters).toMatchObject({ message_id: 7 })
  })
})
