/** Searches and reads the earlier sessions of the tenant. */

import * as z from 'zod'
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
    .enum(['adaptive', 'full', 'answer'])
    .default('adaptive')
    .describe(
      'adaptive: the best session in detail. full: each session, with how it began and ended. answer: an answer to the query from them.',
    ),
  session_id: z.string().optional().describe('An id, or a link @session:ID.'),
  around_message_id: z.int().min(1).optional().describe('A message number of that session.'),
  window: z.int().min(1).max(20).default(5).describe('Messages on each side.'),
  role_filter: z.string().optional().describe('Such as "user,assistant".'),
})
export type SessionSearch = z.infer<typeof input>

export default defineTool({
  name: 'session_search',
  toolset: 'session_search',
  description:
    'Earlier conversations with this user, without this one and its forks. No arguments: recent sessions. query: full-text search. session_id: its beginning and end; with around_message_id: the messages around one. Cite a session by its link.',
  input,
  needs: ['history', 'model'],
  effect: 'pure',
  risk: () => 'read',
  timeoutMs: ({ detail }) => (detail === 'answer' ? 180_000 : 30_000),
  run: async (request, context) => (await import('./search-sessions.ts')).searchSessions(request, context),
})
