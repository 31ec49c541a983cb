/**
 * Where commands run and files live: the one port every execution backend implements. A capability
 * a backend does not have is a typed `Unsupported` answer with a hint, never a crash.
 */

export const backendKinds = ['virtual', 'cloudflare', 'http', 'daytona', 'e2b', 'vercel'] as const
export type BackendKind = (typeof backendKinds)[number]

export type Capabilities = {
  readonly streaming: boolean
  readonly background: boolean
  /** Commands may have a terminal device. */
  readonly pty: boolean
  readonly network: 'none' | 'allowlist' | 'full'
  readonly languages: readonly string[]
  /** The workspace: relative paths start here. */
  readonly root: string
  /** Of a machine that may be anybody's (`http`): it says that commands see nothing of it but their workspace. */
  readonly isolated?: boolean
}

export type ExecOptions = {
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string>>
  readonly stdin?: string
  readonly timeoutMs: number
  readonly signal?: AbortSignal
  /** Bytes kept of each stream; what is over is dropped from the middle and `truncated` is set. */
  readonly maxOutput?: number
  readonly onOutput?: (stream: 'out' | 'err', chunk: string) => void
}

/** `exitCode` is null when the command was killed; a time-out reports 124, as coreutils do. */
export type ExecResult = {
  readonly exitCode: number | null
  readonly stdout: string
  readonly stderr: string
  readonly truncated: boolean
  readonly timedOut: boolean
  /** Where the shell stood at the end; the next command starts there. */
  readonly cwd: string
  /** Exported variables at the end, only those that differ from the start. */
  readonly env: Readonly<Record<string, string>>
  /** Of the variables it was given, those that are not exported any more at the end. */
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

export type SearchQuery = {
  readonly pattern: string
  /** `content`: lines matching the regular expression. `files`: paths matching the glob. */
  readonly target: 'content' | 'files'
  readonly path?: string
  readonly glob?: string
  readonly context?: number
  readonly limit: number
  readonly offset: number
}

export type SearchHit = {
  readonly path: string
  /** 1-based; absent for `files`. */
  readonly line?: number
  readonly text?: string
  readonly before?: readonly string[]
  readonly after?: readonly string[]
}

export type SearchResult = { readonly hits: readonly SearchHit[]; readonly total: number; readonly truncated: boolean }

/** Paths are absolute or relative to the workspace. A missing file is `undefined`, never an error. */
export type Files = {
  readonly read: (path: string) => Promise<Uint8Array | undefined>
  readonly write: (path: string, bytes: Uint8Array) => Promise<{ readonly created: boolean }>
  readonly stat: (path: string) => Promise<FileStat | undefined>
  /** Direct children, sorted by name. */
  readonly list: (path: string) => Promise<readonly FileStat[]>
  readonly remove: (path: string) => Promise<boolean>
  readonly move: (from: string, to: string) => Promise<void>
  readonly search: (query: SearchQuery) => Promise<SearchResult>
}

/** `lost`: the machine it ran on is gone or was replaced, and nobody knows how it ended. */
export type JobState =
  | { readonly at: 'running' }
  | { readonly at: 'exited'; readonly exitCode: number }
  | { readonly at: 'lost' }

export type JobOptions = {
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string>>
  /** It is killed after this time. */
  readonly timeoutMs: number
}

/**
 * Commands that go on when the call that started them has ended. They are named by the caller, so that one
 * who died in between finds them again; starting an id twice is starting it once.
 */
export type Jobs = {
  /** The process id, for who is on the machine; none where there are no processes. */
  readonly start: (id: string, command: string, options: JobOptions) => Promise<number | undefined>
  readonly state: (id: string) => Promise<JobState>
  /** Output of both streams from byte `from` on, at most `max` bytes, and where to go on. */
  readonly output: (id: string, from: number, max: number) => Promise<{ readonly text: string; readonly next: number }>
  /** Absent where a job has no standard input. What a job does not read at all is refused after a while. */
  readonly write?: (id: string, text: string, close: boolean) => Promise<void>
  /** The whole tree. Resolves when it is gone. */
  readonly kill: (id: string) => Promise<void>
}

/** What a backend throws when it cannot: `hint` tells the model or the operator what to do instead. */
export class BackendError extends Error {
  readonly code: 'unsupported' | 'unavailable' | 'quota' | 'invalid'
  readonly hint: string
  constructor(code: BackendError['code'], message: string, hint = '') {
    super(message)
    this.name = 'BackendError'
    this.code = code
    this.hint = hint
  }
}

export type ExecutionBackend = {
  readonly kind: BackendKind
  readonly capabilities: Capabilities
  /** Asks for what `capabilities` cannot tell by themselves. Undefined when nothing has to be asked; never rejects. */
  readonly learn?: () => Promise<void> | undefined
  /** One or two sentences for the model: what this machine is and what it lacks. */
  readonly describe: () => string
  readonly exec: (command: string, options: ExecOptions) => Promise<ExecResult>
  readonly files: Files
  /** Present exactly when `capabilities.background` is true. */
  readonly jobs?: Jobs
  /** Absolute, normalised form of a path: the name under which two spellings of one file are the same. */
  readonly resolve: (path: string, cwd?: string) => string
}
