/** Cuts lists that fit into memory into pages. */

import * as z from 'zod'
import { invalidCursor } from '../errors.ts'

export type PageQuery = { readonly limit: number; readonly cursor?: string | undefined }
export type ListPage<T> = { readonly data: readonly T[]; readonly next_cursor: string | null }

/** The position of an item: a time or a number, then an id that is unique among equal ones. */
type SortKey = readonly [at: number, id: string]
const sortKey = z.tuple([z.number(), z.string().max(1_000)])
const position = z.int().min(1).max(Number.MAX_SAFE_INTEGER)

/**
 * Sorts by the key, the largest first, and returns one page. The cursor holds the key of the last item, so that a page
 * neither repeats nor skips items when others are added or removed in between.
 */
export function pageByKey<T>(
  items: readonly T[],
  { limit, cursor }: PageQuery,
  keyOf: (item: T) => SortKey,
): ListPage<T> {
  const after = cursor === undefined ? undefined : decodeCursor(sortKey, cursor)
  const sorted = items.map((item) => ({ item, key: keyOf(item) })).toSorted((a, b) => compareKeys(b.key, a.key))
  const rest = after ? sorted.filter(({ key }) => compareKeys(key, after) < 0) : sorted
  const page = rest.slice(0, limit)
  const last = page.at(-1)
  return {
    data: page.map(({ item }) => item),
    next_cursor: last && rest.length > limit ? encodeCursor(last.key) : null,
  }
}

/** As `pageByKey`, of rows that the database sorts by the key: `read` gets the key after which its rows begin. */
export async function pageInSql<T>(
  { limit, cursor }: PageQuery,
  read: (range: { readonly after: SortKey | undefined; readonly limit: number }) => Promise<readonly T[]>,
  keyOf: (item: T) => SortKey,
): Promise<ListPage<T>> {
  const after = cursor === undefined ? undefined : decodeCursor(sortKey, cursor)
  const rows = await read({ after, limit: limit + 1 })
  const last = rows[limit - 1]
  return {
    data: rows.slice(0, limit),
    next_cursor: last && rows.length > limit ? encodeCursor(keyOf(last)) : null,
  }
}

/** Returns one page in the given order. The cursor is a position. */
export function pageByPosition<T>(items: readonly T[], { limit, cursor }: PageQuery): ListPage<T> {
  const from = readPosition(cursor)
  const next = from + limit
  return { data: items.slice(from, next), next_cursor: items.length > next ? encodeCursor(next) : null }
}

/** The position at which a page of `pageByPosition` begins. */
export const readPosition = (cursor: string | undefined): number =>
  cursor === undefined ? 0 : decodeCursor(position, cursor)

/** The cursor of the page that begins at `next`, for lists that are read a page at a time. */
export const renderNextPosition = (next: number, hasMore: boolean): string | null =>
  hasMore ? encodeCursor(next) : null

const compareKeys = ([at, id]: SortKey, [otherAt, otherId]: SortKey): number =>
  at - otherAt || (id < otherId ? -1 : id > otherId ? 1 : 0)

const encodeCursor = (value: unknown): string => btoa(encodeURIComponent(JSON.stringify(value)))

function decodeCursor<Schema extends z.ZodType>(schema: Schema, cursor: string): z.infer<Schema> {
  try {
    return schema.parse(JSON.parse(decodeURIComponent(atob(cursor))))
  } catch {
    // Any parse error means that this API did not issue the cursor.
    throw invalidCursor()
  }
}
