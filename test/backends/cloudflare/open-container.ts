/** Opens a backend on a container that a stand-in plays, behind the SDK or the native API. */

import { cloudflareBackend } from '#backends/cloudflare/cloudflare.ts'
import { ContainerBox, type BoxOptions } from '#backends/cloudflare/container-box.ts'
import type { ContainerHost } from '#backends/cloudflare/container-host.ts'
import { nativeContainer } from '#backends/cloudflare/native-container.ts'
import { sdkContainer } from '#backends/cloudflare/sdk-container.ts'
import type { CopyBucket, StoredCopies } from '#backends/cloudflare/workspace-copies.ts'
import type { HostRecord } from '#backends/host/host-port.ts'
import { StandInBucket } from './stand-in-bucket.mjs'
import { StandInContainer } from './stand-in-container.mjs'
import { StandInEngine } from './stand-in-engine.mjs'
import { StandInSandbox } from './stand-in-sandbox.mjs'

export type Api = 'sdk' | 'native'
export type Changes = Partial<Pick<BoxOptions, 'timeoutMs' | 'silenceMs' | 'retryMs'>> & {
  readonly inactivityMs?: number
}

/** What outlives the object of a container: the engine, the bucket, and what the objects have stored. */
export function createWorld(engine = new StandInEngine()) {
  return {
    engine,
    bucket: new StandInBucket(),
    stored: undefined as StoredCopies | { readonly id: string; readonly dir: string } | undefined,
    memory: {} as HostRecord,
    now: 0,
    errors: [] as string[],
    resets: 0,
  }
}
export type World = ReturnType<typeof createWorld>

export function openContainer(api: Api, world = createWorld(), { inactivityMs = 600_000, ...changes }: Changes = {}) {
  const { engine, bucket } = world
  const sandbox = new StandInSandbox(engine)
  const container = new StandInContainer(engine)
  const authority = engine.inside(container.authority.path)
  const reset = () => void world.resets++
  const native = nativeContainer({
    container,
    openEgress: () => ({}) as Fetcher,
    inactivityMs,
    reset,
    certificates: { authority, systemBundles: [engine.inside('/ca/system.crt')] },
  })
  const sdk = sdkContainer({ sandbox, variables: {}, isRunning: () => engine.running, reset })
  const background: Promise<unknown>[] = []
  const box = openBox(
    world,
    { ...(api === 'sdk' ? { host: sdk, rescue: native } : { host: native }), ...changes },
    background,
  )
  const backend = cloudflareBackend({
    sandbox: box,
    memory: { read: () => world.memory, write: (next) => (world.memory = next) },
    root: engine.root,
    state: engine.state,
    temporary: engine.temporary,
    egress: () => ({ tenant: 'acme', hosts: ['api.example.com'] }),
  })
  const settle = () => Promise.all(background.splice(0))
  return { world, engine, bucket, sandbox, container, box, backend, settle }
}

function openBox(
  world: World,
  parts: Changes & { readonly host: ContainerHost; readonly rescue?: ContainerHost },
  background: Promise<unknown>[],
): ContainerBox {
  return new ContainerBox({
    ...parts,
    root: world.engine.root,
    state: world.engine.state,
    bucket: world.bucket as unknown as CopyBucket,
    record: { get: async () => world.stored, put: async (copies) => void (world.stored = copies) },
    now: () => world.now + performance.now(),
    runInBackground: (work) => void background.push(work),
    logError: (event) => void world.errors.push(event),
  })
}
