/**
 * A page as a row. Its key is computed from the number of its session and n, so that a session is one
 * range of keys, a repeat hits the same row, and no second index has to be written.
 */

import type { Entry, Page } from '../agent/model/history.ts'
import type { Usage } from '../agent/model/usage.ts'
import { hash53 } from '../agent/model/hash.ts'

/** Messages of a session: 2^20 keys, of which 0 is the title's. The same number stands in the SQL as `<< 20`. */
export const pageKeys = 2 ** 20

/** A row of D1 may have 2 MB; the rest is left for the small columns. */
export const maxPageBytes = 1.5 * 2 ** 20

export type PageRow = {
  readonly id: number
  readonly run_id: string
  readonly at: number
  readonly indexed: number
  readonly model: string | null
  readonly usage: string | null
  readonly turn: string | null
  readonly body: string
}
export const pageColumns = 'page.id, run_id, at, indexed, model, usage, turn, body'

/** What is stored of a page, serialised once. */
export type StoredPage = {
  readonly page: Page
  readonly last: number
  readonly size: number
  readonly mark: number
  readonly model: string | null
  readonly usage: string | null
  readonly turn: string | null
  readonly body: string
}

const json = (value: unknown) => (value === undefined ? null : JSON.stringify(value))

/** Throws when the page has no key or no room in a row: the caller splits a long turn before that. */
export function storedPage(page: Page): StoredPage {
  if (!Number.isInteger(page.n) || page.n < 1 || page.n >= pageKeys)
    throw new Error(`Page ${page.n}: a session holds ${pageKeys - 1} messages.`)
  const body = JSON.stringify(page.entries)
  const turn = json(page.turn)
  const usage = json(page.usage)
  const size = bytesOf(body) + (turn === null ? 0 : bytesOf(turn))
  if (size > maxPageBytes)
    throw new Error(`Page ${page.n} has ${size} bytes, a row holds ${maxPageBytes}: split the page.`)
  const rest = JSON.stringify([page.runId, page.at, page.model, usage, page.indexed !== false])
  return {
    page,
    last: page.entries.at(-1)?.seq ?? page.n,
    size,
    mark: hash53(`${rest}\n${turn}\n${body}`),
    model: page.model ?? null,
    usage,
    turn,
    body,
  }
}

const encoder = new TextEncoder()
const bytesOf = (text: string) => encoder.encode(text).byteLength

export function pageOf(row: PageRow): Page {
  return {
    n: row.id % pageKeys,
    runId: row.run_id,
    at: row.at,
    entries: entriesIn(row.body),
    ...(row.turn !== null && { turn: JSON.parse(row.turn) as unknown }),
    ...(row.model !== null && { model: row.model }),
    ...(row.usage !== null && { usage: JSON.parse(row.usage) as Usage }),
    ...(row.indexed === 0 && { indexed: false }),
  }
}

export const entriesIn = (body: string) => JSON.parse(body) as readonly Entry[]
