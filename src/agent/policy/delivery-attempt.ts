/**
 * Custody of what is sent to a chat: what is done with a part next, and what an attempt means for it. A part leaves
 * again only when it is known not to have been taken, or when sending it twice changes nothing (`keyed`). Where neither
 * is so, it leaves a second time at most, and says that it may be a duplicate. Nothing old arrives as if it were new.
 */

import type { DeliveryRecord, SendOutcome } from '../model/delivery.ts'

/** After this a reply is not sent any more; one line says so instead. */
export const maxReplyAgeMs = 15 * 60_000
/** For that line, and for what waits for a person. */
export const maxNoticeAgeMs = 24 * 3_600_000
/** Attempts that came to nothing. Age ends most of them before. */
const maxAttempts = { brief: 30, patient: 400 }
const maxPauseMs = 5 * 60_000
const firstPauseMs = 1_000
/** When the platform does not say how long it is busy. */
const defaultBusyMs = 5_000

export type DeliveryOptions = {
  /** Sending it again changes nothing: an edit, or a platform that knows the part by a key. */
  readonly isIdempotent: boolean
  /** May be a day late: a notice about what was missed, a question. */
  readonly isLongLived: boolean
}

export type DeliveryStep =
  | { readonly do: 'wait'; readonly until: number }
  | { readonly do: 'expire' }
  /** `asksFirst`: only once something harmless has got through. */
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

/** For a part that is `prepared`. A clock that went backwards makes nothing older or later than it was meant to be. */
export function nextDeliveryStep(
  custody: DeliveryRecord,
  { isIdempotent: keyed, isLongLived: isPatient }: DeliveryOptions,
  now: number,
): DeliveryStep {
  const { due, preparedAt } = custody
  const longest = isPatient ? maxNoticeAgeMs : maxReplyAgeMs
  if (Math.max(now, due) - preparedAt > longest) return { do: 'expire' }
  if (due > now && due - now <= longest) return { do: 'wait', until: due }
  const isAgain = custody.isDoubtful && !keyed
  return { do: 'send', isMarkedDuplicate: isAgain, needsProbe: isAgain }
}

export const startSending = (custody: DeliveryRecord): DeliveryRecord => ({ ...custody, state: 'sending' })

export const expire = (custody: DeliveryRecord): DeliveryRecord => ({
  ...custody,
  state: 'expired',
  error: 'expired: it was too old',
})

/** It was on its way when the object died. */
export const interrupt = (custody: DeliveryRecord, manner: DeliveryOptions, now: number): DeliveryRecord =>
  markDoubtful(custody, manner, { now, detail: 'the system restarted while it was being sent' })

export function afterAttempt(
  custody: DeliveryRecord,
  outcome: SendOutcome,
  manner: DeliveryOptions,
  now: number,
): DeliveryRecord {
  switch (outcome.of) {
    case 'sent':
      return { ...custody, state: 'sent', ...(outcome.id !== undefined && { platformId: outcome.id }) }
    case 'busy':
      return scheduleRetry(custody, manner, {
        at: now + Math.max(outcome.waitMs ?? defaultBusyMs, 0),
        detail: outcome.detail,
      })
    case 'failed':
      return scheduleRetry(custody, manner, { at: now + pauseAfter(custody.tries), detail: outcome.detail })
    case 'lost':
      return markDoubtful(custody, manner, { now, detail: outcome.detail })
    case 'format':
      return custody.isPlain
        ? { ...custody, state: 'dead', error: `refused: ${outcome.detail}` }
        : scheduleRetry({ ...custody, isPlain: true }, manner, { at: 0, detail: outcome.detail })
    case 'gone':
      return scheduleRetry(custody, manner, { at: 0, detail: outcome.detail })
    case 'refused':
      return { ...custody, state: 'dead', error: outcome.detail }
  }
}

/** What was asked first did not get through: the part itself did not leave. */
export const afterFailedProbe = (
  custody: DeliveryRecord,
  outcome: SendOutcome,
  manner: DeliveryOptions,
  now: number,
): DeliveryRecord =>
  outcome.of === 'lost'
    ? scheduleRetry(custody, manner, { at: now + pauseAfter(custody.tries), detail: outcome.detail })
    : afterAttempt(custody, outcome, manner, now)

function markDoubtful(
  custody: DeliveryRecord,
  manner: DeliveryOptions,
  { now, detail }: { now: number; detail: string },
): DeliveryRecord {
  if (!manner.isIdempotent && custody.isDoubtful)
    return { ...custody, state: 'unknown', error: `unknown: ${detail}, twice` }
  const at = now + pauseAfter(custody.tries)
  return scheduleRetry({ ...custody, isDoubtful: !manner.isIdempotent }, manner, { at, detail })
}

function scheduleRetry(
  custody: DeliveryRecord,
  { isLongLived: isPatient }: DeliveryOptions,
  { at, detail }: { at: number; detail: string },
): DeliveryRecord {
  const tries = custody.tries + 1
  if (tries >= (isPatient ? maxAttempts.patient : maxAttempts.brief))
    return { ...custody, tries, state: 'dead', error: `gave up: ${detail}` }
  return { ...custody, tries, state: 'prepared', due: at }
}

/** 1 s, 2 s, 4 s … at most 5 minutes. */
const pauseAfter = (tries: number): number => Math.min(firstPauseMs * 2 ** tries, maxPauseMs)

const silentAnswers = ['[SILENT]', 'SILENT', 'NO_REPLY', 'NO REPLY']

/** Whether an answer that begins so may turn out to be one of silence. */
export const mayBecomeSilent = (begun: string): boolean => silentAnswers.some((word) => word.startsWith(begun.trim()))

/**
 * What is sent of an answer. Whoever answers what the system told it may keep silent with a word for that; a person who
 * asked hears at least that.
 */
export function renderAnswer(text: string, isAwaited: boolean): string {
  if (!silentAnswers.includes(text.trim())) return text
  return isAwaited ? '(No answer was thought to be needed.)' : ''
}

/** Begins what may be there already. */
export const duplicateMark = '(Sent again after an interruption; this may be a duplicate.)\n\n'

/** In place of replies that became too old. */
export function renderDigest(count: number, lastText: string): string {
  const words = lastText.replace(/\s+/g, ' ').trim()
  const beginning = words.length > 160 ? `${cutAt(words, 160)}…` : words
  const what = count === 1 ? 'A reply could' : `${count} replies could`
  const which = count === 1 ? 'It began' : 'The last one began'
  return `${what} not be delivered here in time. ${which}: “${beginning}” The session has it in full.`
}

/** Never in the middle of a character. */
function cutAt(text: string, length: number): string {
  const isHigh = /[\uD800-\uDBFF]/.test(text[length - 1] ?? '')
  return text.slice(0, isHigh ? length - 1 : length)
}
