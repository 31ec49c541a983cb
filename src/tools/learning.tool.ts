/** Keeps, finds and orders failures with what fixed them, and switches learning off for the session. */

import * as z from 'zod'
import { defineTool } from './define-tool.ts'
import { failWith } from './tool-result.ts'

const changing: ReadonlySet<string> = new Set(['save', 'tags', 'consolidate', 'off', 'on'])

const input = z.object({
  action: z.enum(['save', 'search', 'list', 'tags', 'consolidate', 'off', 'on']),
  error: z.string().max(2_000).optional(),
  fix: z.string().max(2_000).optional(),
  tool: z.string().max(64).optional(),
  failed: z.string().max(2_000).optional().describe('The command that failed.'),
  query: z.string().max(500).optional(),
  ids: z.array(z.string().max(20)).min(1).max(50).optional().describe('consolidate: one fix for all of them.'),
  tags: z.array(z.string().max(40)).max(10).optional(),
})

export default defineTool({
  name: 'learning',
  toolset: 'learning',
  description:
    'Failures and what fixed them, of all sessions. Fixed calls are kept by themselves; save what they do not show. off, on: this session.',
  input,
  needs: ['learnings'],
  effect: 'keyed',
  effectOf: ({ action }) => (changing.has(action) ? 'keyed' : 'pure'),
  risk: ({ action }) => (changing.has(action) ? 'write' : 'read'),
  touches: () => ['learning'],
  run: async (request, { learnings, authority, addMarks }) => {
    const answer = await learnings.handle(request, { authority, addMarks })
    return 'error' in answer ? failWith(answer) : answer
  },
})
