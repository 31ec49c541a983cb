import type { SdkSandbox } from '#worker/with-sandbox.ts'
import type { StandInEngine } from './stand-in-engine.d.mts'

export class StandInSandbox implements SdkSandbox {
  constructor(engine: StandInEngine)
  isSilent: boolean
  failingStarts: number
  isServerDead: boolean
  cuts: number
  execWithSessionToken: SdkSandbox['execWithSessionToken']
  readFile: SdkSandbox['readFile']
  writeFile: SdkSandbox['writeFile']
  destroy: SdkSandbox['destroy']
  setAllowedHosts: SdkSandbox['setAllowedHosts']
  setOutboundByHosts: SdkSandbox['setOutboundByHosts']
  stream(work: () => Promise<void>): Promise<void>
}
