/** Defines the pending requests of a turn: questions, approvals and outside work that a tool call waits for. */

import type { Risk } from './approval.ts'

/** A question of the model that a person answers. */
export type QuestionRequest = {
  readonly kind: 'question'
  readonly question: string
  readonly choices: readonly string[]
  readonly multiSelect: boolean
}

/** A call that a person allows or denies. */
export type ApprovalRequest = {
  readonly kind: 'approval'
  readonly tool: string
  /** The exact input as JSON, with hidden characters shown. Only people who may approve see it without a mask. */
  readonly input: string
  readonly risk: Risk
  readonly reasons: readonly string[]
  /** The scope of "for this session" and "always". Absent: neither is offered. */
  readonly rule?: string
  /** The hash of the input that is shown: the answer counts for that input alone. */
  readonly hash: string
  /** Milliseconds since 1970. */
  readonly since: number
}

/** Work outside the session whose end delivers the result: a child session, a scheduled job, a background process. */
export type WorkRequest = {
  readonly kind: 'child' | 'job' | 'process'
  /** The id of the child session, the job or the process. */
  readonly workId: string
}

/** Waits for a person. */
export type PersonRequest = QuestionRequest | ApprovalRequest

export type PendingRequest = PersonRequest | WorkRequest

/** Whether a person has to answer. The other requests are completed by child sessions, jobs and processes. */
export function waitsForPerson<Request extends { readonly kind: PendingRequest['kind'] }>(
  request: Request,
): request is Extract<Request, { readonly kind: 'question' | 'approval' }> {
  switch (request.kind) {
    case 'question':
    case 'approval':
      return true
    case 'child':
    case 'job':
    case 'process':
      return false
  }
}
