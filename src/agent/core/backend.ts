/**
 * Defines the port of an execution backend, which runs commands and stores files. A backend answers a missing capability
 * with a `BackendError` that carries a hint.
 */

export const backendKinds = ['virtual', 'cloudflare', 'http', 'daytona', 'e2b', 'vercel'] as const
export type BackendKind = (typeof backendKinds)[number]

export type BackendCapabilities = {
  readonly streaming: boolean
  readonly background: boolean
  /** Commands may have a terminal device. */
  readonly pty: boolean
  readonly network: 'none' | 'allowlist' | 'full'
  readonly languages: readonly string[]
  /** The workspace directory. Relative paths start here. */
  readonly root: string
  /** Reported by an `http` host: commands see nothing of the host but their workspace. */
  readonly isolated?: boolean
}

export type ExecOptions = {
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string>>
  readonly stdin?: string
  readonly timeoutMs: number
  readonly signal?: AbortSignal
  /** Maximum bytes of each stream. The middle of a longer stream is dropped and `truncated` is set. */
  readonly maxOutput?: number
  /** Receives output while the command runs, where the backend streams. The virtual shell does not tell streams apart. */
  readonly onOutput?: (stream: 'out' | 'err', chunk: string) => void
}

export type OmittedOutput = { readonly bytes: number; readonly lines: number }

/** `exitCode` is null when the command was killed, and 124 after a timeout as with coreutils. */
export type ExecResult = {
  readonly exitCode: number | null
  readonly stdout: string
  readonly stderr: string
  readonly truncated: boolean
  /** The total size cut from the middle of truncated streams. */
  readonly omitted?: OmittedOutput | undefined
  readonly timedOut: boolean
  /** The working directory at the end. The next command starts there. */
  readonly cwd: string
  /** Exported variables at the end that differ from the start. */
  readonly env: Readonly<Record<string, string>>
  /** Variables of the start that are no longer exported at the end. */
  readonly unset?: readonly string[]
  readonly ms: number
}

export type FileStat = {
  readonly path: string
  readonly type: 'file' | 'directory' | 'link'
  /** Bytes. */
  readonly size: number
  /** Milliseconds since 1970. */
  readonly modified: number
}

export type FileQuery = {
  readonly pattern: string
  /** `content`: lines matching the regular expression. `files`: paths matching the glob. */
  readonly target: 'content' | 'files'
  readonly path?: string
  readonly glob?: string
  /** Absolute paths of files whose content is not searched. */
  readonly exclude?: readonly string[]
  readonly context?: number
  readonly limit: number
  readonly offset: number
}

export type FileHit = {
  readonly path: string
  /** 1-based; absent for `files`. */
  readonly line?: number
  readonly text?: string
  readonly before?: readonly string[]
  readonly after?: readonly string[]
}

export type FileSearchResult = {
  readonly hits: readonly FileHit[]
  readonly total: number
  readonly truncated: boolean
}

/** A symbolic link, with its target as written. */
export type FileLink = { readonly path: string; readonly target: string }

/** Paths are absolute or relative to the workspace. A missing file is `undefined`, never an error. */
export type Files = {
  readonly read: (path: string) => Promise<Uint8Array | undefined>
  readonly write: (path: string, bytes: Uint8Array) => Promise<{ readonly created: boolean }>
  readonly stat: (path: string) => Promise<FileStat | undefined>
  /** Direct children, sorted by name. */
  readonly list: (path: string) => Promise<readonly FileStat[]>
  readonly remove: (path: string) => Promise<boolean>
  readonly move: (from: string, to: string) => Promise<void>
  readonly search: (query: FileQuery) => Promise<FileSearchResult>
  /** Lists the symbolic links of the workspace and of /tmp, those in node_modules if `isDeep`. Absent: there are none. */
  readonly links?: (isDeep: boolean) => Promise<readonly FileLink[]>
}

/**
 * Why a job did not end by itself. `disk`: the disk was full. `memory`: the host ran out of memory. `stopped`: somebody
 * ended it.
 */
export type EndReason = 'disk' | 'memory' | 'timeout' | 'stopped'
/** Why the end of a job is unknown. `restarted`: the host still exists, but the job vanished from it. */
export type LossReason = 'replaced' | 'restarted' | 'unreachable'

/** `lost`: the host is gone or was replaced, so the exit code is unknown. */
export type CommandState =
  | { readonly at: 'running' }
  | {
      readonly at: 'exited'
      readonly exitCode: number
      readonly reason?: EndReason | undefined
      /** Time since its end, by the clock of the host. */
      readonly endedMsAgo?: number | undefined
    }
  | { readonly at: 'lost'; readonly reason?: LossReason | undefined }

export type JobOptions = {
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string>>
  /** The job is killed after this time. */
  readonly timeoutMs: number
}

/**
 * Runs commands in the background. The caller names each job, so that it finds the job again after a crash. A second
 * start with the same id changes nothing.
 */
export type Jobs = {
  /** Returns the process id on the host, if it has one. */
  readonly start: (id: string, command: string, options: JobOptions) => Promise<number | undefined>
  readonly state: (id: string) => Promise<CommandState>
  /** Reads at most `max` bytes of both streams from byte `from` on. `next` is the byte to continue from. */
  readonly output: (id: string, from: number, max: number) => Promise<{ readonly text: string; readonly next: number }>
  /** Writes to the standard input; absent where jobs have none. Rejects when the job does not read for a while. */
  readonly write?: (id: string, text: string, close: boolean) => Promise<void>
  /** Kills the process tree. Resolves when it is gone. */
  readonly kill: (id: string) => Promise<void>
}

/** Thrown when a backend cannot do something. `hint` explains to the model or the operator what to do instead. */
export class BackendError extends Error {
  /** `full`: the disk of the host. `too_large`: one file. `quota`: any other limit. */
  readonly code: 'unsupported' | 'unavailable' | 'quota' | 'full' | 'too_large' | 'invalid'
  readonly hint: string
  constructor(code: BackendError['code'], message: string, hint = '') {
    super(message)
    this.name = 'BackendError'
    this.code = code
    this.hint = hint
  }
}

/**
 * How a file compares with what the agent has seen of it last. `unclear`: a command of the agent may have changed it.
 */
export type FileComparison = 'same' | 'unclear' | 'changed'

/** The agent's knowledge of files that others may change too. Paths are absolute. */
export type KnownFiles = {
  /** The agent has read or written these bytes. */
  readonly see: (path: string, bytes: Uint8Array) => Promise<void>
  /** `bytes`: the file as it is now. */
  readonly compare: (path: string, bytes: Uint8Array | undefined) => Promise<FileComparison>
}

export type ExecutionBackend = {
  readonly kind: BackendKind
  readonly capabilities: BackendCapabilities
  /** Asks the host for capabilities that are not known yet. Undefined when all are known; never rejects. */
  readonly learn?: () => Promise<void> | undefined
  /** Describes the backend and its limits in one or two sentences for the model. */
  readonly describe: () => string
  readonly exec: (command: string, options: ExecOptions) => Promise<ExecResult>
  readonly files: Files
  /** Absent: only the agent changes files. */
  readonly known?: KnownFiles | undefined
  /** Present exactly when `capabilities.background` is true. */
  readonly jobs?: Jobs
  /** Resolves a path to its absolute, normalised form, so that two spellings of one file are equal. */
  readonly resolve: (path: string, cwd?: string) => string
}
