/** Commands that go on in the background of a session, as tools see them. */

/** `lost`: the machine it ran on is gone or was replaced; nobody knows how it ended, and no code is made up. */
export type ProcessState =
  | { readonly at: 'running' }
  | { readonly at: 'exited'; readonly exitCode: number; readonly endedAt: number; readonly killed?: true }
  | { readonly at: 'lost'; readonly endedAt: number }

export type ProcessView = {
  readonly id: string
  readonly command: string
  readonly cwd: string
  /** On its machine, where that has processes. */
  readonly pid?: number
  /** It has a terminal device: a pager takes commands there. */
  readonly pty?: true
  /** Milliseconds since 1970. */
  readonly startedAt: number
  readonly state: ProcessState
  /** Its end is told in a message of its own. */
  readonly notify: boolean
  /** Texts that are watched for; empty once watching was given up. */
  readonly watching: readonly string[]
}

export type ProcessStart = {
  /** The call that starts it, which is its name: starting it twice is starting it once. */
  readonly callId: string
  readonly command: string
  /** With a terminal device. */
  readonly pty: boolean
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  readonly timeoutMs: number
  readonly notify: boolean
  readonly watch: readonly string[]
}

/** Which one is meant by an id or by its unique beginning. */
export type ProcessLookup = { readonly process: ProcessView } | { readonly candidates: readonly string[] }

/** The processes of one session. Whatever asks the machine rejects with a `BackendError` when that cannot be done. */
export type Processes = {
  readonly start: (request: ProcessStart) => Promise<ProcessView>
  /** As far as it is known here; oldest first. */
  readonly list: () => readonly ProcessView[]
  readonly find: (id: string) => ProcessLookup
  /** Asks the machine how it stands. */
  readonly refresh: (id: string) => Promise<ProcessView>
  /** Returns when it has ended, after this time, or when the signal says so. */
  readonly wait: (id: string, timeoutMs: number, signal: AbortSignal) => Promise<ProcessView>
  /** The last 200 000 characters it printed. */
  readonly output: (id: string) => Promise<string>
  /** Whether this call has sent it. `unsure`: an earlier life of the call may have. */
  readonly write: (id: string, input: ProcessInput) => Promise<'written' | 'unsure'>
  readonly kill: (id: string) => Promise<ProcessView>
  /** The model is being told how it ended: no message is needed any more. */
  readonly markReported: (id: string) => void
}

export type ProcessInput = { readonly callId: string; readonly text: string; readonly close: boolean }
