/**
 * Decides about the heartbeat and the loop of a session: prompts that come again while the session is idle. Both are
 * plain JSON in the metadata of the session.
 */

import type { Authority } from '#agent/core/permission/authority.ts'
import { combineAuthorities, type TurnAuthority } from '#agent/core/permission/contribution.ts'
import { parseDuration } from './duration.ts'

type Recurring = {
  readonly prompt: string
  readonly state: { readonly at: 'active' } | { readonly at: 'paused' | 'done'; readonly reason: string }
  /** When the prompt is due, in milliseconds since 1970. */
  readonly nextAt: number
  /** How often it was sent. */
  readonly ticks: number
  /** The run of the last tick, until its end is read. */
  readonly openRun?: string | undefined
  /** Runs in a row that failed. */
  readonly failures: number
  readonly authority: TurnAuthority
}

/** Comes at a fixed interval, for as long as the session exists. */
export type Heartbeat = Recurring & {
  readonly everyMs: number
  /** The prompt is the file HEARTBEAT.md of the workspace. */
  readonly isOfFile?: true
}
/** Comes until its work is done. Without `everyMs` the model chooses the pause. */
export type Loop = Recurring & { readonly everyMs?: number | undefined }

export const minHeartbeatMs = 60_000
export const maxPauseMs = 30 * 86_400_000
export const minLoopMs = 30_000
export const maxLoopTicks = 100
export const maxPromptChars = 8_000
/** The pause of a loop that the model paces. */
const pace = { minMs: 60_000, maxMs: 900_000, defaultMs: 300_000 } as const
export const maxLoopPauseMs = pace.maxMs
const maxFailures = 3

type RecurringStart = { readonly prompt: string; readonly authority: Authority; readonly now: number }

const newRecurring = ({ prompt, authority }: RecurringStart, nextAt: number) =>
  ({
    prompt,
    authority: combineAuthorities([authority]),
    nextAt,
    state: { at: 'active' },
    ticks: 0,
    failures: 0,
  }) as const

export const createHeartbeat = (start: RecurringStart, everyMs: number): Heartbeat => ({
  ...newRecurring(start, start.now + everyMs),
  everyMs,
})

export const heartbeatFile = 'HEARTBEAT.md'

/** Works on a file that people and the agent change. */
export const createFileHeartbeat = (start: Omit<RecurringStart, 'prompt'>, everyMs: number): Heartbeat => ({
  ...createHeartbeat({ ...start, prompt: `Do what ${heartbeatFile} of the workspace asks for now.` }, everyMs),
  isOfFile: true,
})

/** Whether the file asks for anything: headings, blank lines and comments do not. */
export const hasTasks = (text: string): boolean =>
  text
    .replace(/<!--[^]*?(?:-->|$)/g, '')
    .split('\n')
    .some((line) => line.trim() !== '' && !/^\s*(?:#|[-*]\s*(?:\[ ?\]\s*)?$)/.test(line))

/** The first tick of a loop comes at once. */
export const createLoop = (start: RecurringStart, everyMs: number | undefined): Loop => ({
  ...newRecurring(start, start.now),
  ...(everyMs !== undefined && { everyMs }),
})

export const pause = <T extends Recurring>(one: T, reason: string): T => ({
  ...one,
  state: { at: 'paused', reason },
  openRun: undefined,
})

/** Goes on after its pause, for the one who resumes it and with what its author may do too. Times that passed meanwhile do not count. */
export const resume = (one: Heartbeat | Loop, by: Authority, now: number) => ({
  ...one,
  state: { at: 'active' } as const,
  authority: combineAuthorities([by, one.authority]),
  failures: 0,
  nextAt: now + (one.everyMs ?? 0),
})

/** When the session has to look at it next; undefined while it rests. The end of a tick is read at once. */
export function recurringWake({ state, nextAt, openRun }: Recurring, now: number): number | undefined {
  if (state.at !== 'active') return undefined
  return openRun === undefined ? nextAt : now
}

/** A tick begins. Times that were missed while the session was busy are this one tick. */
export const beginTick = <T extends Recurring>(one: T, run: string, nextAt: number): T => ({
  ...one,
  ticks: one.ticks + 1,
  openRun: run,
  nextAt,
})

/** How the run of a tick has ended. */
export type TickEnd = {
  readonly outcome: 'answered' | 'stopped' | 'failed'
  readonly answer: string
  readonly at: number
}

export function endHeartbeatTick(heartbeat: Heartbeat, end: TickEnd): Heartbeat {
  return countFailure({ ...heartbeat, openRun: undefined }, end) ?? { ...heartbeat, openRun: undefined, failures: 0 }
}

export function endLoopTick(held: Loop, end: TickEnd): Loop {
  const loop = { ...held, openRun: undefined }
  const failed = countFailure(loop, end)
  if (failed) return { ...failed, nextAt: end.at + (loop.everyMs ?? pace.defaultMs) }
  if (isDone(end.answer)) return { ...loop, state: { at: 'done', reason: 'The model said that it is done.' } }
  if (loop.ticks >= maxLoopTicks)
    return { ...loop, state: { at: 'done', reason: `It has come ${maxLoopTicks} times.` } }
  return { ...loop, failures: 0, nextAt: end.at + (loop.everyMs ?? parsePause(end.answer)) }
}

/** A person who stops a tick stops what comes again. Undefined when the tick has not failed. */
function countFailure<T extends Recurring>(one: T, { outcome }: TickEnd): T | undefined {
  if (outcome === 'stopped') return pause(one, 'A turn of it was stopped.')
  if (outcome !== 'failed') return undefined
  const failures = one.failures + 1
  return failures >= maxFailures
    ? pause({ ...one, failures }, `${maxFailures} turns in a row failed.`)
    : { ...one, failures }
}

const doneMark = '[DONE]'

const parseEdges = (answer: string): readonly string[] => {
  const lines = answer.trim().split('\n')
  return [lines[0] ?? '', lines.at(-1) ?? ''].map((line) => line.trim())
}

const isDone = (answer: string): boolean => parseEdges(answer).includes(doneMark)

/** The last line `[NEXT 5m]` chooses the pause within its bounds. */
function parsePause(answer: string): number {
  const [, duration] = /^\[NEXT ([^\]]{1,20})\]$/i.exec(parseEdges(answer)[1] ?? '') ?? []
  const asked = duration === undefined ? undefined : parseDuration(duration)
  return Math.min(pace.maxMs, Math.max(pace.minMs, asked ?? pace.defaultMs))
}

const quietly = 'If nothing needs attention, answer exactly [SILENT].'

export const renderHeartbeat = ({ prompt }: Heartbeat): string => `[Heartbeat]\n\n${prompt}\n\n${quietly}`

export function renderLoop({ prompt, ticks, everyMs }: Loop): string {
  const pacing =
    everyMs === undefined ? ' A last line [NEXT 5m] chooses the pause before the next time, from 1m to 15m.' : ''
  return `[Loop, time ${ticks + 1} of at most ${maxLoopTicks}]\n\n${prompt}\n\n${quietly} When the work is finished, make ${doneMark} the last line.${pacing}`
}
