/**
 * Defines the RPC interface between a session and its shell, which may run in another isolate. Errors are values,
 * because the other isolate would report a thrown one as uncaught.
 */

import type { OmittedOutput } from '#agent/core/backend.ts'

export type ShellRequest = {
  readonly command: string
  readonly cwd: string
  readonly env: Readonly<Record<string, string>>
  readonly stdin?: string | undefined
  readonly timeoutMs: number
  readonly maxOutput: number
  /** Output is sent after each statement with `ShellHost.print`. `moved`: the answer has only the rest. */
  readonly streams?: 'moved' | 'copied' | undefined
  /** The session has a network: `ShellHost.fetch` can be used. */
  readonly network?: boolean
}

export type ShellAnswer = {
  readonly exitCode: number
  readonly stdout: string
  readonly stderr: string
  readonly truncated: boolean
  readonly omitted?: OmittedOutput | undefined
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
  /** The last URL, after redirects. */
  readonly url: string
}

/** The operations that a session offers to its shell. */
export type ShellHost = {
  readonly call: (operation: string, args: readonly unknown[]) => Promise<FileAnswer>
  /** Resolves with a `NetworkAnswer` or an error. */
  readonly fetch: (request: NetworkRequest) => Promise<FileAnswer>
  /** Sends output of a streaming request, in order. */
  readonly print: (text: string) => Promise<void>
  /** Resolves when the command has to stop. */
  readonly stopped: () => Promise<void>
}

export type RunShell = (host: ShellHost, request: ShellRequest) => Promise<ShellAnswer>
