/**
 * The history port on D1, bound to one tenant. How it is stored and what it costs: docs/design/history.md.
 */

import type { HistoryStore } from '../agent/model/history.ts'
import { append } from './append-pages.ts'
import { boundTo, type Meter } from './tenant-db.ts'
import { recent, sessions, standing } from './session-directory.ts'
import { pages, read } from './read-pages.ts'
import { forget, truncate } from './delete-pages.ts'
import { search } from './search.ts'

export { billed, type Meter } from './tenant-db.ts'

/** `meter` sums the rows that D1 bills for the calls of this store. */
export function d1History(db: D1Database, tenantId: string, meter?: Meter): HistoryStore {
  const bound = boundTo(db, tenantId, meter)
  return {
    standing: (sessionId) => standing(bound, sessionId),
    append: (record, list, known) => append(bound, record, list, known),
    truncate: (sessionId, from, unsent) => truncate(bound, sessionId, from, unsent),
    pages: (sessionId, after, bytes) => pages(bound, sessionId, after, bytes),
    sessions: (filter) => sessions(bound, filter),
    forget: (sessionId, unsent) => forget(bound, sessionId, unsent),
    recent: (limit) => recent(bound, limit),
    search: (query, limit, sort) => search(bound, query, limit, { sort, now: Date.now() }),
    read: (sessionId, range) => read(bound, sessionId, range),
  }
}
