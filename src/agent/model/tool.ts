/** What a tool is, seen from the loop. `defineTool` in src/tools makes these. */

import type { Assessment, Risk } from './approval.ts'
import type { ExecutionBackend } from './backend.ts'
import type { Clock } from './clock.ts'
import type { Documents } from './document.ts'
import type { ImagePart, Message, TextPart, ToolMessage } from './message.ts'
import type { PendingRequest } from './pending-request.ts'
import type { Program, ProgramEnd } from './program.ts'
import type { Processes } from './process.ts'

/**
 * What a crash may repeat. `pure` runs again; `keyed` runs again with the same idempotency key (the
 * call id); `effect` never runs again: the model is told that the outcome is unknown.
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

/** One message found in the tenant's history, with what was said around it. */
export type HistoryHit = {
  readonly session_id: string
  readonly title: string | null
  readonly message_id: string
  readonly role: Message['role']
  /** ISO 8601, UTC. */
  readonly at: string
  /** About 200 characters around the first match, matches in «». */
  readonly snippet: string
}

export type HistoryMessage = {
  readonly id: string
  readonly seq: number
  readonly role: Message['role']
  /** Its text, cut when it is long. */
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

/** The tenant's own past, and nobody else's. Message numbers are `seq` of the session. */
export type History = {
  /** Newest first. */
  readonly recent: (limit: number) => Promise<readonly HistorySession[]>
  readonly search: (query: string, limit: number, sort?: 'newest' | 'oldest') => Promise<readonly HistoryHit[]>
  /**
   * `around` = a message seq: `window` messages on each side. Without it: the first 20 and the last 10. Undefined
   * when there is no such session.
   */
  readonly read: (
    sessionId: string,
    range?: { readonly around: number; readonly window: number },
  ) => Promise<readonly HistoryMessage[] | undefined>
}

export type ShellState = { readonly cwd: string; readonly env: Readonly<Record<string, string>> }

/** What tools may ask for by name in `needs`; a tool sees only what it asked for. */
export type Services = {
  readonly backend: ExecutionBackend
  /** Reads files that need a parser of their own. */
  readonly documents: Documents
  readonly history: History
  readonly todos: { readonly read: () => readonly Todo[]; readonly write: (todos: readonly Todo[]) => void }
  /** Working directory and exported variables, kept from one command to the next. */
  readonly shell: { readonly read: () => ShellState; readonly write: (state: ShellState) => void }
  /** What runs in the background. */
  readonly processes: Processes
  /** Runs programs of the model. */
  readonly programs: Programs
  /** Somebody is there to answer a question. */
  readonly person: true
}
export type ServiceName = keyof Services

export type CallContext = {
  readonly sessionId: string
  /** Unique per call and stable across repeats: tools pass it on as an idempotency key. */
  readonly callId: string
  readonly signal: AbortSignal
  readonly clock: Clock
  /** The model that reads the result sees images. */
  readonly seesImages?: boolean
}

export type Tool = {
  readonly name: string
  readonly toolset: string
  readonly description: string
  /** What is added to the description, where that depends on the other tools of the session. */
  readonly describeWith?: (toolbox: Toolbox) => string
  readonly inputSchema: object
  readonly needs: readonly ServiceName[]
  /** A session gets the tool only when it has one of these roles. Absent: no role is needed. */
  readonly roles?: readonly string[]
  readonly effect: Effect
  /** Where it depends on the input. */
  readonly effectOf?: (input: unknown) => Effect
  readonly risk: (input: unknown) => Risk
  /** Judges the input more closely than by its risk alone. */
  readonly assess?: (input: unknown, services: Partial<Services>) => Assessment | undefined
  /**
   * The things a call touches, in canonical names (paths). Calls with disjoint lists may run side by
   * side; 'nothing' runs beside everything; 'alone' is a barrier.
   */
  readonly touches: (input: unknown, services: Partial<Services>) => readonly string[] | 'nothing' | 'alone'
  /** Characters of result kept in the transcript before it is spilled; Infinity = the tool pages itself. */
  readonly maxResultChars?: number
  /** Never throws for bad input or an expected failure: those are results that tell the model what to do. */
  readonly run: (input: unknown, context: CallContext, services: Partial<Services>) => Promise<ToolResult>
}

export type Toolbox = ReadonlyMap<string, Tool>

/** Where programs run, and the way of their calls back to the tools. */
export type Programs = {
  /** Always answers, even for an isolate that died. */
  readonly run: (program: Program) => Promise<ProgramEnd>
  /** The tool of this name, when the session has it. */
  readonly tool: (name: string) => Tool | undefined
  /**
   * Which things a call touches, as outside of programs: calls that touch the same wait for each other.
   */
  readonly touches: (tool: Tool, input: unknown) => ReturnType<Tool['touches']>
  /** Through the dispatcher, as a call of the model; what would wait for a person is refused. */
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
