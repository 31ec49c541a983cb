/**
 * Makes a backend of the sandbox of a vendor, as the vendor makes it where the options say nothing. The code that speaks to
 * the vendor is loaded when a sandbox is first used.
 */

import type { E2bOptions } from '../e2b/e2b.ts'
import type { PortableBackend } from '../portable-backend.ts'
import type { VercelOptions } from '../vercel/vercel.ts'
import type { DaytonaOptions } from './daytona.ts'
import { hostBackend } from './host-backend.ts'
import type { HostPort } from './host-port.ts'

type VendorOptions = { readonly daytona: DaytonaOptions; readonly e2b: E2bOptions; readonly vercel: VercelOptions }

type Vendor<Options> = {
  readonly name: string
  readonly root: string
  readonly languages: readonly string[]
  /** A sentence for the model: the effect of a time without use. */
  readonly whenIdle: string
  readonly loadPort: (options: Options) => Promise<HostPort>
}

const vendors: { readonly [Kind in keyof VendorOptions]: Vendor<VendorOptions[Kind]> } = {
  daytona: {
    name: 'Daytona',
    root: '/home/daytona/workspace',
    languages: ['bash', 'python', 'node'],
    whenIdle: 'It stops when it is not used; files stay, background jobs end.',
    loadPort: async (options) => (await import('./daytona.ts')).openDaytona(options),
  },
  e2b: {
    name: 'E2B',
    root: '/home/user/workspace',
    languages: ['bash', 'python', 'node'],
    whenIdle: 'It is paused when it is not used and goes on where it was.',
    loadPort: async (options) => (await import('../e2b/e2b.ts')).openE2b(options),
  },
  vercel: {
    name: 'Vercel',
    root: '/vercel/sandbox/workspace',
    languages: ['bash', 'node'],
    whenIdle: 'It stops when it is not used; files stay, background jobs end.',
    loadPort: async (options) => (await import('../vercel/vercel.ts')).openVercel(options),
  },
}

export function vendorBackend<Kind extends keyof VendorOptions>(
  kind: Kind,
  options: VendorOptions[Kind],
): PortableBackend {
  const vendor: Vendor<VendorOptions[Kind]> = vendors[kind]
  const { root = vendor.root, languages = vendor.languages, memory, state, temporary, network = 'full' } = options
  return hostBackend({
    kind,
    port: openWhenUsed(() => vendor.loadPort(options)),
    root,
    ...(state !== undefined && { state }),
    ...(temporary !== undefined && { temporary }),
    network,
    languages,
    describe: `A private Linux host at ${vendor.name} with ${languages.join(', ')}; the workspace is ${root}. ${vendor.whenIdle}`,
    memory,
  })
}

function openWhenUsed(load: () => Promise<HostPort>): HostPort {
  let loaded: Promise<HostPort> | undefined
  const open = () => (loaded ??= load())
  return {
    run: async (script, timeoutMs) => (await open()).run(script, timeoutMs),
    read: async (path) => (await open()).read(path),
    write: async (path, bytes) => (await open()).write(path, bytes),
    destroy: async () => (await open()).destroy(),
  }
}
