/** `/api/audit`: lists decisions about tool calls and who made them. */

import * as z from 'zod'
import { type AuditEntry, listAuditEntries } from '../../db/audit-log.ts'
import { invalidCursor } from '../errors.ts'
import { route } from '../route.ts'
import { listOf, ok, pageQuery } from '../shapes.ts'

const entryShape = z.object({
  at: z.iso.datetime(),
  session_id: z.string(),
  run_id: z.string(),
  call_id: z.string(),
  tool: z.string(),
  risk: z.string(),
  decision: z.enum(['asked', 'allowed', 'denied', 'refused']),
  by: z.enum(['hardline', 'rule', 'grant', 'judge', 'person', 'mode', 'denials', 'nobody']),
  choice: z.string().nullable(),
  reason: z.string(),
  subject: z.string().describe('The command or path of the call. Secrets are masked.'),
  hash: z.string(),
})

const toEntryView = ({
  at,
  sessionId,
  runId,
  callId,
  tool,
  risk,
  did,
  by,
  choice,
  reason,
  subject,
  hash,
}: AuditEntry) => ({
  at: new Date(at).toISOString(),
  session_id: sessionId,
  run_id: runId,
  call_id: callId,
  tool,
  risk,
  decision: did,
  by,
  choice: choice ?? null,
  reason,
  subject,
  hash,
})

export const auditRoutes = [
  route({
    method: 'get',
    path: '/api/audit',
    scope: 'read',
    tag: 'Approvals',
    summary:
      'Decisions about tool calls, newest first, without plain allows. Decisions of a turn appear when it has ended',
    query: z.strictObject({ ...pageQuery, session_id: z.string().max(128).optional() }),
    responses: ok('A page of the log', listOf(entryShape)),
    handle: async ({ env, tenant, query: { limit, cursor, session_id: sessionId } }) => {
      const entries = await listAuditEntries(env.DB, tenant.id, {
        limit: limit + 1,
        before: readCursor(cursor),
        sessionId,
      })
      const page = entries.slice(0, limit)
      const last = page.at(-1)
      const more = entries.length > limit && last
      return Response.json({ data: page.map(toEntryView), next_cursor: more ? `${last.at}-${last.num}` : null })
    },
  }),
]

function readCursor(cursor: string | undefined): { readonly at: number; readonly num: number } | undefined {
  if (cursor === undefined) return undefined
  const [, at, num] = /^(\d{1,16})-(\d{1,15})$/.exec(cursor) ?? []
  if (at === undefined) throw invalidCursor()
  return { at: Number(at), num: Number(num) }
}
