/**
 * Tests rows 20 to 24 of the crash matrix (reliability §4): the object is killed during the delivery of an answer, and
 * its alarm resumes it. The tests check the messages that the platform received. `npm run chaos` kills the same rows
 * from outside.
 */

import { beforeAll, describe, expect, it } from 'vitest'
import { duplicateMark } from '#agent/policy/delivery-attempt.ts'
import { armFailpoints } from '#durable/platform/failpoint.ts'
import {
  settleDeliveries,
  type ChatFixture,
  hasTable,
  getLastRun,
  createChat,
  getSessionId,
  listOutboxStates,
  receiveMessage,
  startAlarm,
} from '../../support/chat.ts'
import { Gate, says, until } from '../../support/scripted-model.ts'
import { applyMigrations } from '../../worker/client.ts'
import { listLines } from '../../worker/listen.ts'
import { alarmOf, inObject, kill } from '../support/object.ts'
import { cameTo, dieAt, disarm, forgetPassages, hangAt, watchFailpoints } from './passing.ts'

beforeAll(applyMigrations)

watchFailpoints()

/** It dies, and nothing but its alarm wakes it. */
async function dieAndGoOn(session: string): Promise<void> {
  disarm()
  await kill(session)
  expect(await alarmOf(session)).not.toBeNull()
  await settleDeliveries(session)
}

const long = (parts: number) => Array.from({ length: parts }, (_, n) => `part ${n + 1} `.repeat(460)).join('\n\n')
const firstWords = ({ api }: ChatFixture) => api.sentTexts.map((text) => text.slice(0, 6))

async function once(reply = 'Hello.') {
  const chat = await createChat([says(reply)])
  return { chat, session: await getSessionId(chat) }
}

describe('a reply', () => {
  it('row 20: prepared, before it is sent: sent once', async () => {
    const { chat, session } = await once()
    hangAt('before-send')
    await receiveMessage(chat, 'hi')
    await cameTo('before-send')
    expect(await listOutboxStates(session)).toEqual(['prepared'])
    expect(chat.api.sentTexts).toEqual([])
    await dieAndGoOn(session)
    expect(chat.api.sentTexts).toEqual(['Hello.'])
    expect(await listOutboxStates(session)).toEqual(['sent'])
  })

  it('row 20: the end of the turn, uncommitted: neither the end nor its way out is there; then both, once', async () => {
    const gate = new Gate()
    const chat = await createChat([says('Hel', gate), says('Hello.')])
    const session = await getSessionId(chat)
    await receiveMessage(chat, 'hi')
    await gate.waitUntilReached()
    expect(await hasTable(session, 'outbox')).toBe(false)
    await kill(session)
    await settleDeliveries(session)
    expect(chat.api.sentTexts).toEqual(['Hello.'])
    expect(await listLines(session)).toEqual(['user: hi', 'assistant: Hello.'])
  })

  it('row 20: the way out cannot be written: neither is the end of the turn; then both are, once', async () => {
    const gate = new Gate()
    const chat = await createChat([says('Hel', gate, 'lo.'), says('Hello.')])
    const session = await getSessionId(chat)
    await receiveMessage(chat, 'hi')
    await gate.waitUntilReached()
    await inObject(session, (_object, { storage }) => void storage.sql.exec('CREATE TABLE outbox (other INTEGER)'))
    const before = await inObject(session, (_object, state) => state)
    gate.open()
    await until(() => inObject(session, (_o, now) => now !== before).catch(() => false))
    expect(await listLines(session)).toEqual(['user: hi'])
    expect(chat.api.sentTexts).toEqual([])
    await inObject(session, (_object, { storage }) => void storage.sql.exec('DROP TABLE outbox'))
    await kill(session)
    await startAlarm(session)
    await chat.api.waitForText('Hello.')
    await settleDeliveries(session)
    expect(chat.api.sentTexts).toEqual(['Hello.'])
    expect(await listLines(session)).toEqual(['user: hi', 'assistant: Hello.'])
  })

  it('row 21: at the platform, before its response: sent again once, marked as a possible duplicate', async () => {
    const { chat, session } = await once()
    const gate = new Gate()
    chat.api.overrideNext('sendMessage', gate)
    await receiveMessage(chat, 'hi')
    await gate.waitUntilReached()
    expect(await listOutboxStates(session)).toEqual(['sending'])
    await dieAndGoOn(session)
    gate.open()
    expect(chat.api.sentTexts).toEqual(['Hello.', `${duplicateMark}Hello.`])
    expect(await listOutboxStates(session)).toEqual(['sent'])
    expect(await getLastRun(session)).not.toHaveProperty('delivery_error')
  })

  it('row 21: twice: it is sent a third time; after the third repetition the run reports the failure', async () => {
    const { chat, session } = await once()
    const gates = [new Gate(), new Gate(), new Gate()] as const
    chat.api.overrideNext('sendMessage', ...gates)
    await receiveMessage(chat, 'hi')
    armFailpoints('')
    for (const gate of gates.slice(0, 2)) {
      await gate.waitUntilReached()
      await kill(session)
      await startAlarm(session)
    }
    await gates[2].waitUntilReached()
    // As if it had been repeated once more; the pauses grow.
    await inObject(session, (_object, { storage: { sql } }) =>
      sql.exec("UPDATE outbox SET body = json_set(body, '$.custody.doubts', 3)"),
    )
    await dieAndGoOn(session)
    for (const gate of gates) gate.open()
    expect(chat.api.sentTexts).toEqual(['Hello.', `${duplicateMark}Hello.`, `${duplicateMark}Hello.`])
    expect(await listOutboxStates(session)).toEqual(['unknown'])
    expect((await getLastRun(session))['delivery_error']).toMatch(/^unknown: .*, 4 times$/)
  })

  it('row 21: dispatched, uncommitted: it has not left', async () => {
    const { chat, session } = await once()
    hangAt('before-send')
    await receiveMessage(chat, 'hi')
    await cameTo('before-send')
    armFailpoints('')
    await kill(session)
    await dieAt(session, 'during-send')
    await startAlarm(session).catch(() => undefined)
    await cameTo('during-send')
    await dieAndGoOn(session)
    expect(await listOutboxStates(session)).toEqual(['sent'])
    // The stand-in lives in the same process and hears even what the gate would hold back; see kill.test.mjs.
    expect(chat.api.sentTexts.at(-1)).toBe('Hello.')
  })

  it('row 22: the response received, nothing saved: as row 21', async () => {
    const { chat, session } = await once()
    hangAt('after-send')
    await receiveMessage(chat, 'hi')
    await cameTo('after-send')
    expect(await listOutboxStates(session)).toEqual(['sending'])
    await dieAndGoOn(session)
    expect(chat.api.sentTexts).toEqual(['Hello.', `${duplicateMark}Hello.`])
  })

  it.each([1, 2, 3])('row 23: of four parts %i are sent: the others follow in order, none again', async (sent) => {
    const { chat, session } = await once(long(4))
    hangAt('before-send', sent + 1)
    await receiveMessage(chat, 'hi')
    await cameTo('before-send')
    expect(chat.api.sentTexts).toHaveLength(sent)
    await dieAndGoOn(session)
    expect(firstWords(chat)).toEqual(['part 1', 'part 2', 'part 3', 'part 4'])
    expect(await listOutboxStates(session)).toEqual(['sent', 'sent', 'sent', 'sent'])
  })

  it('row 23: it dies at every part: four parts, in order', async () => {
    const { chat, session } = await once(long(4))
    hangAt('before-send')
    await receiveMessage(chat, 'hi')
    await cameTo('before-send')
    for (let life = 1; life <= 3; life++) {
      forgetPassages()
      // Each life sends one part and dies before the next.
      armFailpoints(`before-send=hang@2,accepted=hang@${life + 1}`)
      await kill(session)
      await startAlarm(session)
      await cameTo('before-send')
      expect(chat.api.sentTexts).toHaveLength(life)
    }
    await dieAndGoOn(session)
    expect(firstWords(chat)).toEqual(['part 1', 'part 2', 'part 3', 'part 4'])
  })
})

