/**
 * The little that a rented machine has to offer to be a backend: run a script, read and write a file, go away.
 * Everything else is shell (scripts.ts), the same on each of them.
 */

import type { BackendKind, Capabilities } from '../../agent/model/backend.ts'

/** `code` is null when nobody knows it. `output` is standard output, text without NUL; scripts print nothing else. */
export type ScriptResult = { readonly code: number | null; readonly output: string }

export type HostPort = {
  /** A bash script, from start to end. Throws BackendError when the machine cannot be reached or told to start. */
  readonly run: (script: string, timeoutMs: number) => Promise<ScriptResult>
  readonly read: (path: string) => Promise<Uint8Array>
  /** The folder is there. */
  readonly write: (path: string, bytes: Uint8Array) => Promise<void>
  readonly destroy: () => Promise<void>
  /** Brings the workspace back from where it was last saved. False when it was not. */
  readonly restore?: () => Promise<boolean>
}

/** What is known of a machine from one life of the session to the next. */
export type HostMemory = {
  readonly read: () => HostRecord
  readonly write: (memory: HostRecord) => void
}
export type HostRecord = {
  /** The workspace was there once. One that is empty now was lost. */
  readonly begun?: boolean | undefined
  /** What the port wants to remember, such as the id of the machine. */
  readonly id?: string | undefined
}

export type HostOptions = {
  readonly kind: BackendKind
  readonly port: HostPort
  readonly root: string
  readonly network: Capabilities['network']
  readonly languages: readonly string[]
  readonly describe: string
  readonly memory: HostMemory
  /** Where we keep what commands need; gone with the machine, which is how a new one is known. */
  readonly state?: string
  /** The other place whose files belong to the session. */
  readonly temporary?: string
}
