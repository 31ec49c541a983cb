/** What arrived and when, in milliseconds of the machine's monotonic clock: comparable between processes. */

import process from 'node:process'

export const now = (): number => Number(process.hrtime.bigint()) / 1e6

export type Entry = {
  readonly n: number
  /** The head of the request, all of its body, the first and the last byte of the answer. */
  readonly arrived: number
  readonly received: number
  firstByte?: number
  ended?: number
  readonly bytes: number
  readonly step: number
  readonly tools: boolean
  readonly nonce?: string
  status?: number
  /** The client went away before the end, or the script cut the line. */
  cut?: true
  /** Only when bodies are kept. */
  readonly body?: unknown
  readonly headers?: unknown
}

const maxEntries = 20_000
const maxBodies = 500

export type Journal = {
  readonly entries: () => readonly Entry[]
  readonly add: (entry: Omit<Entry, 'n'>) => Entry
  readonly clear: () => void
}

/** Forgets the oldest entries, and the oldest bodies before them. */
export const newJournal = (): Journal => {
  let entries: Entry[] = []
  let count = 0
  return {
    entries: () => entries,
    add: (fields) => {
      const entry: Entry = { n: count++, ...fields }
      if (entries.length >= maxEntries) entries = entries.slice(maxEntries / 2)
      if (entry.body !== undefined) dropOldBodies(entries)
      entries.push(entry)
      return entry
    },
    clear: () => {
      entries = []
    },
  }
}

const dropOldBodies = (entries: Entry[]): void => {
  const kept = entries.filter((entry) => entry.body !== undefined)
  if (kept.length < maxBodies) return
  for (const entry of kept.slice(0, maxBodies / 2)) {
    const { body: _body, headers: _headers, ...rest } = entry
    entries[entries.indexOf(entry)] = rest
  }
}
