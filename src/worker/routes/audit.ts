/** `/api/audit`: lists decisions about tool calls and actions of keys and people, with who did them. */

import * as z from 'zod'
import { auditActions, auditDecisions } from '#agent/core/permission/audit.ts'
import { type AuditEntry, listAuditEntries } from '#db/audit-log.ts'
import { invalidCursor } from '../errors.ts'
import { route } from '../route.ts'
import { listOf, ok, pageQuery } from '../shapes.ts'
import { nameSchemas } from '../schema-names.ts'

const kinds = [...auditActions, ...auditDecisions]
const groups = [...new Set(kinds.map((kind) => kind.slice(0, kind.indexOf('.'))))]

const actor = z
  .string()
  .nullable()
  .describe('Who did it: key:ID, person:CHANNEL:ID, job:ID, session:ID. null: the system, by its rules.')

const decisionShape = z.object({
  at: z.iso.datetime(),
  kind: z.enum(auditDecisions),
  actor,
  session_id: z.string(),
  run_id: z.string(),
  call_id: z.string(),
  tool: z.string(),
  risk: z.string(),
  decision: z.enum(['asked', 'allowed', 'denied', 'refused']),
  by: z.enum(['hardline', 'role', 'rule', 'hook', 'grant', 'judge', 'person', 'mode', 'denials', 'nobody']),
  choice: z.string().nullable(),
  reason: z.string(),
  subject: z.string().describe('The command or path of the call. Secrets are masked.'),
  hash: z.string(),
})

const actionShape = z.object({
  at: z.iso.datetime(),
  kind: z.enum(auditActions),
  actor,
  session_id: z.string().nullable(),
  subject: z.string().describe('The id of what was changed.'),
  details: z.record(z.string(), z.unknown()),
  changes: z
    .array(z.object({ field: z.string(), before: z.unknown(), after: z.unknown() }))
    .describe('The changed fields with their values. Secrets are masked, long values are truncated.'),
})
nameSchemas({ AuditDecision: decisionShape, AuditAction: actionShape })

function toEntryView(entry: AuditEntry) {
  const head = {
    at: new Date(entry.at).toISOString(),
    kind: entry.kind,
    actor: entry.actor || null,
    session_id: entry.sessionId || null,
  }
  const { body } = entry
  if (!('callId' in body)) {
    const { subject, details = {}, changes = [] } = body
    return { ...head, subject, details, changes }
  }
  const { callId, tool, risk, did, by, choice, reason, subject, hash } = body
  return {
    ...head,
    run_id: entry.runId,
    call_id: callId,
    tool,
    risk,
    decision: did,
    by,
    choice: choice ?? null,
    reason,
    subject,
    hash,
  }
}

const time = z.iso.datetime({ offset: true }).transform((text) => Date.parse(text))

export const auditRoutes = [
  route({
    method: 'get',
    path: '/api/audit',
    id: 'listAuditEntries',
    scope: 'read',
    tag: 'Audit',
    summary:
      'The audit log, newest first: decisions about tool calls, without plain allows, and changes by keys and people',
    query: z.strictObject({
      ...pageQuery,
      session_id: z.string().max(128).optional().describe('Only entries of this session.'),
      kind: z
        .enum([...groups, ...kinds])
        .optional()
        .describe('One kind, or all kinds that begin with this word.'),
      actor: z.string().min(1).max(300).optional().describe('For example key:ID.'),
      from: time.optional().describe('Entries at this time or later.'),
      to: time.optional().describe('Entries before this time.'),
    }),
    responses: ok('A page of the log', listOf(z.union([decisionShape, actionShape]))),
    handle: async ({ env, tenant, query: { limit, cursor, session_id: sessionId, kind, actor: by, from, to } }) => {
      const filter = { limit: limit + 1, before: readCursor(cursor), sessionId, kind, actor: by, from, to }
      const entries = await listAuditEntries(env.DB, tenant.id, filter)
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
