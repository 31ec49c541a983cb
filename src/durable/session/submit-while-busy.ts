/** What becomes of words that are said while a turn is open. */

import { textIn, type UserMessage } from '../../agent/model/message.ts'
import type { TurnOptions } from '../../agent/model/options.ts'
import { defaults } from '../../agent/model/settings.ts'
import { failpoint } from '../platform/failpoint.ts'
import { deliverAnswer, isQuestion, waitingItems } from '../turn/pending-requests.ts'
import { fitRow } from '../platform/row-size.ts'
import type { Session } from './session.ts'
import type { Accepted } from './read-session.ts'

export type Words = {
  readonly runId: string
  readonly mode?: 'queue' | 'interrupt' | 'steer' | undefined
  readonly options: TurnOptions
}

export function hearWhileBusy(core: Session, { runId, mode: asked, options }: Words, message: UserMessage): Accepted {
  if (!hasRoom(core, message)) return { runId, status: 'too-large' }
  const mode = asked ?? core.settings.busy_input_mode ?? defaults.busyMode
  if (mode === 'queue') {
    core.store.say({ kind: 'queued', runId, message, options })
    core.takeUp()
    void failpoint('accepted')
    return { runId, status: 'queued' }
  }
  // What waits is taken in as one message.
  if (!fitRow([...core.store.inbox().map((said) => said.message), message])) return { runId, status: 'too-large' }
  const [question, another] = waitingItems(core).filter(isQuestion)
  const isText = message.content.every(({ type }) => type === 'text')
  // Whoever is asked and speaks has answered.
  if (question && !another && isText) deliverAnswer(core, question, textIn(message), runId)
  else core.store.say({ kind: 'said', mode: mode === 'steer' ? 'steer' : 'redirect', runId, message })
  if (mode === 'interrupt' && core.store.turn().stage.at === 'calling-model') core.driver.abort()
  core.takeUp()
  void failpoint('accepted')
  return { runId: core.store.turn().id, status: 'joined' }
}

/** Messages that wait in one session, and their characters: all of them are in memory, and are again whenever it wakes. */
const mostWaiting = 200
const mostCharacters = 8_000_000

function hasRoom({ store }: Session, message: UserMessage): boolean {
  const waiting = store.waiting()
  const characters = waiting.reduce((sum, { size }) => sum + size, JSON.stringify(message).length)
  return waiting.length < mostWaiting && characters <= mostCharacters
}
