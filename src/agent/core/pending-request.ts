/** Defines the pending requests of a turn: questions, approvals, tools of the client and outside work that a call waits for. */

import type { Marks } from './marks.ts'
import type { JsonObject } from './parse-json.ts'
import type { Risk } from './permission/approval.ts'

/**
 * The form that a server wants filled in, or the address that a person should visit. `message`: the words of the server;
 * absent in questions that an earlier version has stored.
 */
export type Elicitation = { readonly server: string; readonly message?: string } &
  /** `form`: the schema of its fields as JSON. Types of calls between objects cover no JSON of unknown shape. */
  (
    | { readonly mode: 'form'; readonly form: string }
    /** `host` is ASCII, so that no look-alike hides. */
    | { readonly mode: 'url'; readonly url: string; readonly host: string }
  )

/** The fields of the question of a server in events and answers of the API. */
export type ElicitationFields = {
  readonly kind?: 'elicitation'
  readonly server?: string
  readonly message?: string
  readonly mode?: 'form' | 'url'
  readonly schema?: JsonObject
  readonly url?: string
  readonly host?: string
}

export function describeElicitation(elicitation: Elicitation | undefined): ElicitationFields {
  if (!elicitation) return {}
  if (elicitation.mode === 'url') return { kind: 'elicitation', ...elicitation }
  const { form, ...rest } = elicitation
  return { kind: 'elicitation', ...rest, schema: JSON.parse(form) as JsonObject }
}

export type ElicitationAnswer = {
  readonly action: 'accept' | 'decline' | 'cancel'
  readonly content?: JsonObject | undefined
}

/** A question that a person answers: of the model, or of a server that a call has reached. */
export type QuestionRequest = {
  readonly kind: 'question'
  readonly question: string
  readonly choices: readonly string[]
  readonly multiSelect: boolean
  /** The question of a server. Its answer continues the call; that of another question is the result of the call. */
  readonly elicitation?: Elicitation
  /** The state that the call gets back with the answer, as JSON. */
  readonly state?: string
  /** Then the question counts as cancelled, in milliseconds since 1970. */
  readonly until?: number
}

/** Work of a server or another agent. The call continues at `until` and looks how far it is. */
export type TaskRequest = {
  readonly kind: 'task'
  /** The alias of the server, or the name of the agent. */
  readonly server: string
  readonly workId: string
  /** The state that the call gets back, as JSON. */
  readonly state: string
  /** Milliseconds since 1970. */
  readonly until: number
  /** The call that ends the work of an agent, with its input as JSON. Absent: the protocol of servers has one. */
  readonly cancel?: { readonly tool: string; readonly input: string }
}

/** Continues a call that has waited. `text`: an answer as a person has written it. */
export type Continuation = {
  readonly state: string
  readonly answer?: ElicitationAnswer | { readonly text: string }
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
  /** The call ran a program that is over. Its result waits for the subagents that the program had started. */
  readonly program?: EndedProgram
}

/** `answer`: the result of its call without the subagents, a JSON object. `marks`: of what it has read. */
export type EndedProgram = { readonly answer: string; readonly failed: boolean; readonly marks: Marks }

/** Waits for a person. */
export type PersonRequest = QuestionRequest | ApprovalRequest

export type PendingRequest = PersonRequest | ClientRequest | WorkRequest | TaskRequest

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
    case 'task':
      return false
  }
}

/** The kinds of requests that the caller of a run answers with its next request. */
export type CallerRequestKind = 'client' | 'approval' | 'question'

/** Whether the caller of the run brings the answer. The others are completed by other work. */
export const waitsForCaller = <Request extends { readonly kind: PendingRequest['kind'] }>(
  request: Request,
): request is Extract<Request, { readonly kind: CallerRequestKind }> =>
  request.kind === 'client' || waitsForPerson(request)
