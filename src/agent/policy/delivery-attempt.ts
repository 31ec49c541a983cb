/**
 * Decides how a message part is delivered to a chat: the next step, and the state after an attempt. A part is sent again
 * when the platform rejected it, or when a repetition changes nothing. Otherwise it is repeated up to three times, marked
 * as a possible duplicate (ADR 0034). Parts that are too old expire.
 */

import type { DeliveryRecord, SendOutcome } from '#agent/core/delivery.ts'

/** A part is kept and sent again for a day, so that a platform that is down or busy loses nothing. Then it expires. */
export const maxAgeMs = 24 * 3_600_000
/** A preview shows what the agent does at the moment. The answer itself is another part. */
export const maxPreviewAgeMs = 15 * 60_000
/** Failed attempts. With growing pauses a part expires before. */
const maxAttempts = 400
/** Marked repetitions of a part that may have arrived. */
const maxRepeats = 3
const maxPauseMs = 5 * 60_000
const firstPauseMs = 1_000

export type DeliveryOptions = {
  /** A repetition changes nothing: an edit, or a platform with idempotency keys. */
  readonly isIdempotent: boolean
  /** The platform accepts each form of the part once, the marked one too: however often it is sent, at most both arrive. */
  readonly isOnceEach?: boolean
  /** Written in the name of a person, who can look whether it has arrived: it is never repeated. */
  readonly isNeverRepeated?: boolean
  /** The beginning of an answer, the progress of its turn, or a note that it still runs. */
  readonly isPreview: boolean
}

export type DeliveryStep =
  | { readonly do: 'wait'; readonly until: number }
  | { readonly do: 'expire' }
  /** `needsProbe`: a harmless request must succeed first. */
  | { readonly do: 'send'; readonly isMarkedDuplicate: boolean; readonly needsProbe: boolean }

export const createDelivery = (now: number): DeliveryRecord => ({
  state: 'prepared',
  preparedAt: now,
  due: 0,
  tries: 0,
  isDoubtful: false,
  isPlain: false,
})

export const isOpen = ({ state }: DeliveryRecord): boolean => state === 'prepared' || state === 'sending'

/** Decides the next step of a `prepared` part. A clock that went backwards neither ages nor delays a part. */
export function nextDeliveryStep(
  record: DeliveryRecord,
  { isIdempotent, isPreview }: DeliveryOptions,
  now: number,
): DeliveryStep {
  const { due, preparedAt } = record
  const maxMs = isPreview ? maxPreviewAgeMs : maxAgeMs
  if (Math.max(now, due) - preparedAt > maxMs) return { do: 'expire' }
  if (due > now && due - now <= maxMs) return { do: 'wait', until: due }
  const mayBeDuplicate = record.isDoubtful && !isIdempotent
  return { do: 'send', isMarkedDuplicate: mayBeDuplicate, needsProbe: mayBeDuplicate }
}

export const startSending = (record: DeliveryRecord): DeliveryRecord => ({ ...record, state: 'sending' })

export const expire = (record: DeliveryRecord): DeliveryRecord => ({
  ...record,
  state: 'expired',
  error: 'expired: it was too old',
})

/** Returns the state of a part that was being sent when the object stopped. */
export const interrupt = (record: DeliveryRecord, options: DeliveryOptions, now: number): DeliveryRecord =>
  markDoubtful(record, options, { now, detail: 'the system restarted while it was being sent' })

export function afterAttempt(
  record: DeliveryRecord,
  outcome: SendOutcome,
  options: DeliveryOptions,
  now: number,
): DeliveryRecord {
  switch (outcome.kind) {
    case 'sent':
      return { ...record, state: 'sent', ...(outcome.id !== undefined && { platformId: outcome.id }) }
    case 'retry':
      return scheduleRetry(record, { at: now + pauseOf(record, outcome.waitMs), detail: outcome.detail })
    case 'ambiguous':
      return markDoubtful(record, options, { now, detail: outcome.detail })
    case 'format':
      if (record.isPlain) return { ...record, state: 'dead', error: `refused: ${outcome.detail}` }
      return scheduleRetry({ ...record, isPlain: true }, { at: 0, detail: outcome.detail })
    case 'gone':
    case 'moved':
      return scheduleRetry(record, { at: 0, detail: outcome.detail })
    default:
      return { ...record, state: 'dead', error: describeRefusal(outcome) }
  }
}

type SendRefusal = Extract<SendOutcome, { kind: 'window' | 'too_long' | 'forbidden' | 'fatal' }>

