/**
 * Implements `ContainerHost` with version 0.12.10 of the SDK. Its default session ends or hangs with `exit`, so that every
 * script runs in a process of its own.
 */

import { decodeBase64Bytes, encodeBase64Bytes } from '#agent/core/base64.ts'
import type { ContainerHost } from './container-host.ts'
import { applyEgress, type EgressControl, type EgressVariables } from './egress.ts'

/** The methods of the SDK's `Sandbox` that are used. */
export type SdkSandbox = EgressControl & {
  readonly execWithSessionToken: (
    command: string,
    sessionId: string,
    options: { readonly timeout: number; readonly cwd: string },
  ) => Promise<{ readonly stdout: string }>
  readonly readFile: (
    path: string,
    options: FileOptions,
  ) => Promise<{ readonly content: string; readonly size?: number | undefined }>
  readonly writeFile: (path: string, content: string, options: FileOptions) => Promise<unknown>
  readonly destroy: () => Promise<void>
}
type FileOptions = { readonly encoding: 'base64'; readonly sessionId: string }

export type SdkContainerOptions = {
  readonly sandbox: SdkSandbox
  readonly variables: EgressVariables
  readonly isRunning: () => boolean
  readonly reset?: () => void
}

/** Makes the SDK run a command outside of any session. */
const noSession = '__DISABLE_SESSION__'
const fileOptions: FileOptions = { encoding: 'base64', sessionId: noSession }

export function sdkContainer({ sandbox, variables, isRunning, reset }: SdkContainerOptions): ContainerHost {
  return {
    isRunning,
    applyEgress: (egress) => applyEgress(sandbox, egress, variables),
    // The default folder is the workspace, which a command may have removed.
    exec: (script, timeout) => sandbox.execWithSessionToken(script, noSession, { timeout, cwd: '/' }),
    async readFile(path) {
      const { content, size } = await sandbox.readFile(path, fileOptions)
      const bytes = decodeBase64Bytes(content)
      return { bytes, size: size ?? bytes.byteLength }
    },
    writeFile: async (path, bytes) => void (await sandbox.writeFile(path, encodeBase64Bytes(bytes), fileOptions)),
    destroy: () => sandbox.destroy(),
    ...(reset && { reset }),
  }
}
