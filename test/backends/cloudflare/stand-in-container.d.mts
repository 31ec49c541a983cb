import type { NativeContainer } from '#backends/cloudflare/native-container.ts'
import type { createLocalHost } from '../host/local-host.mjs'

export class StandInContainer implements NativeContainer {
  readonly local: ReturnType<typeof createLocalHost>
  running: boolean
  starts: number
  intercepted: number
  start: NativeContainer['start']
  destroy: NativeContainer['destroy']
  exec: NativeContainer['exec']
  snapshotContainer: NativeContainer['snapshotContainer']
  setInactivityTimeout: NativeContainer['setInactivityTimeout']
  interceptOutboundHttps: NativeContainer['interceptOutboundHttps']
  interceptAllOutboundHttp: NativeContainer['interceptAllOutboundHttp']
  replace(): Promise<void>
  drop(): void
}
