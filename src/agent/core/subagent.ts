/** Defines subagents: the tasks that an agent delegates, the reports that come back, and the port that tools use. */

import type { Marks } from './marks.ts'
import type { ToolMessage } from './message.ts'
import type { Authority, ContributedRights } from './permission/authority.ts'
import type { Usage } from './usage.ts'

export type SubagentRole = 'leaf' | 'orchestrator'

export type SubagentTask = {
  readonly goal: string
  readonly context?: string | undefined
  readonly role: SubagentRole
  /** Names of toolsets and tools: it has those of its parent that are in one of them. Absent or empty: all. */
  readonly toolsets?: readonly string[] | undefined
  /** The JSON schema of the answer. */
  readonly outputSchema?: Readonly<Record<string, unknown>> | undefined
  /** `provider/model`. Absent: the model of the parent, unless the settings name another. */
  readonly model?: string | undefined
  /** The id of an ended subagent, which goes on with its history. */
  readonly resumes?: string | undefined
}

/**
 * `failed`: the run failed. `error`: it could not start. `interrupted`: it was stopped. `stalled`: it made no progress
 * and was stopped. `unknown`: its session was lost while it ran.
 */
export const subagentStatuses = ['completed', 'failed', 'error', 'interrupted', 'stalled', 'unknown'] as const
export type SubagentStatus = (typeof subagentStatuses)[number]

export type SubagentCall = {
  readonly tool: string
  readonly args_bytes: number
  readonly result_bytes: number
  readonly status: 'ok' | 'error'
}

/** A file that a subagent has changed. `conflict`: the parent's file has changed too, and stays as it is. */
export type SubagentFile = { readonly path: string; readonly change: 'created' | 'modified' | 'deleted' | 'conflict' }

/** The end of a subagent, as it reports it to its parent. */
export type SubagentReport = {
  readonly status: SubagentStatus
  readonly output: string
  readonly error?: string
  readonly exitReason: string
  readonly model: string | null
  readonly apiCalls: number
  /** Its own and that of its subagents. */
  readonly usage: Usage
  readonly durationMs: number
  readonly toolTrace: readonly SubagentCall[]
  /** Messages that came too late for it. */
  readonly missedSteers: readonly string[]
  /** Of what it has read. Absent in reports that are older than marks. */
  readonly marks?: Marks
  /** The rights of those who contributed to its run. Absent in reports without a run. */
  readonly contributors?: readonly ContributedRights[]
  readonly files?: readonly SubagentFile[]
}

/** The activity of a running subagent. `marker` changes with each progress. */
export type SubagentProgress = {
  readonly marker: number
  readonly activity: string
  readonly isInTool: boolean
  /** It waits for something whose end is known, such as subagents of its own. */
  readonly isWaiting: boolean
  readonly apiCalls: number
}

/** How many subagents may run at once, and how deep a tree may be. `depth`: that of the session; 0 for a conversation. */
export type SubagentLimits = { readonly maxConcurrent: number; readonly maxDepth: number; readonly depth: number }

export type SubagentView = {
  readonly subagent_id: string
  readonly delegation_id: string
  readonly task_index: number
  readonly goal: string
  readonly role: SubagentRole
  readonly status: 'queued' | 'running' | SubagentStatus
  readonly activity: string | null
  readonly seconds: number
}

export type SpawnRequest = {
  /** The same for a repetition of the call. */
  readonly callId: string
  readonly tasks: readonly SubagentTask[]
  readonly isBackground: boolean
  /** That of the call. */
  readonly authority: Authority
}

export type Spawned = { readonly delegationId: string; readonly isBackground: boolean; readonly note?: string }

/** A question to another session of the tenant. */
export type SessionQuestion = {
  readonly callId: string
  readonly sessionId: string
  readonly message: string
  /** That of the call. */
  readonly authority: Authority
}

/** `missed`: the subagent had ended already. */
export type SteerOutcome = 'sent' | 'missed'

/** The service of the tool `delegate_task`. */
export type Subagents = {
  readonly limits: () => SubagentLimits
  /** Stores the tasks and starts them. A string says why that is refused. */
  readonly spawn: (request: SpawnRequest) => Promise<Spawned | string>
  readonly list: () => readonly SubagentView[]
  /** Undefined when there is no such subagent. */
  readonly steer: (id: string, message: string, callId: string) => Promise<SteerOutcome | undefined>
  /** Stops one subagent, or all. Returns how many it stops; undefined when there is no such subagent. */
  readonly stop: (id?: string) => number | undefined
  /** Resolves with the results of a delegation by a program, or with nothing when the signal aborts. */
  readonly wait: (delegationId: string, signal: AbortSignal) => Promise<ToolMessage | undefined>
  /** Stores a question and sends it. Its answer comes as a message. Returns the id of the question; a string says why it is refused. */
  readonly ask: (question: SessionQuestion) => Promise<{ readonly questionId: string } | string>
}
