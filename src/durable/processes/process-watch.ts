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
export const minNoticeIntervalMs = 15_000
const maxStrikes = 3
const maxHits = 10
const maxLineChars = 500
const maxOpenLineChars = 4_000

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
export type NewOutput = { readonly text: string; readonly next: number; readonly isAll: boolean }

export function scanOutput(watch: Watch, { text, next, isAll }: NewOutput, now: number): Watch {
  if (watch.off) return watch
  const lines = (watch.open + text).split('\n')
  const open = isAll ? '' : (lines.pop() ?? '').slice(-maxOpenLineChars)
  const found = lines.filter((line) => watch.patterns.some((pattern) => line.includes(pattern)))
  const hits = [...watch.hits, ...found.map((line) => line.slice(0, maxLineChars))]
  const most = Math.max(1, (now - watch.lookedAt) / minNoticeIntervalMs)
  const strikes = found.length > most ? watch.strikes + 1 : 0
  return {
    ...watch,
    from: next,
    open,
    lookedAt: now,
    strikes,
    off: strikes >= maxStrikes,
    hits: hits.slice(0, maxHits),
    more: watch.more + Math.max(0, hits.length - maxHits),
  }
}

export const clearHits = (watch: Watch, now: number): Watch => ({ ...watch, hits: [], more: 0, toldAt: now })

/** Messages about what was found, of all processes of a session, and the pause after too many of them. */
export type NoticeRate = { readonly times: readonly number[]; readonly pausedUntil: number }

export const noNotices: NoticeRate = { times: [], pausedUntil: 0 }
const burst = { count: 15, withinMs: 10_000, restMs: 30_000 } as const

export const mayNotify = ({ pausedUntil: restUntil }: NoticeRate, now: number): boolean => now >= restUntil

export function recordNotice({ times, pausedUntil: restUntil }: NoticeRate, now: number): NoticeRate {
  const recent = [...times.filter((at) => at > now - burst.withinMs), now]
  return recent.length < burst.count ? { times: recent, pausedUntil: restUntil } : { times: [], pausedUntil: now + burst.restMs }
}
