import type { HostPort } from '#backends/host/host-port.ts'

export function createLocalHost(options?: {
  readonly isUser?: boolean
  readonly isAtRoot?: boolean
  /** Scripts see a control group that counts no process killed for lack of memory, and may change it. */
  readonly hasMemoryGroup?: boolean
}): {
  readonly port: HostPort
  readonly root: string
  readonly state: string
  readonly temporary: string
  /** Replaces this host by a new one. */
  readonly replace: () => Promise<void>
  readonly drop: () => void
}

/** Whether this process may give files to other users. */
export function isPrivileged(): boolean

/** Whether a path exists, without a program for the answer. */
export function isOnHost(path: string): boolean
