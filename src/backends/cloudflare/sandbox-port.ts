/**
 * What the session asks of the object that owns its container. Answers and failures are plain values: errors lose
 * their class and their fields on the way from one object to another. Behind it stands one version of the SDK today
 * and the native container interface tomorrow; that is the one file that changes.
 */

import type { ScriptResult } from '../host/host-port.ts'
import type { Egress } from './egress.ts'

/** Names and fields as the container reports them. */
export type SandboxFailure = {
  readonly code: string
  readonly message: string
  /** It did begin, as far as is known. */
  readonly admitted?: boolean | undefined
  readonly retryable?: boolean | undefined
  readonly retryAfterMs?: number | undefined
}

export type SandboxResult<T> = { readonly ok: T } | { readonly trouble: SandboxFailure }

export type SandboxPort = {
  /** Nothing of the script runs before the container is closed to everything else. */
  readonly run: (script: string, timeoutMs: number, egress: Egress) => Promise<SandboxResult<ScriptResult>>
  readonly read: (path: string) => Promise<SandboxResult<Uint8Array>>
  readonly write: (path: string, bytes: Uint8Array) => Promise<SandboxResult<null>>
  /** False when nothing was saved. */
  readonly restore: () => Promise<SandboxResult<boolean>>
  readonly destroy: () => Promise<SandboxResult<null>>
}
