/**
 * Defines the RPC interface between a session and the Durable Object that owns its container. Failures are plain
 * values, because errors lose their class and fields between objects. ContainerBox implements it.
 */

import type { RestoreOutcome, ScriptResult } from '../host/host-port.ts'
import type { Egress } from './egress.ts'

/** Codes and fields as the container reports them. */
export type SandboxFailure = {
  readonly code: string
  readonly message: string
  /** The request has started, as far as is known. */
  readonly admitted?: boolean | undefined
  readonly retryable?: boolean | undefined
  readonly retryAfterMs?: number | undefined
  /** The platform has said that the container ended. */
  readonly hasEnded?: boolean | undefined
}

export type SandboxResult<T> = { readonly ok: T } | { readonly trouble: SandboxFailure }

export type SandboxPort = {
  /** Applies the egress rules before the script runs. */
  readonly run: (script: string, timeoutMs: number, egress: Egress) => Promise<SandboxResult<ScriptResult>>
  readonly read: (path: string) => Promise<SandboxResult<Uint8Array>>
  readonly write: (path: string, bytes: Uint8Array) => Promise<SandboxResult<null>>
  readonly restore: () => Promise<SandboxResult<RestoreOutcome>>
  readonly destroy: () => Promise<SandboxResult<null>>
}
