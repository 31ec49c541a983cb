/**
 * What passes between a session and its shell, which may run in another isolate: plain values only, and
 * an error is a value too, because a thrown one is reported as uncaught on the far side.
 */

export type ShellRequest = {
  readonly command: string
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  readonly stdin?: string | undefined
  readonly timeoutMs: number
  readonly maxOutput: number
  /** What is printed is told as it comes, statement by statement, and the answer has the rest. */
  readonly streams?: boolean
  /** There is a way out: `ShellHost.fetch` answers. */
  readonly network?: boolean
}

export type ShellAnswer = {
  readonly exitCode: number
  readonly stdout: string
  readonly stderr: string
  readonly truncated: boolean
  readonly timedOut: boolean
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  readonly unset: readonly string[]
}

export type FileAnswer = { readonly ok: unknown } | { readonly error: string }

export type NetworkRequest = {
  readonly url: string
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: Uint8Array<ArrayBuffer> | undefined
  readonly follow: boolean
  readonly timeoutMs?: number | undefined
}

export type NetworkAnswer = {
  readonly status: number
  readonly statusText: string
  readonly headers: Record<string, string>
  readonly body: Uint8Array
  /** The last one, when others led to it. */
  readonly url: string
}

/** What a shell may ask of its session. */
export type ShellHost = {
  readonly call: (operation: string, args: readonly unknown[]) => Promise<FileAnswer>
  /** A `NetworkAnswer`, or why there is none. */
  readonly fetch: (request: NetworkRequest) => Promise<FileAnswer>
  /** Output of a request that streams, in order. */
  readonly print: (text: string) => Promise<void>
  /** Answers when the caller no longer wants the command to go on. */
  readonly stopped: () => Promise<void>
}

export type RunShell = (host: ShellHost, request: ShellRequest) => Promise<ShellAnswer>
