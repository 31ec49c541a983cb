import type { HostPort } from '../../../src/backends/host/host-port.ts'

export function localMachine(): {
  readonly port: HostPort
  readonly root: string
  readonly state: string
  /** Another machine comes in the place of this one. */
  readonly replace: () => Promise<void>
  readonly drop: () => void
}
