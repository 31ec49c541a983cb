/** Defines a tool and the services it may use. `defineTool` in src/tools creates tools. */

import type { Marks } from './marks.ts'
import type { Learnings } from './recall/learnings.ts'
import type { ToolSchema } from './request/tool-schema.ts'
import type { Memory } from './recall/memory.ts'
import type { Assessment, Risk } from './permission/approval.ts'
import type { Authority } from './permission/authority.ts'
import type { ShellPolicy } from './permission/shell-policy.ts'
import type { ExecutionBackend } from './backend.ts'
import type { Browser } from './browser/browser.ts'
import type { Clock } from './clock.ts'
import type { DocumentWriter } from './media/document-writer.ts'
import type { Documents } from './media/document.ts'
import type { Media, Vision } from './media/media.ts'
import type { ImagePart, Message, MessageSource, TextPart, ToolMessage } from './message.ts'
import type { JobScheduler } from './job-scheduler.ts'
import type { Continuation, EndedProgram, PendingRequest } from './pending-request.ts'
import type { Program, ProgramEnd } from './program.ts'
import type { Skills } from './skills/skill.ts'
import type { Processes } from './process.ts'
import type { SubagentLimits, Subagents } from './subagent.ts'
import type { Availability, ToolDeployment } from './vendor/tool-deployment.ts'
import type { WebPort } from './vendor/web.ts'

/**
 * Whether a call may run again after a crash. `pure` runs again; `once` changes nothing either, but never runs again,
 * because it may have caused the crash; `keyed` runs again with the call id as its idempotency key; `effect` never runs
 * again, and the result states that the outcome is unknown.
 */
export type Effect = 'pure' | 'once' | 'keyed' | 'effect'

/**
 * How far a call of a server reaches that destroys nothing, by the annotations of a server that the tenant trusts: `own`
 * ends in what the server holds; `open` may pass its arguments on to others.
 */
export type Reach = 'own' | 'open'

export const changesNothing = (effect: Effect | undefined): boolean => effect === 'pure' || effect === 'once'

export type { Risk } from './permission/approval.ts'

export type ToolResult =
  | { readonly content: readonly (TextPart | ImagePart)[]; readonly failed: boolean }
  | { readonly later: PendingRequest }

export type Todo = {
  readonly id: string
  readonly content: string
  readonly status: 'pending' | 'in_progress' | 'completed' | 'cancelled'
}

/** A message found in the tenant's history, with an excerpt. */
export type HistoryHit = {
  readonly session_id: string
  readonly title: string | null
  /** The source of the session. */
  readonly source: string
  readonly message_id: string
  readonly role: Message['role']
  /** The source of the message, when no person wrote it. */
  readonly message_source?: MessageSource
  /** ISO 8601, UTC. */
  readonly at: string
  /** About 200 characters around the first match. Matches are in «». */
  readonly snippet: string
  /** Absent: of a title, which has none. */
  readonly marks?: Marks
}

export type HistoryMessage = {
  readonly id: string
  readonly seq: number
  readonly role: Message['role']
  /** The source of the message, when no person or model wrote it. */
  readonly message_source?: MessageSource
  /** The text; truncated when it is long. */
  readonly content: string
  readonly marks?: Marks
  /** ISO 8601, UTC. */
  readonly at: string
}

export type HistorySession = {
  readonly session_id: string
  readonly title: string | null
  readonly source: string
  /** ISO 8601, UTC. */
  readonly updated_at: string
  /** Absent: not counted. */
  readonly message_count?: number
  readonly tool_call_count?: number
  /** Those that were called, the most used ones first. */
  readonly tools: readonly string[]
  readonly tags: readonly string[]
  /** A line about what was said, with its marks. */
  readonly summary?: string
  readonly marks?: Marks
}

/** The filter of a search. Times are milliseconds since 1970: `from` on, and before `to`. */
export type SearchFilter = {
  readonly from?: number | undefined
  readonly to?: number | undefined
  /** The source of sessions. */
  readonly source?: string | undefined
  readonly session?: string | undefined
  readonly tag?: string | undefined
  /** The name of a tool that was called in the session. */
  readonly tool?: string | undefined
  readonly role?: string | undefined
  /** The name before the messages of a person in a group. */
  readonly person?: string | undefined
}

