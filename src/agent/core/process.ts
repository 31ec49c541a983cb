/** Defines the port of background processes for tools. */

import type { EndReason, LossReason } from './backend.ts'
import type { Authority } from './permission/authority.ts'

/** `lost`: the host is gone or was replaced, so the exit code is unknown, and `endedAt` is when that was noticed. */
export type ProcessState =
  | { readonly at: 'running' }
  | {
      readonly at: 'exited'
      readonly exitCode: number
      readonly endedAt: number
      readonly reason?: EndReason | undefined
      readonly killed?: true
    }
  | { readonly at: 'lost'; readonly endedAt: number; readonly reason?: LossReason | undefined }

const reasons: Readonly<Record<EndReason | LossReason, string>> = {
  disk: 'the disk is full',
  memory: 'the host ran out of memory',
  timeout: 'its time limit was reached',
  stopped: 'it was stopped',
  replaced: 'its host was replaced, or something removed its record',
  restarted: 'it vanished from its host, which may have restarted',
  unreachable: 'its host does not answer any more',
}

/** Explains why a process did not end by itself, or why its end is unknown. */
export function explainEnd(state: ProcessState): string | undefined {
  if (state.at === 'running') return undefined
  return state.reason ? reasons[state.reason] : state.at === 'lost' ? reasons.replaced : undefined
}

export type ProcessView = {
  readonly id: string
  readonly command: string
  readonly cwd: string
  /** The process id on the host, if it has one. */
  readonly pid?: number
  /** The process has a terminal device. */
  readonly pty?: true
  /** Milliseconds since 1970. */
  readonly startedAt: number
  readonly state: ProcessState
  /** Whether a message reports the end of the process. */
  readonly notify: boolean
  /** Texts to watch for in the output; empty after watching has ended. */
  readonly watching: readonly string[]
}

export type ProcessStart = {
  /** The call that starts the process. A second start with the same call changes nothing. */
  readonly callId: string
  /** The authority of that call. */
  readonly by: Authority
  readonly command: string
  /** Whether the process gets a terminal device. */
  readonly pty: boolean
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  readonly timeoutMs: number
  readonly notify: boolean
  readonly watch: readonly string[]
}

/** The process with this id or unique id prefix, or the candidates. */
export type ProcessLookup = { readonly process: ProcessView } | { readonly candidates: readonly string[] }

/** The processes of one session. Methods that ask the host reject with a `BackendError` when it cannot answer. */
export type Processes = {
  readonly start: (request: ProcessStart) => Promise<ProcessView>
  /** Lists the processes by their last known state, oldest first. */
  readonly list: () => readonly ProcessView[]
  readonly find: (id: string) => ProcessLookup
  /** Asks the host for the current state. */
  readonly refresh: (id: string) => Promise<ProcessView>
  /** Resolves when the process has ended, after the timeout, or when the signal aborts. */
  readonly wait: (id: string, timeoutMs: number, signal: AbortSignal) => Promise<ProcessView>
  /** Returns the last 200 000 characters of the output. */
  readonly output: (id: string) => Promise<string>
  /** Writes to the standard input. `unsure`: an earlier attempt of the call may have written it. */
  readonly write: (id: string, input: ProcessInput) => Promise<'written' | 'unsure'>
  readonly kill: (id: string) => Promise<ProcessView>
  /** Marks the end as reported to the model, so that no message follows. */
  readonly markReported: (id: string) => void
}

export type ProcessInput = {
  readonly callId: string
  /** The authority of the call. */
  readonly by: Authority
  readonly text: string
  readonly close: boolean
}
