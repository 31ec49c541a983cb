/**
 * Searches the output of a process for watched texts. Each notice starts a turn, so their rate is limited: hits are
 * collected, and watching stops when there are too many. Pure.
 */

export type Watch = {
  readonly patterns: readonly string[]
  /** Bytes of output that were scanned. */
  readonly from: number
  /** The last line, which has no line end yet. */
  readonly open: string
  readonly lookedAt: number
  /** Consecutive scans with more hits than may be reported. */
  readonly strikes: number
  readonly off: boolean
  /** Time of the last notice about hits. */
  readonly toldAt: number
  /** Lines to report. */
  readonly hits: readonly string[]
  readonly more: number
}

/** Minimum time between two notices about one process. */
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

/** `isAll`: the output is complete, so a last line without a line end counts. */
export type NewOutput = { readonly text: string; readonly next: number; readonly isAll: boolean }

export function scanOutput(watch: Watch, { text, next, isAll }: NewOutput, now: number): Watch {
  if (watch.off) return watch
  const lines = (watch.open + text).split('\n')
  const open = isAll ? '' : (lines.pop() ?? '').slice(-maxOpenLineChars)
  const found = lines.filter((line) => watch.patterns.some((pattern) => line.includes(pattern)))
  const hits = [...watch.hits, ...found.map((line) => line.slice(0, maxLineChars))]
  const maxReported = Math.max(1, (now - watch.lookedAt) / minNoticeIntervalMs)
  const strikes = found.length > maxReported ? watch.strikes + 1 : 0
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

/** Times of recent notices of all processes of a session, and the pause after too many. */
export type NoticeRate = { readonly times: readonly number[]; readonly pausedUntil: number }

export const noNotices: NoticeRate = { times: [], pausedUntil: 0 }
const burst = { count: 15, withinMs: 10_000, pauseMs: 30_000 } as const

export const mayNotify = ({ pausedUntil }: NoticeRate, now: number): boolean => now >= pausedUntil

export function recordNotice({ times, pausedUntil }: NoticeRate, now: number): NoticeRate {
  const recent = [...times.filter((at) => at > now - burst.withinMs), now]
  return recent.length < burst.count ? { times: recent, pausedUntil } : { times: [], pausedUntil: now + burst.pauseMs }
}
