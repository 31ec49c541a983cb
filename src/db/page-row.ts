/**
 * Encodes a page as a row. The key is computed from the number of the session and the page number n. So a session is
 * one range of keys, a repeated append writes the same row, and no second index is needed.
 */

import { marksOfMessage } from '#agent/untrusted/result-marks.ts'
import { allMarks, joinMarks, type Marks, privateMarks } from '#agent/core/marks.ts'
import type { Entry, Page } from '#agent/core/history.ts'
import type { MessageSource } from '#agent/core/message.ts'
import type { Usage } from '#agent/core/usage.ts'
import { hash53 } from '#agent/core/hash53.ts'

/** Each session has 2^20 keys; key 0 is the title. SQL statements use the same number as `<< 20`. */
export const keysPerSession = 2 ** 20

/** D1 allows 2 MB for a row; the rest is for the small columns. */
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

/** The columns of a page, serialised once. */
export type EncodedPage = {
  readonly page: Page
  readonly last: number
  readonly size: number
  readonly mark: number
  readonly model: string | null
  readonly usage: string | null
  readonly turn: string | null
  readonly body: string
}

export const encodeJson = (value: unknown) => (value === undefined ? null : JSON.stringify(value))

/** Throws when the page number or the size is out of range. The caller has to split a long turn into pages. */
export function encodePage(page: Page): EncodedPage {
  if (!Number.isInteger(page.n) || page.n < 1 || page.n >= keysPerSession)
    throw new Error(`Page number ${page.n} is out of range: a session holds ${keysPerSession - 1} messages.`)
  const body = JSON.stringify(page.entries)
  const turn = encodeJson(page.turn)
  const usage = encodeJson(page.usage)
  const size = countBytes(body) + (turn === null ? 0 : countBytes(turn))
  if (size > maxPageBytes)
    throw new Error(`Page ${page.n} has ${size} bytes; the maximum is ${maxPageBytes}. Split the page.`)
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
const countBytes = (text: string) => encoder.encode(text).byteLength

export function decodePage(row: PageRow): Page {
  return {
    n: row.id % keysPerSession,
    runId: row.run_id,
    at: row.at,
    entries: decodeEntries(row.body),
    ...(row.turn !== null && { turn: JSON.parse(row.turn) as unknown }),
    ...(row.model !== null && { model: row.model }),
    ...(row.usage !== null && { usage: JSON.parse(row.usage) as Usage }),
    ...(row.indexed === 0 && { indexed: false }),
  }
}

export const decodeEntries = (body: string) => JSON.parse(body) as readonly Entry[]

/** The marks of a stored message. Everything in history belongs to the tenant. */
export const getMessageMarks = ({ message }: Entry): Marks => joinMarks(privateMarks, marksOfStored(message))

/** Results and answers that are older than marks may hold anything. */
const marksOfStored = (message: Entry['message']): Marks =>
  message.role === 'user' ? marksOfMessage(message) : (message.marks ?? allMarks)

/** Names the source of a message that no person and no model wrote. */
export const getMessageSource = (entry: Entry | undefined): { readonly message_source?: MessageSource } =>
  entry && 'source' in entry.message && entry.message.source !== undefined
    ? { message_source: entry.message.source }
    : {}
