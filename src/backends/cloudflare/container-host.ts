/** Defines what an adapter of a container API offers. The SDK and the native API are behind it (sandbox-object.ts). */

import type { Egress } from './egress.ts'

/** Names a copy of the workspace. It is stored as JSON. */
export type WorkspaceCopy = { readonly id: string }

/** Methods throw. An error may have `errorResponse`, as the errors of the SDK do (`toFailure`). */
export type ContainerHost = {
  readonly applyEgress: (egress: Egress) => Promise<void>
  /** Runs a bash script in a process of its own, and starts the container if needed. The output may be cut. */
  readonly exec: (script: string, timeoutMs: number) => Promise<{ readonly exitCode: number; readonly stdout: string }>
  /** `size`: the size of the file as the container reports it. */
  readonly readFile: (path: string) => Promise<{ readonly bytes: Uint8Array; readonly size: number }>
  readonly writeFile: (path: string, bytes: Uint8Array) => Promise<void>
  /** Stops the container. Its files and processes are lost. */
  readonly destroy: () => Promise<void>
  /** Undefined: there is no place for copies. */
  readonly copies: CopyPort | undefined
}

export type CopyPort = {
  readonly create: () => Promise<WorkspaceCopy>
  readonly restore: (copy: WorkspaceCopy) => Promise<void>
  /** Deletes the objects of a copy. */
  readonly remove: (copy: WorkspaceCopy) => Promise<void>
  /** Drops an operation that does not end, so that later ones do not wait for it. */
  readonly abandon: () => void
}
