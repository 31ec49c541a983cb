/** Searches and reads the earlier sessions of the tenant. */

import * as z from 'zod'
import { historyReach } from '#agent/core/permission/authority.ts'
import { isScopeLost, othersLimit } from '#agent/core/permission/lost-rights.ts'
import { defineTool } from './define-tool.ts'

const maxSessions = 10

const input = z.object({
  query: z
    .string()
    .optional()
    .describe(
      'Words or a question. "phrase", -word, after:2025-06-01, before:2025-07, source:telegram, from:Ann, tag:work, tool:terminal narrow it.',
    ),
  limit: z.int().min(1).max(maxSessions).default(3).describe('Sessions.'),
  sort: z.enum(['newest', 'oldest']).optional().describe('Default: best match.'),
  detail: z
    .enum(['adaptive', 'full'])
    .default('adaptive')
    .describe('adaptive: the best session in detail. full: each session, with how it began and ended.'),
  session_id: z.string().optional().describe('An id, or a link @session:ID.'),
  around_message_id: z.int().min(1).optional().describe('A message number of that session.'),
  window: z.int().min(1).max(20).default(5).describe('Messages on each side.'),
  role_filter: z.string().optional().describe('Such as "user,assistant".'),
})

export default defineTool({
  name: 'session_search',
  toolset: 'session_search',
  description:
    'Earlier conversations with this user, without this one and its forks. No arguments: recent sessions. query: full-text search. session_id: its beginning and end; with around_message_id: the messages around one. Cite a session by its link.',
  input,
  needs: ['history'],
  effect: 'pure',
  risk: () => 'read',
  timeoutMs: () => 30_000,
  run: async (request, { history: port, authority, addMarks }) => {
    const { kind } = historyReach(authority)
    const { searchSessions } = await import('./search-sessions.ts')
    const answer = await searchSessions(request, port, addMarks)
    if (kind === 'tenant' || 'failed' in answer) return answer
    const reason = isScopeLost(authority, 'read') ? ` The reason: ${othersLimit}.` : ''
    return { ...answer, reach: `${reachTexts[kind]}${reason}` }
  },
})

/** Tells the model why it finds less than there is. */
const reachTexts = {
  chat: 'Only the conversations of this chat are searched.',
  session: 'Only this conversation can be read: the sender may not read others.',
} as const