/** Reads the history of one tenant, as far as the authority of the call reaches. Message numbers are `seq` of the session. */
export type HistoryPort = {
  /** Newest first; runs of jobs come last. Without subagents and the lineage of the calling session. */
  readonly recent: (limit: number) => Promise<readonly HistorySession[]>
  /** Describes some sessions, in any order. */
  readonly describe: (sessionIds: readonly string[]) => Promise<readonly HistorySession[]>
  /** Best first, and runs of jobs after all others. Leaves out the same sessions as `recent`. */
  readonly search: (
    query: string,
    limit: number,
    sort?: 'newest' | 'oldest',
    filter?: SearchFilter,
  ) => Promise<readonly HistoryHit[]>
  /** Returns a message when a date of the query does not exist. Undefined when all do. */
  readonly findWrongDate?: (query: string) => Promise<string | undefined>
  /**
   * Reads `window` messages on each side of the seq `around`. Without a range: the first 20 and the last 10. Undefined
   * for an unknown session.
   */
  readonly read: (
    sessionId: string,
    range?: { readonly around: number; readonly window: number },
  ) => Promise<readonly HistoryMessage[] | undefined>
}

export type ShellState = { readonly cwd: string; readonly env: Readonly<Record<string, string>> }

export const maxCheckpointName = 64

/** Named states of the workspace. */
export type NamedCheckpoints = {
  readonly create: (name: string) => Promise<'created' | 'exists' | 'unsupported'>
  /** Counts files. `kept`: somebody else has changed them since. */
  readonly restore: (
    name: string,
    path: string | undefined,
  ) => Promise<
    | { readonly kind: 'done'; readonly restored: number; readonly kept: number }
    | { readonly kind: 'missing'; readonly names: readonly string[] }
  >
}

/** Asks a model beside the conversation. The session pays. */
export type SideModel = {
  readonly ask: (request: {
    readonly system: string
    readonly prompt: string
    readonly maxTokens?: number
    /** Whose settings choose the model. Default: `plugin`. */
    readonly task?: 'web_extract' | 'session_search'
    /** `costUsd`: undefined when no price is known. */
  }) => Promise<({ readonly text: string } | { readonly error: string }) & { readonly costUsd: number | undefined }>
}

/** The services that tools may name in `needs`. A tool gets only those it names. */
export type Services = {
  readonly backend: ExecutionBackend
  /** Extracts text from documents. */
  readonly documents: Documents
  /** Writes documents. */
  readonly documentWriter: DocumentWriter
  readonly history: HistoryPort
  readonly todos: { readonly read: () => readonly Todo[]; readonly write: (todos: readonly Todo[]) => void }
  /** The working directory and the exported variables between commands. */
  readonly shell: {
    readonly read: () => ShellState
    readonly write: (state: ShellState) => void
    /** Loads the judgement of command lines. */
    readonly policy: () => ShellPolicy | Promise<ShellPolicy>
    /** Masks secrets in an output before it is cut. Absent: only their formats are known. */
    readonly redact?: (text: string) => string
  }
  /** Background processes. */
  readonly processes: Processes
  /** Programs of the model. */
  readonly programs: Programs
  readonly skills: Skills
  /** Facts that last longer than the session. */
  readonly memory: Memory
  readonly learnings: Learnings
  readonly subagents: Subagents
  readonly checkpoints: NamedCheckpoints
  /** Prompts and scripts that run at their times. */
  readonly jobs: JobScheduler
  /** Makes images, speech and video. */
  readonly media: Media
  /** Analyses images. */
  readonly vision: Vision
  /** The one browser of the session. */
  readonly browser: Browser
  /** Model calls of plugins. */
  readonly model: SideModel
  /** A person can answer questions. */
  readonly person: true
  /** Searches and pages of the web. */
  readonly web: WebPort
}
export type ServiceName = keyof Services

