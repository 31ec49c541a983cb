/** Lists the latest sessions that the caller may read, for `sessions_send`. */

import * as z from 'zod'
import { defineTool } from '../define-tool.ts'

export default defineTool({
  name: 'sessions_list',
  toolset: 'sessions',
  description: 'Your other sessions, newest first: id, title, time.',
  input: z.object({ limit: z.int().min(1).max(50).default(20) }),
  needs: ['history', 'subagents'],
  effect: 'pure',
  risk: () => 'read',
  run: async ({ limit }, context) => (await import('../search-sessions.ts')).listSessions(context, limit),
})
