import type { SdkSandbox } from '#backends/cloudflare/sdk-container.ts'
import type { createLocalHost } from '../host/local-host.mjs'

export class StandInSandbox implements SdkSandbox {
  readonly local: ReturnType<typeof createLocalHost>
  readonly objects: Set<string>
  readonly bucket: Pick<R2Bucket, 'delete'>
  isUnreachable: boolean
  destroyed: number
  hasSessionFolder: boolean
  isExpired: boolean
  cuts: number
  execWithSessionToken: SdkSandbox['execWithSessionToken']
  readFile: SdkSandbox['readFile']
  writeFile: SdkSandbox['writeFile']
  createBackup: SdkSandbox['createBackup']
  restoreBackup: SdkSandbox['restoreBackup']
  destroy: SdkSandbox['destroy']
  setAllowedHosts: SdkSandbox['setAllowedHosts']
  setOutboundByHosts: SdkSandbox['setOutboundByHosts']
  stream(work: () => Promise<void>): Promise<void>
  abandonCopy(): void
  replace(): Promise<void>
  drop(): void
}
