/**
 * Looks for texts in what a process prints. Pure. A process that says them all the time would open a turn each time:
 * what comes too often is gathered, and watching is given up when it stays so.
 */

export type Watch = {
  readonly patterns: readonly string[]
  /** Bytes of output that were looked at. */
  readonly from: number
  /** A line whose end was not printed yet. */
  readonly open: string
  readonly lookedAt: number
  /** Looks in a row that found more than may be told. */
  readonly strikes: number
  readonly off: boolean
  /** When something found was told last. */
  readonly toldAt: number
  /** Lines that are to be told. */
  readonly hits: readonly string[]
  readonly more: number
}

/** Between two messages about one process. */
export const leastBetweenMs = 15_000
const strikesAllowed = 3
const hitsKept = 10
const lineLength = 500
const openLength = 4_000

export const newWatch = (patterns: readonly string[], now: number): Watch => ({
  patterns,
  from: 0,
  open: '',
  lookedAt: now,
  strikes: 0,
  off: patterns.length === 0,
  toldAt: 0,
  hits: [],
  more: 0,
})

/** `isAll`: nothing comes after this; a last line without an end counts as one. */
export type Printed = { readonly text: string; readonly next: number; readonly isAll: boolean }

export function watched(watch: Watch, { text, next, isAll }: Printed, now: number): Watch {
  if (watch.off) return watch
  const lines = (watch.open + text).split('\n')
  const open = isAll ? '' : (lines.pop() ?? '').slice(-openLength)
  const found = lines.filter((line) => watch.patterns.some((pattern) => line.includes(pattern)))
  const hits = [...watch.hits, ...found.map((line) => line.slice(0, lineLength))]
  const most = Math.max(1, (now - watch.lookedAt) / leastBetweenMs)
  const strikes = found.length > most ? watch.strikes + 1 : 0
  return {
    ...watch,
    from: next,
    open,
    lookedAt: now,
    strikes,
    off: strikes >= strikesAllowed,
    hits: hits.slice(0, hitsKept),
    more: watch.more + Math.max(0, hits.length - hitsKept),
  }
}

export const taken = (watch: Watch, now: number): Watch => ({ ...watch, hits: [], more: 0, toldAt: now })

/** Messages about what was found, of all processes of a session, and the pause after too many of them. */
export type Flow = { readonly times: readonly number[]; readonly restUntil: number }

export const quiet: Flow = { times: [], restUntil: 0 }
const burst = { count: 15, withinMs: 10_000, restMs: 30_000 } as const

export const mayFlow = ({ restUntil }: Flow, now: number): boolean => now >= restUntil

export function flowed({ times, restUntil }: Flow, now: number): Flow {
  const recent = [...times.filter((at) => at > now - burst.withinMs), now]
  return recent.length < burst.count ? { times: recent, restUntil } : { times: [], restUntil: now + burst.restMs }
}
