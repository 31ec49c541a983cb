/** Searches and reads the earlier sessions of the tenant. */

import * as z from 'zod'
import type { History, HistoryHit, HistoryMessage } from '../../agent/model/tool.ts'
import { historyReach } from '../../agent/model/authority.ts'
import { defineTool } from '../define-tool.ts'
import { fail } from '../tool-result.ts'

const maxSessions = 10
/** Hits are grouped by session, and one session may have most of them. */
const hitsPerSession = 10
const maxShownHits = 3
const bookendMessages = 3
const maxMessageChars = 2000
const maxBookendChars = 500

const input = z.object({
  query: z.string().optional(),
  limit: z.int().min(1).max(maxSessions).default(3).describe('Sessions.'),
  sort: z.enum(['newest', 'oldest']).optional().describe('Default: best match.'),
  detail: z
    .enum(['adaptive', 'full'])
    .default('adaptive')
    .describe('full: more hits, and how each session began and ended.'),
  session_id: z.string().optional(),
  around_message_id: z.int().min(1).optional().describe('A message number of that session.'),
  window: z.int().min(1).max(20).default(5).describe('Messages on each side.'),
  role_filter: z.string().optional().describe('Such as "user,assistant".'),
})
type Input = z.infer<typeof input>

export default defineTool({
  name: 'session_search',
  toolset: 'session_search',
  description:
    'Earlier conversations with this user. No arguments: recent sessions. query: full-text search. session_id: its beginning and end; with around_message_id: the messages around one.',
  input,
  needs: ['history'],
  effect: 'pure',
  risk: () => 'read',
  timeoutMs: () => 30_000,
  run: async (request, { history, sessionId, authority }) => {
    const { kind } = historyReach(authority)
    const answer = await search(request, history, sessionId)
    return kind === 'tenant' || 'failed' in answer ? answer : { ...answer, reach: reachTexts[kind] }
  },
})

/** Tells the model why it finds less than there is. */
const reachTexts = {
  chat: 'Only the conversations of this chat are searched.',
  session: 'Only this conversation can be read: the sender may not read others.',
} as const

async function search(request: Input, history: History, sessionId: string) {
  const { query, session_id, around_message_id } = request
  if (session_id !== undefined) return readSession(history, { ...request, session_id })
  if (around_message_id !== undefined) return fail('around_message_id needs the session_id it belongs to.')
  return query?.trim() ? searchHistory(history, request, sessionId) : listRecent(history, request.limit, sessionId)
}

async function listRecent(history: History, limit: number, current: string) {
  const recent = await history.recent(limit + 1)
  const sessions = recent.filter(({ session_id }) => session_id !== current).slice(0, limit)
  return { mode: 'browse', sessions, count: sessions.length }
}

async function readSession(
  history: History,
  { session_id, around_message_id, window, role_filter }: Input & { session_id: string },
) {
  const around = around_message_id
  const range = around === undefined ? undefined : { around, window }
  const messages = await history.read(session_id, range)
  if (!messages) return fail(`No session ${session_id}. Find its id with query, or call without arguments.`)
  const shown = messages.filter(hasRole(role_filter)).map((message) => shortenMessage(message, maxMessageChars))
  if (range) return { mode: 'scroll', session_id, around_message_id: around, window, messages: shown }
  return {
    mode: 'read',
    session_id,
    messages: shown,
    ...(hasGap(messages) && { note: 'The middle is left out: scroll into it with around_message_id.' }),
  }
}

const hasGap = (messages: readonly HistoryMessage[]): boolean =>
  messages.some(({ seq }, i) => i > 0 && seq > (messages[i - 1]?.seq ?? seq) + 1)

const hasRole = (filter: string | undefined) => {
  const roles =
    filter
      ?.split(',')
      .map((role) => role.trim().toLowerCase())
      .filter(Boolean) ?? []
  return ({ role }: { readonly role: string }): boolean => roles.length === 0 || roles.includes(role)
}

const shortenMessage = ({ seq, role, content, at }: HistoryMessage, maxChars: number) => ({
  message_id: seq,
  role,
  at,
  content: content.length > maxChars ? `${content.slice(0, maxChars)}... [${content.length} characters]` : content,
})

async function searchHistory(history: History, request: Input, current: string) {
  const { query = '', limit, sort, detail, role_filter } = request
  const hits = (await history.search(query, limit * hitsPerSession, sort)).filter(hasRole(role_filter))
  const sessions = new Map<string, HistoryHit[]>()
  for (const hit of hits) {
    if (hit.session_id === current) continue
    sessions.set(hit.session_id, [...(sessions.get(hit.session_id) ?? []), hit])
  }
  const chosen = [...sessions].slice(0, limit)
  const results = await Promise.all(chosen.map(([id, found]) => summariseSession(history, id, { found, detail })))
  const hint = results.length === 0 ? { hint: 'Nothing found: try fewer or other words.' } : {}
  return { mode: 'discovery', query, results, count: results.length, sessions_found: sessions.size, ...hint }
}

/** Messages are read by number, and an id ends with the number. */
const messageNumberOf = (id: string): number => Number(/\d+$/.exec(id)?.[0] ?? 0)

type Found = { readonly found: readonly HistoryHit[]; readonly detail: Input['detail'] }

async function summariseSession(history: History, session_id: string, { found, detail }: Found) {
  const shown = detail === 'full' ? found : found.slice(0, maxShownHits)
  const matches = shown.map(({ message_id, role, at, snippet }) => ({
    message_id: messageNumberOf(message_id),
    role,
    at,
    snippet,
  }))
  const summary = { session_id, title: found[0]?.title ?? null, matches, match_count: found.length }
  if (detail === 'adaptive') return summary
  const messages = (await history.read(session_id)) ?? []
  const shortenAll = (part: readonly HistoryMessage[]) =>
    part.map((message) => shortenMessage(message, maxBookendChars))
  return {
    ...summary,
    beginning: shortenAll(messages.slice(0, bookendMessages)),
    end: shortenAll(messages.slice(-bookendMessages)),
  }
}
