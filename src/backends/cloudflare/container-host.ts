/** Defines what an adapter of a container API offers. The SDK and the native API are behind it. */

import type { Egress } from './egress.ts'

/** Methods throw. An error may have `errorResponse`, as the errors of the SDK do (`toFailure`). */
export type ContainerHost = {
  readonly applyEgress: (egress: Egress) => Promise<void>
  /** The answer of the platform. A paused container counts as running. */
  readonly isRunning: () => boolean
  /** Runs a bash script in a process of its own, and starts the container if needed. The output may be cut. */
  readonly exec: (script: string, timeoutMs: number) => Promise<{ readonly stdout: string }>
  /** `size`: the size of the file as the container reports it. */
  readonly readFile: (path: string) => Promise<{ readonly bytes: Uint8Array; readonly size: number }>
  readonly writeFile: (path: string, bytes: Uint8Array) => Promise<void>
  /** Stops the container. Its files and processes are lost. */
  readonly destroy: () => Promise<void>
  /** Renews the time after which the platform stops an idle container. */
  readonly keepAwake?: () => Promise<void>
  /** Begins with a new connection to the platform, for a container that fails to start again and again. */
  readonly reset?: () => void
}
