/** Passes a message to the open turn: queues it behind the turn, steers or interrupts it, or answers what it waits for. */

import { narrowTurn } from '#agent/loop/turn-changes.ts'
import type { Authority } from '#agent/core/permission/authority.ts'
import { textIn, type UserMessage } from '#agent/core/message.ts'
import { callerCalls } from '#agent/core/turn.ts'
import type { TurnOptions } from '#agent/core/turn-options.ts'
import { defaultSettings } from '#agent/core/settings.ts'
import { failpoint } from '#durable/platform/failpoint.ts'
import { fitsRow } from '#durable/platform/row-size.ts'
import type { Session } from '../session.ts'
import { type Answers, answerWaiting } from './answer-waiting.ts'
import type { BusyMode, Submitted } from './intake.ts'

export type Joining = {
  readonly runId: string
  /** Undefined: the setting `busy_input_mode` decides. */
  readonly mode: BusyMode | undefined
  readonly options: TurnOptions
  /** The pending requests that the request answers besides its message. */
  readonly answers?: Answers
  /** So many messages may wait. Undefined: as many as the inbox keeps. */
  readonly maxWaiting?: number | undefined
}

/** Without a message the request only answers what the turn waits for. */
export function joinOpenTurn(session: Session, joining: Joining, message: UserMessage | undefined): Submitted {
  const { store } = session
  const { runId, options, answers = {}, maxWaiting } = joining
  const { mode, isForced } = chooseMode(session, joining)
  if (message && !canAccept(session, { message, mode, maxWaiting })) return { runId, status: 'too-large' }
  const isAnswer = callerCalls(store.turn().stage).length > 0 && !(isForced && mode === 'queue')
  const answered = isAnswer && answerWaiting(session, { ...answers, runId, mode, options, message })
  return accepted(session, answered || addToOpenTurn(session, { runId, options, mode }, message))
}

/** A request that reads the run by its parts has no mode of its own for a turn that waits for it. */
function chooseMode({ store, settings }: Session, { mode: asked, answers }: Joining) {
  const isCaller = answers?.isCaller === true && callerCalls(store.turn().stage).length > 0
  const mode = (isCaller ? undefined : asked) ?? settings.busy_input_mode ?? defaultSettings.busyMode
  return { mode, isForced: !isCaller && asked !== undefined }
}

function addToOpenTurn(
  session: Session,
  { runId, options, mode }: Pick<Joining, 'runId' | 'options'> & { readonly mode: BusyMode },
  message: UserMessage | undefined,
): Submitted {
  const { store } = session
  const joined = { runId: store.turn().id, status: 'joined' } as const
  if (!message) return joined
  if (mode === 'queue') {
    store.addToInbox({ kind: 'queued', runId, message, options })
    store.addEvent({ type: 'run.queued', run_id: runId, input: textIn(message).slice(0, maxInputChars) })
    store.write()
    return { runId, status: 'queued' }
  }
  narrowOpenTurn(session, options.authority)
  store.addToInbox({ kind: 'said', mode: mode === 'steer' ? 'steer' : 'redirect', runId, message })
  if (mode === 'interrupt' && store.turn().stage.at === 'calling-model') session.driver.abort()
  return joined
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

/** The event has the beginning of the message. */
const maxInputChars = 2_000

/** Limits of the inbox, because it is loaded into memory as a whole. */
const maxWaitingMessages = 200
const maxWaitingChars = 8_000_000

/** The turn joins all steering messages into one. */
function canAccept(
  session: Session,
  { message, mode, maxWaiting }: { message: UserMessage; mode: BusyMode; maxWaiting: number | undefined },
): boolean {
  const waiting = session.store.inbox().map((item) => item.message)
  return hasRoom(session, message, maxWaiting) && (mode === 'queue' || fitsRow([...waiting, message]))
}

function hasRoom({ store }: Session, message: UserMessage, maxMessages = maxWaitingMessages): boolean {
  const waiting = store.inboxRows()
  const characters = waiting.reduce((sum, { size }) => sum + size, JSON.stringify(message).length)
  return waiting.length < maxMessages && characters <= maxWaitingChars
}
