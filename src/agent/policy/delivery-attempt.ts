/**
 * Custody of what is sent to a chat: what is done with a part next, and what an attempt means for it. A part leaves
 * again only when it is known not to have been taken, or when sending it twice changes nothing (`keyed`). Where neither
 * is so, it leaves a second time at most, and says that it may be a duplicate. Nothing old arrives as if it were new.
 */

import type { Custody, Outcome } from '../model/delivery.ts'

/** After this a reply is not sent any more; one line says so instead. */
export const freshMs = 15 * 60_000
/** For that line, and for what waits for a person. */
export const patientMs = 24 * 3_600_000
/** Attempts that came to nothing. Age ends most of them before. */
const mostTries = { brief: 30, patient: 400 }
const longestPauseMs = 5 * 60_000
const firstPauseMs = 1_000
/** When the platform does not say how long it is busy. */
const busyMs = 5_000

export type Manner = {
  /** Sending it again changes nothing: an edit, or a platform that knows the part by a key. */
  readonly keyed: boolean
  /** May be a day late: a notice about what was missed, a question. */
  readonly isPatient: boolean
}

export type Step =
  | { readonly do: 'wait'; readonly until: number }
  | { readonly do: 'expire' }
  /** `asksFirst`: only once something harmless has got through. */
  | { readonly do: 'send'; readonly isMarked: boolean; readonly asksFirst: boolean }

export const prepared = (now: number): Custody => ({
  state: 'prepared',
  preparedAt: now,
  due: 0,
  tries: 0,
  isDoubtful: false,
  isPlain: false,
})

export const isOpen = ({ state }: Custody): boolean => state === 'prepared' || state === 'sending'

/** For a part that is `prepared`. A clock that went backwards makes nothing older or later than it was meant to be. */
export function nextStep(custody: Custody, { keyed, isPatient }: Manner, now: number): Step {
  const { due, preparedAt } = custody
  const longest = isPatient ? patientMs : freshMs
  if (Math.max(now, due) - preparedAt > longest) return { do: 'expire' }
  if (due > now && due - now <= longest) return { do: 'wait', until: due }
  const isAgain = custody.isDoubtful && !keyed
  return { do: 'send', isMarked: isAgain, asksFirst: isAgain }
}

export const sending = (custody: Custody): Custody => ({ ...custody, state: 'sending' })

export const expired = (custody: Custody): Custody => ({
  ...custody,
  state: 'expired',
  error: 'expired: it was too old',
})

/** It was on its way when the object died. */
export const interrupted = (custody: Custody, manner: Manner, now: number): Custody =>
  inDoubt(custody, manner, { now, detail: 'the system restarted while it was being sent' })

export function afterAttempt(custody: Custody, outcome: Outcome, manner: Manner, now: number): Custody {
  switch (outcome.of) {
    case 'sent':
      return { ...custody, state: 'sent', ...(outcome.id !== undefined && { platformId: outcome.id }) }
    case 'busy':
      return later(custody, manner, { at: now + Math.max(outcome.waitMs ?? busyMs, 0), detail: outcome.detail })
    case 'failed':
      return later(custody, manner, { at: now + pauseAfter(custody.tries), detail: outcome.detail })
    case 'lost':
      return inDoubt(custody, manner, { now, detail: outcome.detail })
    case 'format':
      return custody.isPlain
        ? { ...custody, state: 'dead', error: `refused: ${outcome.detail}` }
        : later({ ...custody, isPlain: true }, manner, { at: 0, detail: outcome.detail })
    case 'gone':
      return later(custody, manner, { at: 0, detail: outcome.detail })
    case 'refused':
      return { ...custody, state: 'dead', error: outcome.detail }
  }
}

/** What was asked first did not get through: the part itself did not leave. */
export const notReached = (custody: Custody, outcome: Outcome, manner: Manner, now: number): Custody =>
  outcome.of === 'lost'
    ? later(custody, manner, { at: now + pauseAfter(custody.tries), detail: outcome.detail })
    : afterAttempt(custody, outcome, manner, now)

function inDoubt(custody: Custody, manner: Manner, { now, detail }: { now: number; detail: string }): Custody {
  if (!manner.keyed && custody.isDoubtful) return { ...custody, state: 'unknown', error: `unknown: ${detail}, twice` }
  const at = now + pauseAfter(custody.tries)
  return later({ ...custody, isDoubtful: !manner.keyed }, manner, { at, detail })
}

function later(custody: Custody, { isPatient }: Manner, { at, detail }: { at: number; detail: string }): Custody {
  const tries = custody.tries + 1
  if (tries >= (isPatient ? mostTries.patient : mostTries.brief))
    return { ...custody, tries, state: 'dead', error: `gave up: ${detail}` }
  return { ...custody, tries, state: 'prepared', due: at }
}

/** 1 s, 2 s, 4 s … at most 5 minutes. */
const pauseAfter = (tries: number): number => Math.min(firstPauseMs * 2 ** tries, longestPauseMs)

const silences = ['[SILENT]', 'SILENT', 'NO_REPLY', 'NO REPLY']

/** Whether an answer that begins so may turn out to be one of silence. */
export const mayBeSilence = (begun: string): boolean => silences.some((word) => word.startsWith(begun.trim()))

/**
 * What is sent of an answer. Whoever answers what the system told it may keep silent with a word for that; a person who
 * asked hears at least that.
 */
export function spokenOf(text: string, isAwaited: boolean): string {
  if (!silences.includes(text.trim())) return text
  return isAwaited ? '(No answer was thought to be needed.)' : ''
}

/** Begins what may be there already. */
export const duplicateMark = '(Sent again after an interruption; this may be a duplicate.)\n\n'

/** In place of replies that became too old. */
export function digestOf(count: number, lastText: string): string {
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
