/**
 * The crash matrix (reliability §4), rows 20 to 24: the object dies while an answer is on its way into a chat, its alarm
 * takes it up, and what counts is what the platform got. The same rows are killed from outside by `npm run chaos`.
 */

import { beforeAll, describe, expect, it } from 'vitest'
import { duplicateMark } from '../../../src/agent/policy/deliver.ts'
import { armFailpoints } from '../../../src/durable/platform/failpoint.ts'
import {
  allSettled,
  type Chat,
  hasTable,
  lastRun,
  newChat,
  sessionOf,
  statesOf,
  tell,
  wake,
} from '../../support/chat.ts'
import { Gate, says, until } from '../../support/scripted-model.ts'
import { migrated } from '../../worker/client.ts'
import { linesOf } from '../../worker/listen.ts'
import { alarmOf, inObject, kill } from '../support/object.ts'
import { cameTo, dieAt, disarm, forgetPassages, hangAt, watchFailpoints } from './passing.ts'

beforeAll(migrated)

watchFailpoints()

/** It dies, and nothing but its alarm wakes it. */
async function dieAndGoOn(session: string): Promise<void> {
  disarm()
  await kill(session)
  expect(await alarmOf(session)).not.toBeNull()
  await allSettled(session)
}

const long = (parts: number) => Array.from({ length: parts }, (_, n) => `part ${n + 1} `.repeat(460)).join('\n\n')
const firstWords = ({ api }: Chat) => api.sent.map((text) => text.slice(0, 6))

async function once(reply = 'Hello.') {
  const chat = await newChat([says(reply)])
  return { chat, session: await sessionOf(chat) }
}

describe('a reply', () => {
  it('row 20: prepared, before it is sent: sent once', async () => {
    const { chat, session } = await once()
    hangAt('before-send')
    await tell(chat, 'hi')
    await cameTo('before-send')
    expect(await statesOf(session)).toEqual(['prepared'])
    expect(chat.api.sent).toEqual([])
    await dieAndGoOn(session)
    expect(chat.api.sent).toEqual(['Hello.'])
    expect(await statesOf(session)).toEqual(['sent'])
  })

  it('row 20: the end of the turn, uncommitted: neither the end nor its way out is there; then both, once', async () => {
    const gate = new Gate()
    const chat = await newChat([says('Hel', gate), says('Hello.')])
    const session = await sessionOf(chat)
    await tell(chat, 'hi')
    await gate.reached()
    expect(await hasTable(session, 'outbox')).toBe(false)
    await kill(session)
    await allSettled(session)
    expect(chat.api.sent).toEqual(['Hello.'])
    expect(await linesOf(session)).toEqual(['user: hi', 'assistant: Hello.'])
  })

  it('row 20: the way out cannot be written: neither is the end of the turn; then both are, once', async () => {
    const gate = new Gate()
    const chat = await newChat([says('Hel', gate, 'lo.'), says('Hello.')])
    const session = await sessionOf(chat)
    await tell(chat, 'hi')
    await gate.reached()
    await inObject(session, (_object, { storage }) => void storage.sql.exec('CREATE TABLE outbox (other INTEGER)'))
    const before = await inObject(session, (_object, state) => state)
    gate.open()
    await until(() => inObject(session, (_o, now) => now !== before).catch(() => false))
    expect(await linesOf(session)).toEqual(['user: hi'])
    expect(chat.api.sent).toEqual([])
    await inObject(session, (_object, { storage }) => void storage.sql.exec('DROP TABLE outbox'))
    await kill(session)
    await wake(session)
    await chat.api.has('Hello.')
    await allSettled(session)
    expect(chat.api.sent).toEqual(['Hello.'])
    expect(await linesOf(session)).toEqual(['user: hi', 'assistant: Hello.'])
  })

  it('row 21: at the platform, before its response: sent again once, marked as what may be a duplicate', async () => {
    const { chat, session } = await once()
    const gate = new Gate()
    chat.api.next('sendMessage', gate)
    await tell(chat, 'hi')
    await gate.reached()
    expect(await statesOf(session)).toEqual(['sending'])
    await dieAndGoOn(session)
    gate.open()
    expect(chat.api.sent).toEqual(['Hello.', `${duplicateMark}Hello.`])
    expect(await statesOf(session)).toEqual(['sent'])
    expect(await lastRun(session)).not.toHaveProperty('delivery_error')
  })

  it('row 21: twice: it is not sent a third time, and the run says so', async () => {
    const { chat, session } = await once()
    const gates = [new Gate(), new Gate()] as const
    chat.api.next('sendMessage', ...gates)
    await tell(chat, 'hi')
    await gates[0].reached()
    armFailpoints('')
    await kill(session)
    await wake(session)
    await gates[1].reached()
    await dieAndGoOn(session)
    for (const gate of gates) gate.open()
    expect(chat.api.sent).toHaveLength(2)
    expect(await statesOf(session)).toEqual(['unknown'])
    expect((await lastRun(session))['delivery_error']).toMatch(/^unknown: /)
  })

  it('row 21: dispatched, uncommitted: it has not left', async () => {
    const { chat, session } = await once()
    hangAt('before-send')
    await tell(chat, 'hi')
    await cameTo('before-send')
    armFailpoints('')
    await kill(session)
    await dieAt(session, 'during-send')
    await wake(session).catch(() => undefined)
    await cameTo('during-send')
    await dieAndGoOn(session)
    expect(await statesOf(session)).toEqual(['sent'])
    // The stand-in lives in the same process and hears even what the gate would hold back; see kill.test.mjs.
    expect(chat.api.sent.at(-1)).toBe('Hello.')
  })

  it('row 22: the response received, nothing saved: as row 21', async () => {
    const { chat, session } = await once()
    hangAt('after-send')
    await tell(chat, 'hi')
    await cameTo('after-send')
    expect(await statesOf(session)).toEqual(['sending'])
    await dieAndGoOn(session)
    expect(chat.api.sent).toEqual(['Hello.', `${duplicateMark}Hello.`])
  })

  it.each([1, 2, 3])('row 23: of four parts %i are sent: the others follow in order, none again', async (sent) => {
    const { chat, session } = await once(long(4))
    hangAt('before-send', sent + 1)
    await tell(chat, 'hi')
    await cameTo('before-send')
    expect(chat.api.sent).toHaveLength(sent)
    await dieAndGoOn(session)
    expect(firstWords(chat)).toEqual(['part 1', 'part 2', 'part 3', 'part 4'])
    expect(await statesOf(session)).toEqual(['sent', 'sent', 'sent', 'sent'])
  })

  it('row 23: it dies at every part: four parts, in order', async () => {
    const { chat, session } = await once(long(4))
    hangAt('before-send')
    await tell(chat, 'hi')
    await cameTo('before-send')
    for (let life = 1; life <= 3; life++) {
      forgetPassages()
      // Each life sends one part and dies before the next.
      armFailpoints(`before-send=hang@2,accepted=hang@${life + 1}`)
      await kill(session)
      await wake(session)
      await cameTo('before-send')
      expect(chat.api.sent).toHaveLength(life)
    }
    await dieAndGoOn(session)
    expect(firstWords(chat)).toEqual(['part 1', 'part 2', 'part 3', 'part 4'])
  })
})

