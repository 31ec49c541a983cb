/** Records requests with times of the monotonic clock, which other processes of the machine share. */

import process from 'node:process'

export const now = (): number => Number(process.hrtime.bigint()) / 1e6

export type Entry = {
  readonly n: number
  /** Times of the request head, its complete body, and the first and last byte of the response. */
  readonly arrived: number
  readonly received: number
  firstByte?: number
  ended?: number
  readonly bytes: number
  readonly step: number
  readonly tools: boolean
  readonly nonce?: string
  status?: number
  /** The client or the script closed the connection before the end. */
  cut?: true
  /** Only set when bodies are recorded. */
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

/** Creates a journal that drops its oldest bodies first, then its oldest entries. */
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
