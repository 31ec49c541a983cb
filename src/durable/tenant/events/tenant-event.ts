/** Defines the events of a tenant by their names in the public API: what changed in any of its sessions. */

import { describeElicitation } from '#agent/core/pending-request.ts'
import type { ApprovalChoice, Risk } from '#agent/core/permission/approval.ts'
import { listApprovalChoices } from '#agent/core/permission/approval.ts'
import { maskSecrets, maskSecretsInValue } from '#agent/core/secrets/mask-secrets.ts'
import type { PendingItem } from './pending-item.ts'

/** The line of a session in a list. */
export type SessionChanged = {
  readonly type: 'session.changed'
  readonly id: string
  readonly title: string | null
  readonly status: 'idle' | 'running' | 'waiting'
  readonly source: string
  readonly updated_at: string
}

type PendingIds = { readonly session_id: string; readonly run_id: string }

export type TenantEvent =
  | SessionChanged
  | { readonly type: 'session.removed'; readonly id: string }
  | {
      readonly type: 'run.ended'
      readonly session_id: string
      readonly run_id: string
      readonly status: 'completed' | 'failed' | 'cancelled'
      readonly exit_reason: string
    }
  | {
      readonly type: 'batch.changed'
      readonly id: string
      readonly status: string
      readonly counts: Readonly<Record<string, number>>
      readonly spent_usd: number
    }
  | (PendingIds & {
      readonly type: 'approval.request'
      readonly approval_id: string
      readonly call_id: string
      readonly tool: string
      /** The input with secrets masked. */
      readonly input: unknown
      readonly risk: Risk
      readonly reasons: readonly string[]
      readonly choices: readonly ApprovalChoice[]
      readonly rule?: string
      readonly created_at: string
    })
  | (PendingIds & { readonly type: 'approval.responded'; readonly approval_id: string })
  | (PendingIds & {
      readonly type: 'question.request'
      readonly question_id: string
      readonly question: string
      readonly choices: readonly string[]
      readonly multi_select: boolean
    })
  | (PendingIds & { readonly type: 'question.answered'; readonly question_id: string })

/** Compares the pending requests of a session before and after a change. */
export function pendingEvents(before: readonly PendingItem[], after: readonly PendingItem[]): TenantEvent[] {
  const isIn = (list: readonly PendingItem[], { id }: PendingItem) => list.some((one) => one.id === id)
  return [
    ...before.filter((item) => !isIn(after, item)).map(toAnswered),
    ...after.filter((item) => !isIn(before, item)).map(toRequest),
  ]
}

function toAnswered({ kind, id, session_id, run_id }: PendingItem): TenantEvent {
  const ids = { session_id, run_id }
  return kind === 'approval'
    ? { type: 'approval.responded', approval_id: id, ...ids }
    : { type: 'question.answered', question_id: id, ...ids }
}

function toRequest(item: PendingItem): TenantEvent {
  const { id, session_id, run_id, call_id } = item
  if (item.kind === 'question') {
    const { question, choices, multiSelect, elicitation } = item
    return {
      type: 'question.request',
      question_id: id,
      session_id,
      run_id,
      question,
      choices,
      multi_select: multiSelect,
      ...describeElicitation(elicitation),
    }
  }
  const { tool, input, risk, reasons, rule, since } = item
  return {
    type: 'approval.request',
    approval_id: id,
    session_id,
    run_id,
    call_id,
    tool,
    input: maskSecretsInValue(JSON.parse(input)),
    risk,
    reasons,
    choices: listApprovalChoices(rule),
    ...(rule !== undefined && { rule: maskSecrets(rule) }),
    created_at: new Date(since).toISOString(),
  }
}