describe('an answer that is seen while it is written', () => {
  it('row 24: the same message goes on, and becomes the answer', async () => {
    const gates = [new Gate(), new Gate()] as const
    const chat = await newChat([says('One ', gates[0], 'two.'), says('One ', gates[1], 'two, all.')], {
      streaming: true,
    })
    const session = await sessionOf(chat)
    await tell(chat, 'hi')
    await gates[0].reached()
    await until(async () => chat.api.shown.length === 1 && (await statesOf(session))[0] === 'sent')
    await kill(session)
    await wake(session)
    await gates[1].reached()
    gates[1].open()
    await chat.api.has('One two, all.')
    await allSettled(session)
    expect(chat.api.of('sendMessage')).toHaveLength(1)
    expect(chat.api.shown).toEqual(['One two, all.'])
    expect(new Set(chat.api.of('editMessageText').map(({ body }) => body.message_id)).size).toBe(1)
    expect(await linesOf(session)).toEqual(['user: hi', 'assistant: One two, all.'])
  })

  it('row 24: the last edit at the platform, before its response: made again, and nothing is marked', async () => {
    const gate = new Gate()
    const chat = await newChat([says('One ', gate, 'two.')], { streaming: true })
    const session = await sessionOf(chat)
    await tell(chat, 'hi')
    await gate.reached()
    await until(async () => (await statesOf(session))[0] === 'sent')
    const edit = new Gate()
    chat.api.next('editMessageText', edit)
    gate.open()
    await edit.reached()
    await dieAndGoOn(session)
    edit.open()
    expect(chat.api.of('sendMessage')).toHaveLength(1)
    expect(chat.api.shown).toEqual(['One two.'])
  })
})
