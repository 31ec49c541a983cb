/** Describes the events of a tenant, one component each, for the OpenAPI document. */

import { elicitationFields } from './elicitation.ts'
import * as z from 'zod'
import { risks } from '#agent/core/permission/approval.ts'
import type { TenantEvent } from '#durable/tenant/events/tenant-event.ts'
import { decisionFields } from '../shapes.ts'

const sessionId = { id: z.string().describe('The id of the session.') }
const pending = { session_id: z.string(), run_id: z.string() }

const descriptions: Readonly<Record<TenantEvent['type'], readonly [description: string, fields: z.ZodRawShape]>> = {
  'session.changed': [
    'The line of a session in a list has changed, or a session is new.',
    {
      ...sessionId,
      title: z.string().nullable(),
      status: z.enum(['idle', 'running', 'waiting']),
      source: z.string(),
      updated_at: z.iso.datetime(),
    },
  ],
  'session.removed': ['A session was deleted.', sessionId],
  'run.ended': [
    'A run of any session has ended.',
    { ...pending, status: z.enum(['completed', 'failed', 'cancelled']), exit_reason: z.string() },
  ],
  'batch.changed': [
    'A prompt of a batch has ended, or the batch.',
    { id: z.string(), status: z.string(), counts: z.record(z.string(), z.int()), spent_usd: z.number() },
  ],
  'approval.request': [
    'A tool call of any session waits for an approval.',
    {
      ...pending,
      approval_id: z.string().describe('For `POST /api/approvals/{id}`.'),
      call_id: z.string(),
      tool: z.string(),
      input: z.unknown().describe('Secrets are masked.'),
      risk: z.enum(risks),
      reasons: z.array(z.string()),
      ...decisionFields,
      created_at: z.iso.datetime(),
    },
  ],
  'approval.responded': ['An approval does not wait any more.', { ...pending, approval_id: z.string() }],
  'question.request': [
    'The agent asks a question in any session.',
    {
      ...pending,
      question_id: z.string().describe('For `POST /api/questions/{id}`.'),
      question: z.string(),
      choices: z.array(z.string()),
      multi_select: z.boolean(),
      ...elicitationFields,
    },
  ],
  'question.answered': ['A question does not wait any more.', { ...pending, question_id: z.string() }],
}

/** The schema of each event by its name. */
export const tenantEvents = Object.fromEntries(
  Object.entries(descriptions).map(([type, [description, fields]]) => [
    type,
    z.object({ type: z.literal(type), at: z.iso.datetime(), ...fields }).describe(description),
  ]),
)