export type CallContext = {
  readonly sessionId: string
  /** For whom the call acts, and what it may do. */
  readonly authority: Authority
  /** Unique per call of a turn. Some models number their calls anew in each turn. */
  readonly callId: string
  /** Unique per call and stable across repetitions, so tools use it as an idempotency key. */
  readonly callKey: string
  readonly signal: AbortSignal
  readonly clock: Clock
  /** Whether the model can read images. */
  readonly seesImages?: boolean
  /** The characters of a result that the context window has room for. A tool that pages its result keeps to them. */
  readonly maxResultChars?: number
  /** Reports what the call has read, where its tool and its input do not tell. */
  readonly addMarks?: (marks: Marks) => void
  /** Shows clients what the call prints while it runs. They get a bounded part of it, with secrets masked. */
  readonly reportProgress?: (text: string) => void
  /** The call has waited, and goes on from there. */
  readonly continues?: Continuation
  /** The most that the call may wait for. Absent: a person. */
  readonly mayWaitFor?: 'nothing' | 'work'
  /** Values that calls keep in memory while they wait. They are lost when the object is evicted. */
  readonly kept?: Map<string, unknown>
}

/** Facts about a session in the descriptions of tools. */
export type SessionFacts = { readonly subagents: SubagentLimits }

export type Tool = {
  readonly name: string
  readonly toolset: string
  readonly description: string
  /** Creates the part of the description that depends on the session. */
  readonly describeWith?: (toolbox: Toolbox, facts: SessionFacts) => string
  readonly inputSchema: object
  readonly search?: ToolSchema['search']
  readonly needs: readonly ServiceName[]
  /** Returns whether the deployment has what the tool needs beside services. Absent: it needs nothing. */
  readonly availability?: (deployment: ToolDeployment) => Availability
  readonly effect: Effect
  /** The effect of one call, when it depends on the input. */
  readonly effectOf?: (input: unknown) => Effect
  readonly risk: (input: unknown) => Risk
  /** Absent: unknown, or it may destroy something. */
  readonly reach?: Reach
  /** Assesses the input. Without it, the risk alone decides. */
  readonly assess?: (
    input: unknown,
    services: Partial<Services>,
  ) => Assessment | undefined | Promise<Assessment | undefined>
  /**
   * The resources of a call by canonical name, such as paths. Calls with disjoint lists may run at the same time;
   * 'nothing' runs beside every call; 'alone' is a barrier.
   */
  readonly touches: (input: unknown, services: Partial<Services>) => readonly string[] | 'nothing' | 'alone'
  /** Maximum characters of a result in the transcript; a longer one goes to a file. Infinity: the tool pages itself. */
  readonly maxResultChars?: number
  /** Time that one call may take. Absent: the dispatcher's default. Infinity: the call waits for a person. */
  readonly timeoutMs?: (input: unknown) => number
  /** Never throws for bad input or an expected failure: the result explains what to do. */
  readonly run: (input: unknown, context: CallContext, services: Partial<Services>) => Promise<ToolResult>
}

export type Toolbox = ReadonlyMap<string, Tool>

/** Runs programs and dispatches their tool calls. */
export type Programs = {
  /** Rejects only when the host of a Python program fails. An isolate that crashes is an end like others. */
  readonly run: (program: Program) => Promise<ProgramEnd>
  /** The tools of the session. */
  readonly toolbox: () => Toolbox
  /** Returns the resources of a call. Calls with a common resource wait for each other. */
  readonly touches: (tool: Tool, input: unknown) => ReturnType<Tool['touches']>
  /** Dispatches a call like one of the model, but refuses it when it needs a person. */
  readonly dispatch: (call: NestedRequest) => Promise<ToolMessage>
  /** The wait of a call whose program is over: for the subagents whose results the program does not have. */
  readonly leftWaiting: (parent: string, end: Pick<EndedProgram, 'answer' | 'failed'>) => PendingRequest | undefined
  /** The object `state` as JSON, which the programs of a turn share. It lasts as long as the turn. */
  readonly state: { readonly read: () => string | undefined; readonly keep: (json: string) => void }
}

export type NestedRequest = {
  /** The call of the program. */
  readonly parent: string
  readonly id: string
  readonly tool: Tool
  readonly input: unknown
  readonly signal: AbortSignal
  /** Called when nothing is left of the call but to wait for others. */
  readonly onWait: () => void
}