describe('an answer that is seen while it is written', () => {
  it('row 24: the same message goes on, and becomes the answer', async () => {
    const gates = [new Gate(), new Gate()] as const
    const chat = await createChat([says('One ', gates[0], 'two.'), says('One ', gates[1], 'two, all.')], {
      streaming: true,
    })
    const session = await getSessionId(chat)
    await receiveMessage(chat, 'hi')
    await gates[0].waitUntilReached()
    await until(async () => chat.api.messageTexts.length === 1 && (await listOutboxStates(session))[0] === 'sent')
    await kill(session)
    await startAlarm(session)
    await gates[1].waitUntilReached()
    gates[1].open()
    await chat.api.waitForText('One two, all.')
    await settleDeliveries(session)
    expect(chat.api.callsOf('sendMessage')).toHaveLength(1)
    expect(chat.api.messageTexts).toEqual(['One two, all.'])
    expect(new Set(chat.api.callsOf('editMessageText').map(({ body }) => body.message_id)).size).toBe(1)
    expect(await listLines(session)).toEqual(['user: hi', 'assistant: One two, all.'])
  })

  it('row 24: the last edit at the platform, before its response: made again, and nothing is marked', async () => {
    const gate = new Gate()
    const chat = await createChat([says('One ', gate, 'two.')], { streaming: true })
    const session = await getSessionId(chat)
    await receiveMessage(chat, 'hi')
    await gate.waitUntilReached()
    await until(async () => (await listOutboxStates(session))[0] === 'sent')
    const edit = new Gate()
    chat.api.overrideNext('editMessageText', edit)
    gate.open()
    await edit.waitUntilReached()
    await dieAndGoOn(session)
    edit.open()
    expect(chat.api.callsOf('sendMessage')).toHaveLength(1)
    expect(chat.api.messageTexts).toEqual(['One two.'])
  })
})
