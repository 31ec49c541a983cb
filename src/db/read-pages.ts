/** Reading a session: its pages in order and in bounded portions, and the messages around a place. */

import type { Entry, Page } from '../agent/model/history.ts'
import { callsIn, textIn } from '../agent/model/message.ts'
import type { HistoryMessage } from '../agent/model/tool.ts'
import type { Bound } from './tenant-db.ts'
import { entriesIn, pageColumns, pageKeys, pageOf, type PageRow } from './page-row.ts'

const portion = 8 * 2 ** 20
const atMostPages = 256
const atMostWindow = 100
const opening = 20
const ending = 10
const shown = 16_384

/**
 * Pages with ?3 < n < ?4, the first ?5 of them in the given direction, and of these as many as begin
 * within ?6 bytes: at least one. The sizes are summed before any body is touched. The bounds are cut to
 * the keys of the session, whatever is asked: the next key may be another tenant's.
 */
const span = (direction: 'ASC' | 'DESC') => `WITH here AS (SELECT num << 20 AS base FROM session
    WHERE tenant_id = ?1 AND id = ?2),
  near AS (SELECT page.id, page.size FROM here JOIN page
      ON page.id > base + max(0, ?3) AND page.id < base + min(${pageKeys}, ?4) AND page.tenant_id = ?1
    ORDER BY page.id ${direction} LIMIT ?5),
  cut AS (SELECT id, sum(size) OVER (ORDER BY id ${direction} ROWS UNBOUNDED PRECEDING) - size AS ahead FROM near)
  SELECT ${pageColumns} FROM cut JOIN page ON page.id = cut.id WHERE ahead < ?6 ORDER BY page.id`
const forward = span('ASC')
const backward = span('DESC')
const known = 'SELECT num FROM session WHERE tenant_id = ?1 AND id = ?2'

export async function pages(
  bound: Bound,
  sessionId: string,
  after: number,
  bytes: number = portion,
): Promise<readonly Page[]> {
  const rows = await bound.read<PageRow>(forward, sessionId, Math.max(0, after), pageKeys, atMostPages, bytes)
  return rows.map(pageOf)
}

/** Undefined when the directory does not know the session. */
export async function read(
  { statement, readAll }: Bound,
  sessionId: string,
  range?: { readonly around: number; readonly window: number },
): Promise<readonly HistoryMessage[] | undefined> {
  const exists = statement(known, sessionId)
  const part = (sql: string, from: number, to: number, limit: number) =>
    statement(sql, sessionId, from, to, limit, portion / 2)
  if (!range) {
    const [found, first, last] = await readAll<PageRow>([
      exists,
      part(forward, 0, pageKeys, opening),
      part(backward, 0, pageKeys, ending),
    ])
    if (!found?.length) return undefined
    const head = entriesOf(first!).slice(0, opening)
    const tail = entriesOf(last!).slice(-ending)
    return [...head, ...tail.filter((entry) => entry.seq > (head.at(-1)?.seq ?? 0))].map(shownMessage)
  }
  const window = Math.min(Math.max(0, Math.trunc(range.window)), atMostWindow)
  const around = Math.trunc(range.around)
  // A page has one message or more: so many pages are enough on either side.
  const [found, before, behind] = await readAll<PageRow>([
    exists,
    part(backward, 0, around + 1, window + 1),
    part(forward, around, pageKeys, window + 1),
  ])
  if (!found?.length) return undefined
  const entries = [...entriesOf(before!), ...entriesOf(behind!)]
  const upTo = entries.filter((entry) => entry.seq <= around).slice(-(window + 1))
  const later = entries.filter((entry) => entry.seq > around).slice(0, window)
  return [...upTo, ...later].map(shownMessage)
}

const entriesOf = (rows: readonly PageRow[]) => rows.flatMap((row) => entriesIn(row.body))

function shownMessage({ id, seq, at, message }: Entry): HistoryMessage {
  const calls = message.role === 'assistant' ? callsIn(message).map((call) => `[called ${call.name}]`) : []
  const text = [textIn(message), ...calls].filter((line) => line !== '').join('\n')
  const content =
    text.length > shown ? `${text.slice(0, shown)}\n[${text.length - shown} more characters are not shown]` : text
  return { id, seq, role: message.role, content, at: new Date(at).toISOString() }
}