const describeRefusal = ({ kind, detail }: SendRefusal): string => (kind === 'window' ? `window: ${detail}` : detail)

/** The named pause. A platform that refuses again and again gets longer ones, so that the attempts last a day. */
const pauseOf = ({ tries }: DeliveryRecord, waitMs: number | undefined): number =>
  waitMs === undefined ? pauseAfter(tries) : Math.max(waitMs, pauseAfter(tries - 3))

/** Whether the outcome holds for every message to the chat. */
export const endsChat = ({ kind }: SendOutcome): boolean => kind === 'forbidden' || kind === 'window'

/** Whether the platform refused this message for its content: the chat accepts another one. */
export const refusesContent = ({ kind }: SendOutcome): boolean =>
  kind === 'too_long' || kind === 'format' || kind === 'fatal'

/** Returns the state after a failed probe: the part itself was not sent. */
export const afterFailedProbe = (
  record: DeliveryRecord,
  outcome: SendOutcome,
  options: DeliveryOptions,
  now: number,
): DeliveryRecord =>
  outcome.kind === 'ambiguous'
    ? scheduleRetry(record, { at: now + pauseAfter(record.tries), detail: outcome.detail })
    : afterAttempt(record, outcome, options, now)

function markDoubtful(
  record: DeliveryRecord,
  options: DeliveryOptions,
  { now, detail }: { now: number; detail: string },
): DeliveryRecord {
  const at = now + pauseAfter(record.tries)
  if (options.isIdempotent) return scheduleRetry({ ...record, isDoubtful: false }, { at, detail })
  // A row of an earlier release does not count them.
  const doubts = (record.doubts ?? Number(record.isDoubtful)) + 1
  if (options.isNeverRepeated || (doubts > maxRepeats && !options.isOnceEach))
    return { ...record, state: 'unknown', error: `unknown: ${detail}, ${doubts} times` }
  return scheduleRetry({ ...record, isDoubtful: true, doubts }, { at, detail })
}

function scheduleRetry(record: DeliveryRecord, { at, detail }: { at: number; detail: string }): DeliveryRecord {
  const tries = record.tries + 1
  if (tries >= maxAttempts) return { ...record, tries, state: 'dead', error: `gave up: ${detail}` }
  return { ...record, tries, state: 'prepared', due: at }
}

/** Returns a pause of 1 s, 2 s, 4 s … at most 5 minutes. */
const pauseAfter = (tries: number): number => Math.min(firstPauseMs * 2 ** tries, maxPauseMs)

/** Describes in one line which parts of a text did not arrive, and why. Undefined: none is known to have failed. */
export function describeFailures(parts: readonly DeliveryRecord[]): string | undefined {
  const [failed, ...more] = parts.filter(({ state }) => ['unknown', 'expired', 'dead'].includes(state))
  if (!failed) return undefined
  const which = parts.length > 1 ? ` (${more.length + 1} of ${parts.length} parts)` : ''
  return `${failed.error ?? failed.state}${which}`
}

const silentAnswers = ['[SILENT]', 'SILENT', 'NO_REPLY', 'NO REPLY']

/** Checks whether a streamed beginning may become an answer that is not sent. */
export const mayBecomeSilent = (beginning: string): boolean =>
  silentAnswers.some((word) => word.startsWith(beginning.trim()))

/**
 * Renders an answer for a chat. The model may answer an event of the system with a marker for silence, which is not sent.
 * A person who asked gets a short text instead.
 */
export function renderAnswer(text: string, isAwaited: boolean): string {
  if (!silentAnswers.includes(text.trim())) return text
  return isAwaited ? '(The agent decided not to answer.)' : ''
}

/** Precedes a part that may have arrived already. */
export const duplicateMark = '(Sent again after an interruption; this may be a duplicate.)\n\n'

/** Renders the notice that replaces expired replies. */
export function renderDigest(count: number, lastText: string): string {
  const text = lastText.replace(/\s+/g, ' ').trim()
  const beginning = text.length > 160 ? `${truncate(text, 160)}…` : text
  const subject = count === 1 ? 'A reply could' : `${count} replies could`
  const intro = count === 1 ? 'It began' : 'The last one began'
  return `${subject} not be delivered here in time. ${intro}: “${beginning}” The session has it in full.`
}

/** Truncates a text without splitting a character. */
function truncate(text: string, length: number): string {
  const isHigh = /[\uD800-\uDBFF]/.test(text[length - 1] ?? '')
  return text.slice(0, isHigh ? length - 1 : length)
}
