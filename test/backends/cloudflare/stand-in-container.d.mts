import type { NativeContainer } from '#backends/cloudflare/native-container.ts'
import type { StandInEngine } from './stand-in-engine.d.mts'

export class StandInContainer implements NativeContainer {
  constructor(engine: StandInEngine)
  readonly running: boolean
  intercepted: number
  authority: { path: string; text: string }
  start: NativeContainer['start']
  destroy: NativeContainer['destroy']
  exec: NativeContainer['exec']
  setInactivityTimeout: NativeContainer['setInactivityTimeout']
  interceptOutboundHttps: NativeContainer['interceptOutboundHttps']
  interceptAllOutboundHttp: NativeContainer['interceptAllOutboundHttp']
}
