/** Passes a message to the open turn: queues it behind the turn, steers or interrupts it, or answers its question. */

import { narrowTurn } from '../../../agent/loop/intake.ts'
import type { Authority } from '../../../agent/model/authority.ts'
import { textIn, type UserMessage } from '../../../agent/model/message.ts'
import type { TurnOptions } from '../../../agent/model/turn-options.ts'
import { defaultSettings } from '../../../agent/model/settings.ts'
import { failpoint } from '../../platform/failpoint.ts'
import { fitsRow } from '../../platform/row-size.ts'
import { deliverAnswer, isQuestion, pendingRequests } from '../../turn/pending-requests.ts'
import type { Session } from '../session.ts'
import type { Submitted } from './intake.ts'

export type BusyMode = 'queue' | 'interrupt' | 'steer'

export type Joining = {
  readonly runId: string
  /** Undefined: the setting `busy_input_mode` decides. */
  readonly mode: BusyMode | undefined
  readonly options: TurnOptions
}

export function joinOpenTurn(session: Session, { runId, mode, options }: Joining, message: UserMessage): Submitted {
  if (!hasRoom(session, message)) return { runId, status: 'too-large' }
  const chosen = mode ?? session.settings.busy_input_mode ?? defaultSettings.busyMode
  if (chosen === 'queue') {
    session.store.addToInbox({ kind: 'queued', runId, message, options })
    return accepted(session, { runId, status: 'queued' })
  }
  // The turn joins all steering messages into one.
  const waiting = session.store.inbox().map((item) => item.message)
  if (!fitsRow([...waiting, message])) return { runId, status: 'too-large' }
  narrowOpenTurn(session, options.authority)
  const question = onlyQuestion(session)
  const isText = message.content.every(({ type }) => type === 'text')
  // A text that arrives while one question is open is its answer.
  if (question && isText) deliverAnswer(session, question, textIn(message), runId)
  else session.store.addToInbox({ kind: 'said', mode: chosen === 'steer' ? 'steer' : 'redirect', runId, message })
  if (chosen === 'interrupt' && session.store.turn().stage.at === 'calling-model') session.driver.abort()
  return accepted(session, { runId: session.store.turn().id, status: 'joined' })
}

/** From here on the turn may do only what everybody may whose message it contains. */
function narrowOpenTurn({ store }: Session, authority: Authority | undefined): void {
  const narrowed = authority && narrowTurn(store.turn(), authority)
  if (!narrowed) return
  store.save(narrowed)
  store.write()
}

function accepted(session: Session, outcome: Submitted): Submitted {
  session.turns.resumeIfUndriven()
  void failpoint('accepted')
  return outcome
}

function onlyQuestion(session: Session) {
  const [question, another] = pendingRequests(session).filter(isQuestion)
  return another ? undefined : question
}

/** Limits of the inbox, because it is loaded into memory as a whole. */
const maxWaitingMessages = 200
const maxWaitingChars = 8_000_000

function hasRoom({ store }: Session, message: UserMessage): boolean {
  const waiting = store.inboxRows()
  const characters = waiting.reduce((sum, { size }) => sum + size, JSON.stringify(message).length)
  return waiting.length < maxWaitingMessages && characters <= maxWaitingChars
}
