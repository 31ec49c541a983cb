/** Defines the pending requests of a turn: questions, approvals, tools of the client and outside work that a call waits for. */

import type { Risk } from './permission/approval.ts'

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

/** A call of a tool that the caller of the run has offered. The caller runs it and brings the result. */
export type ClientRequest = {
  readonly kind: 'client'
  readonly tool: string
  /** The arguments as JSON, or as the model wrote them when they are not valid JSON. */
  readonly input: string
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

export type PendingRequest = PersonRequest | ClientRequest | WorkRequest

/** Whether a person has to answer. */
export function waitsForPerson<Request extends { readonly kind: PendingRequest['kind'] }>(
  request: Request,
): request is Extract<Request, { readonly kind: 'question' | 'approval' }> {
  switch (request.kind) {
    case 'question':
    case 'approval':
      return true
    case 'client':
    case 'child':
    case 'job':
    case 'process':
      return false
  }
}

/** The kinds of requests that the caller of a run answers with its next request. */
export type CallerRequestKind = 'client' | 'approval' | 'question'

/** Whether the caller of the run brings the answer. The others are completed by child sessions, jobs and processes. */
export const waitsForCaller = <Request extends { readonly kind: PendingRequest['kind'] }>(
  request: Request,
): request is Extract<Request, { readonly kind: CallerRequestKind }> =>
  request.kind === 'client' || waitsForPerson(request)
