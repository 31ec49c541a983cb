/** Defines a tool and the services it may use. `defineTool` in src/tools creates tools. */

import type { Assessment, Risk } from './approval.ts'
import type { Authority } from './authority.ts'
import type { ExecutionBackend } from './backend.ts'
import type { Clock } from './clock.ts'
import type { Documents } from './document.ts'
import type { ImagePart, Message, TextPart, ToolMessage } from './message.ts'
import type { PendingRequest } from './pending-request.ts'
import type { Program, ProgramEnd } from './program.ts'
import type { Processes } from './process.ts'

/**
 * Whether a call may run again after a crash. `pure` runs again; `keyed` runs again with the call id as its idempotency
 * key; `effect` never runs again, and the result states that the outcome is unknown.
 */
export type Effect = 'pure' | 'keyed' | 'effect'

export type { Risk } from './approval.ts'

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
  readonly message_id: string
  readonly role: Message['role']
  /** ISO 8601, UTC. */
  readonly at: string
  /** About 200 characters around the first match. Matches are in «». */
  readonly snippet: string
}

export type HistoryMessage = {
  readonly id: string
  readonly seq: number
  readonly role: Message['role']
  /** The text; truncated when it is long. */
  readonly content: string
  /** ISO 8601, UTC. */
  readonly at: string
}

export type HistorySession = {
  readonly session_id: string
  readonly title: string | null
  readonly source: string
  /** ISO 8601, UTC. */
  readonly updated_at: string
}

/** Reads the history of one tenant, as far as the authority of the call reaches. Message numbers are `seq` of the session. */
export type History = {
  /** Newest first. */
  readonly recent: (limit: number) => Promise<readonly HistorySession[]>
  readonly search: (query: string, limit: number, sort?: 'newest' | 'oldest') => Promise<readonly HistoryHit[]>
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

/** The services that tools may name in `needs`. A tool gets only those it names. */
export type Services = {
  readonly backend: ExecutionBackend
  /** Extracts text from documents. */
  readonly documents: Documents
  readonly history: History
  readonly todos: { readonly read: () => readonly Todo[]; readonly write: (todos: readonly Todo[]) => void }
  /** The working directory and the exported variables between commands. */
  readonly shell: { readonly read: () => ShellState; readonly write: (state: ShellState) => void }
  /** Background processes. */
  readonly processes: Processes
  /** Programs of the model. */
  readonly programs: Programs
  /** A person can answer questions. */
  readonly person: true
}
export type ServiceName = keyof Services

export type CallContext = {
  readonly sessionId: string
  /** For whom the call acts, and what it may do. */
  readonly authority: Authority
  /** Unique per call and stable across repetitions, so tools use it as an idempotency key. */
  readonly callId: string
  readonly signal: AbortSignal
  readonly clock: Clock
  /** Whether the model can read images. */
  readonly seesImages?: boolean
  /** Shows clients what the call prints while it runs. They get a bounded part of it, with secrets masked. */
  readonly reportProgress?: (text: string) => void
}

export type Tool = {
  readonly name: string
  readonly toolset: string
  readonly description: string
  /** Creates the part of the description that depends on the other tools of the session. */
  readonly describeWith?: (toolbox: Toolbox) => string
  readonly inputSchema: object
  readonly needs: readonly ServiceName[]
  /** A session gets the tool only when it has one of these roles. Absent: no role is needed. */
  readonly roles?: readonly string[]
  readonly effect: Effect
  /** The effect of one call, when it depends on the input. */
  readonly effectOf?: (input: unknown) => Effect
  readonly risk: (input: unknown) => Risk
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
  /** Never rejects, even when the isolate crashes. */
  readonly run: (program: Program) => Promise<ProgramEnd>
  /** Returns the tool with this name, if the session has it. */
  readonly tool: (name: string) => Tool | undefined
  /** Returns the resources of a call. Calls with a common resource wait for each other. */
  readonly touches: (tool: Tool, input: unknown) => ReturnType<Tool['touches']>
  /** Dispatches a call like one of the model, but refuses it when it needs a person. */
  readonly dispatch: (call: NestedRequest) => Promise<ToolMessage>
}

export type NestedRequest = {
  /** The call of the program. */
  readonly parent: string
  readonly id: string
  readonly tool: Tool
  readonly input: unknown
  readonly signal: AbortSignal
}
