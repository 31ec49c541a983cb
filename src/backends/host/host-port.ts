/**
 * Defines what a host must offer to become a backend: run a script, read and write a file, be destroyed. Everything
 * else is shell code (scripts.ts), which is the same on every host.
 */

import type { BackendKind, BackendCapabilities } from '#agent/core/backend.ts'

/** `code` is null when it is unknown. `output` is standard output, text without NUL; scripts print nothing to stderr. */
export type ScriptResult = {
  readonly code: number | null
  readonly output: string
  /** A message about the host for the output of the next command. */
  readonly note?: string
}

export type HostPort = {
  /** Runs a bash script to its end. Throws BackendError when the host cannot be reached or started. */
  readonly run: (script: string, timeoutMs: number) => Promise<ScriptResult>
  readonly read: (path: string) => Promise<Uint8Array>
  /** The folder must exist. */
  readonly write: (path: string, bytes: Uint8Array) => Promise<void>
  readonly destroy: () => Promise<void>
  /** Restores the workspace from its copies, unless it is newer than they are. */
  readonly restore?: () => Promise<RestoreOutcome>
}

/**
 * How a workspace came to a host without our mark: from its last copy, from an `older` one because the last one is damaged,
 * not at all (`lost`), or it was there and newer than its copies (`live`), so that it was left alone.
 */
export type RestoreOutcome = 'restored' | 'older' | 'live' | 'lost'

/** Reads and writes what a session stores about a host. */
export type HostMemory = {
  readonly read: () => HostRecord
  readonly write: (record: HostRecord) => void
}
export type HostRecord = {
  /** The workspace has been prepared before. If it is missing now, it was lost. */
  readonly begun?: boolean | undefined
  /** Events of the host, for the output of the next command. */
  readonly notes?: readonly string[] | undefined
  /** Data of the port, such as the id of the host. */
  readonly id?: string | undefined
}

export type HostOptions = {
  readonly kind: BackendKind
  readonly port: HostPort
  readonly root: string
  readonly network: BackendCapabilities['network']
  readonly languages: readonly string[]
  readonly describe: string
  readonly memory: HostMemory
  /** The folder for our own files, by default beside the workspace. Its absence identifies a new host. */
  readonly state?: string
  /** The second folder whose files belong to the session. */
  readonly temporary?: string
  /** Globs of entries of the temporary folder that the host's own server needs. */
  readonly serverFiles?: readonly string[]
}
