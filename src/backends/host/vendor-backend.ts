/** Makes a backend of the sandbox of a vendor, as the vendor makes it where the options say nothing. */

import type { PortableBackend } from '../portable-backend.ts'
import { hostBackend } from './host-backend.ts'
import type { HostOptions, HostPort } from './host-port.ts'
import type { HostVendorOptions } from './vendor-sandbox.ts'

export type HostVendor = {
  readonly kind: HostOptions['kind']
  readonly name: string
  readonly port: HostPort
  readonly root: string
  readonly languages: readonly string[]
  /** A sentence for the model: the effect of a time without use. */
  readonly whenIdle: string
}

export function vendorBackend(
  { memory, state, network = 'full', ...options }: HostVendorOptions,
  vendor: HostVendor,
): PortableBackend {
  const { kind, name, port, whenIdle } = vendor
  const { root = vendor.root, languages = vendor.languages } = options
  return hostBackend({
    kind,
    port,
    root,
    ...(state !== undefined && { state }),
    network,
    languages,
    describe: `A private Linux host at ${name} with ${languages.join(', ')}; the workspace is ${root}. ${whenIdle}`,
    memory,
  })
}
