/** Opens a backend on a container that a stand-in plays, behind the SDK or the native API. */

import { cloudflareBackend } from '#backends/cloudflare/cloudflare.ts'
import { ContainerBox, type BoxOptions } from '#backends/cloudflare/container-box.ts'
import type { ContainerHost } from '#backends/cloudflare/container-host.ts'
import { nativeContainer } from '#backends/cloudflare/native-container.ts'
import type { CopyBucket, StoredCopies } from '#backends/cloudflare/workspace-copies.ts'
import type { HostRecord } from '#backends/host/host-port.ts'
import { sdkContainer } from './open-sdk.ts'
import { StandInBucket } from './stand-in-bucket.mjs'
import { StandInContainer } from './stand-in-container.mjs'
import { StandInEngine } from './stand-in-engine.mjs'
import { StandInSandbox } from './stand-in-sandbox.mjs'

export type Api = 'sdk' | 'native'
export type Changes = Partial<Pick<BoxOptions, 'timeoutMs' | 'silenceMs' | 'retryMs'>> & {
  readonly inactivityMs?: number
  /** Hosts that the container may reach. */
  readonly hosts?: readonly string[]
}

/** What outlives the object of a container: the engine, the bucket, and what the objects have stored. */
export function createWorld(engine = new StandInEngine()) {
  return {
    engine,
    bucket: new StandInBucket(),
    stored: undefined as StoredCopies | { readonly id: string; readonly dir: string } | undefined,
    memory: {} as HostRecord,
    idleSince: undefined as number | undefined,
    now: 0,
    errors: [] as string[],
    resets: 0,
    /** Ends the objects that were opened last. */
    end: () => {},
  }
}
export type World = ReturnType<typeof createWorld>

const asynchronous = new Set(['run', 'read', 'write', 'restore', 'destroy', 'save', 'rest', 'stop'])
const ofHost = new Set(['exec', 'readFile', 'writeFile', 'destroy', 'applyEgress', 'keepAwake'])
const ofStorage = new Set(['get', 'put', 'delete', 'list'])

/** An object that has ended does nothing more, and its callers get an error. */
function createLife() {
  const life = { isOver: false, end: () => {} }
  const over = new Promise<never>((_, reject) => {
    life.end = () => {
      life.isOver = true
      reject(new Error('The object has ended.'))
    }
  })
  over.catch(() => undefined)
  const bind = <T extends object>(target: T, names: ReadonlySet<string>): T =>
    new Proxy(target, {
      get(_, name) {
        const value: unknown = Reflect.get(target, name)
        if (typeof value !== 'function') return value
        if (!names.has(String(name))) return value.bind(target)
        return (...given: unknown[]) => (life.isOver ? over : Promise.race([value.apply(target, given), over]))
      },
    })
  return { life, bind }
}

/** Opens the objects of a session and its container. Those that were opened before in this world end. */
export function openContainer(
  api: Api,
  world = createWorld(),
  { inactivityMs = 600_000, hosts = ['api.example.com'], ...changes }: Changes = {},
) {
  const { engine, bucket } = world
  world.end()
  const { life, bind } = createLife()
  world.end = life.end
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
  const [first, second] = [sdk, native].map((host) => bind(host, ofHost)) as [ContainerHost, ContainerHost]
  const parts = api === 'sdk' ? { host: first, rescue: second } : { host: second }
  const box = openBox(world, { ...parts, ...changes }, bind, background)
  const backend = cloudflareBackend({
    sandbox: bind(box, asynchronous),
    memory: {
      read: () => world.memory,
      write: (next) => void (life.isOver || (world.memory = next)),
    },
    root: engine.root,
    state: engine.state,
    temporary: engine.temporary,
    egress: () => ({ tenant: 'acme', hosts }),
  })
  const settle = () => Promise.all(background.splice(0))
  return { world, engine, bucket, sandbox, container, box, backend, settle }
}

function openBox(
  world: World,
  parts: Omit<Changes, 'inactivityMs' | 'hosts'> & Pick<BoxOptions, 'host' | 'rescue'>,
  bind: ReturnType<typeof createLife>['bind'],
  background: Promise<unknown>[],
): ContainerBox {
  const record = {
    get: async () => world.stored,
    put: async (copies: StoredCopies) => void (world.stored = copies),
  }
  return new ContainerBox({
    ...parts,
    root: world.engine.root,
    state: world.engine.state,
    bucket: bind(world.bucket, ofStorage) as unknown as CopyBucket,
    record: bind(record, ofStorage),
    idle: {
      get: async () => world.idleSince,
      put: async (since) => void (world.idleSince = since),
    },
    now: () => world.now + performance.now(),
    runInBackground: (work) => void background.push(work),
    logError: (event) => void world.errors.push(event),
  })
}
