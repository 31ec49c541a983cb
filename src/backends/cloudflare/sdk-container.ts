/**
 * Implements `ContainerHost` with version 0.12.10 of the SDK. Its default session ends or hangs with `exit`, so that every
 * script runs in a process of its own. Copies go through the bucket binding: the other way runs `curl` inside of the
 * container, which closed egress refuses.
 */

import { decodeBase64Bytes, encodeBase64Bytes } from '#agent/core/base64.ts'
import type { ContainerHost, WorkspaceCopy } from './container-host.ts'
import { applyEgress, type EgressControl, type EgressVariables } from './egress.ts'

/** The methods of the SDK's `Sandbox` that are used. */
export type SdkSandbox = EgressControl & {
  readonly execWithSessionToken: (
    command: string,
    sessionId: string,
    options: { readonly timeout: number },
  ) => Promise<{ readonly exitCode: number; readonly stdout: string }>
  readonly readFile: (
    path: string,
    options: FileOptions,
  ) => Promise<{ readonly content: string; readonly size?: number | undefined }>
  readonly writeFile: (path: string, content: string, options: FileOptions) => Promise<unknown>
  readonly createBackup: (options: {
    dir: string
    ttl: number
    localBucket: boolean
  }) => Promise<WorkspaceCopy & { readonly dir: string }>
  readonly restoreBackup: (copy: WorkspaceCopy & { readonly dir: string }) => Promise<unknown>
  readonly destroy: () => Promise<void>
}
type FileOptions = { readonly encoding: 'base64'; readonly sessionId: string }

export type SdkContainerOptions = {
  readonly sandbox: SdkSandbox
  readonly variables: EgressVariables
  readonly bucket: Pick<R2Bucket, 'delete'> | undefined
  /** Lets the SDK forget a copy operation that hangs: it queues all later ones behind it. */
  readonly abandonCopy: () => void
  readonly workspace?: string
}

/** Makes the SDK run a command outside of any session. */
const noSession = '__DISABLE_SESSION__'
const fileOptions: FileOptions = { encoding: 'base64', sessionId: noSession }
const keepSeconds = 30 * 24 * 3600

export function sdkContainer({ sandbox, variables, ...options }: SdkContainerOptions): ContainerHost {
  const { bucket, abandonCopy, workspace = '/workspace' } = options
  return {
    applyEgress: (egress) => applyEgress(sandbox, egress, variables),
    exec: (script, timeout) => sandbox.execWithSessionToken(script, noSession, { timeout }),
    async readFile(path) {
      const { content, size } = await sandbox.readFile(path, fileOptions)
      const bytes = decodeBase64Bytes(content)
      return { bytes, size: size ?? bytes.byteLength }
    },
    writeFile: async (path, bytes) => void (await sandbox.writeFile(path, encodeBase64Bytes(bytes), fileOptions)),
    destroy: () => sandbox.destroy(),
    copies: bucket && {
      create: () => sandbox.createBackup({ dir: workspace, ttl: keepSeconds, localBucket: true }),
      restore: async (copy) => void (await sandbox.restoreBackup({ dir: workspace, ...copy })),
      remove: ({ id }) => bucket.delete([`backups/${id}/data.sqsh`, `backups/${id}/meta.json`]),
      abandon: abandonCopy,
    },
  }
}
