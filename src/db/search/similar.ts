/** Reads the rows of texts that were found by their meaning, and fuses them with those that were found by their words. */

import type { Entry } from '#agent/core/history.ts'
import { classifySource } from '#agent/memory/session-source.ts'
import { getSearchableText, normalizeText } from '../index-text.ts'
import { decodeEntries } from '../page-row.ts'
import type { HistoryDb } from '../shards/sharded-database.ts'
import { createTenantDb, type TenantDb } from '../tenant-db.ts'
import { type MatchRow, matchColumns, readBody } from './find-rows.ts'
import type { Query } from './search-query.ts'
import type { Within } from './session-scope.ts'

/** A place in the history: a page, its message, and where in the text the similar part begins. */
export type SimilarText = {
  readonly session: string
  readonly page: number
  readonly seq: number
  readonly offset: number
}

/** Finds texts that mean something similar, best first. It takes at most two seconds and never rejects. */
export type FindSimilar = (text: string, session?: string) => Promise<readonly SimilarText[]>

/** A session with its last stored seq. */
export type IndexedSession = { readonly id: string; readonly through: number }

const selectSessions = 'SELECT id, through FROM session WHERE tenant_id = ?1 AND id > ?2 ORDER BY id LIMIT ?3'

export const listIndexedSessions = (
  db: HistoryDb,
  tenantId: string,
  after: string,
  limit: number,
): Promise<readonly IndexedSession[]> => createTenantDb(db, tenantId).read<IndexedSession>(selectSessions, after, limit)

const filterPattern = /(?:^|\s)-?(?:after|before|source|session|role|from|tag|tool):(?:"[^"]*"|\S*)/giu

/** The text to compare. Undefined when the query demands, excludes or completes words: meaning cannot. */
export function getMeaning(input: string, { terms, required, excluded }: Query): string | undefined {
  if (!terms.length || required.length || excluded.length || terms.some(({ isPrefix }) => isPrefix)) return undefined
  const text = input
    .replace(filterPattern, ' ')
    .split(/\s+/)
    .filter((word) => word !== '' && word !== 'OR' && word !== 'AND')
    .join(' ')
  return text || undefined
}

/** CROSS JOIN: the chosen pages are few, and each is found by keys. */
const selectSimilar = (within: Within) => `SELECT ${matchColumns('page.id')}
  FROM json_each(?2) AS chosen
  CROSS JOIN session ON session.tenant_id = ?1 AND session.id = json_extract(chosen.value, '$[0]')
  CROSS JOIN page ON page.id = (session.num << 20) + json_extract(chosen.value, '$[1]') AND page.tenant_id = ?1
  WHERE page.indexed = 1 ${within('page.id')}`

export type SimilarMessage = { readonly row: MatchRow; readonly entry: Entry; readonly snippet: string }

const maxPages = 40
const snippetChars = 200

/** Reads the messages of similar texts in their order. A page that was deleted meanwhile is not found. */
export async function readSimilar(
  tenantDb: TenantDb,
  found: readonly SimilarText[],
  { within, isWanted }: { readonly within: Within; readonly isWanted: (entry: Entry) => boolean },
): Promise<readonly SimilarMessage[]> {
  const texts = new Map<string, SimilarText>()
  for (const text of found) {
    const key = `${text.session} ${text.page}`
    if (!texts.has(key) && texts.size < maxPages) texts.set(key, text)
  }
  if (!texts.size) return []
  const chosen = JSON.stringify([...texts.values()].map(({ session, page }) => [session, page]))
  const rows = await tenantDb.read<MatchRow>(selectSimilar(within), chosen)
  const byPlace = new Map(rows.map((row) => [`${row.session} ${row.key % 2 ** 20}`, row]))
  const messages: SimilarMessage[] = []
  for (const [key, text] of texts) {
    const row = byPlace.get(key)
    if (!row || classifySource(row.source) === 'hidden') continue
    const entries = decodeEntries(row.body ?? (await readBody(tenantDb, row.key)))
    const message = renderMessage(row, entries.filter(isWanted), text)
    if (message) messages.push(message)
  }
  return messages
}

function renderMessage(row: MatchRow, entries: readonly Entry[], { seq, offset }: SimilarText) {
  const isSpoken = (entry: Entry) => entry.message.role !== 'tool' && getSearchableText(entry).trim() !== ''
  const entry = entries.find((one) => one.seq >= seq && isSpoken(one))
  if (!entry) return undefined
  const text = normalizeText(getSearchableText(entry)).trim()
  const from = entry.seq === seq ? offset : 0
  const snippet = text.slice(from, from + snippetChars).trim()
  const end = from + snippetChars < text.length ? '…' : ''
  return { row, entry, snippet: `${from > 0 ? '…' : ''}${snippet}${end}`.toWellFormed() }
}

/** The usual constant of reciprocal rank fusion. */
const rankOffset = 60

/** Fuses lists by the reciprocal ranks of their pages. The first list that has a page provides its hit. */
export function fuseByRank<Item extends { readonly page: number }>(
  lists: readonly (readonly Item[])[],
): readonly Item[] {
  const fused = new Map<number, { readonly item: Item; points: number }>()
  for (const list of lists) {
    const seen = new Set<number>()
    for (const item of list) {
      if (seen.has(item.page)) continue
      seen.add(item.page)
      const points = 1 / (rankOffset + seen.size)
      const known = fused.get(item.page)
      if (known) known.points += points
      else fused.set(item.page, { item, points })
    }
  }
  return [...fused.values()].toSorted((a, b) => b.points - a.points).map(({ item }) => item)
}
