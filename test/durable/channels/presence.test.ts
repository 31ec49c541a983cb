/** Tests what a chat is shown while a turn works, and that nothing is shown while the turn waits. */

import { afterEach, beforeAll, expect, it } from 'vitest'
import { replaceClock } from '#durable/platform/clock.ts'
import { createChat, getSessionId, receiveMessage, startAlarm } from '../../support/chat.ts'
import { createSkippingClock } from '../../support/clock.ts'
import {
  createTextParts,
  Gate,
  hangs,
  type ModelRequest,
  type Reply,
  type ReplyPart,
  until,
} from '../../support/scripted-model.ts'
import { applyMigrations } from '../../worker/client.ts'
import { kill } from '../support/object.ts'
import { delegate, goalOf, resultsIn } from '../session/subagents/support.ts'

beforeAll(applyMigrations)
afterEach(() => replaceClock())

const noteMs = 7 * 60_000
/** 80 % of the five seconds for which Telegram shows typing. */
const typingMs = 4_000
/** The pauses between edits of previews and of progress. */
const editsMs = [1_100, 2_200, 3_100]

async function start(replies: (asked: ModelRequest) => Reply, settings: object = {}) {
  const clock = createSkippingClock()
  replaceClock(clock)
  const chat = await createChat(replies, { working_note_minutes: 7, streaming: true, progress: 'all', ...settings })
  const shown = () => {
    const pending = clock.pending()
    return { hasTyping: pending.includes(typingMs), hasNote: pending.includes(noteMs) }
  }
  const isAllStopped = () => clock.pending().every((ms) => ms !== typingMs && ms !== noteMs && !editsMs.includes(ms))
  const runs = () => chat.api.callsOf('sendChatAction').length
  return { clock, chat, shown, isAllStopped, runs }
}

it('stops every display while the turn waits for a subagent, and shows them again when it goes on', async () => {
  const [child, parent] = [new Gate(), new Gate()]
  const { clock, chat, shown, isAllStopped, runs } = await start((asked) => {
    if (goalOf(asked) !== undefined) return hangs(child)
    if (resultsIn(asked)) return hangs(parent)
    const delegating = delegate({ goal: 'count words' }) as readonly ReplyPart[]
    return [...createTextParts('Counting ', 'them first.'), ...delegating]
  })
  await receiveMessage(chat, 'go')
  await child.waitUntilReached()
  await chat.api.waitForText('Counting them first.')
  await until(isAllStopped)
  const before = runs()
  clock.pass(4 * 60_000)
  child.open()
  const session = await getSessionId(chat)
  await until(async () => {
    void startAlarm(session)
    return parent.isReached
  })
  await until(() => shown().hasTyping && shown().hasNote)
  expect(runs()).toBeGreaterThan(before)
  parent.open()
  await chat.api.waitForText('released')
  await until(isAllStopped)
})

it('shows typing again when a crash interrupts a model call', async () => {
  const [first, second] = [new Gate(), new Gate()]
  let calls = 0
  const { chat, shown, runs } = await start(() => hangs(calls++ === 0 ? first : second))
  await receiveMessage(chat, 'go')
  await first.waitUntilReached()
  await until(() => shown().hasTyping)
  const session = await getSessionId(chat)
  await kill(session)
  const before = runs()
  await startAlarm(session)
  await second.waitUntilReached()
  await until(() => runs() > before)
  second.open()
  await chat.api.waitForText('released')
  expect(chat.scripted.requests).toHaveLength(2)
})
