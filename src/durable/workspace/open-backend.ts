/** Chooses and opens the backend of a session, and reports what a backend still needs. */

import { BackendError, type BackendKind, backendKinds, type BackendCapabilities } from '#agent/core/backend.ts'
import type { Limits, Settings } from '#agent/core/settings.ts'
import type { SandboxStub } from './sandbox-object.ts'
import type { SandboxPort } from '#backends/cloudflare/sandbox-port.ts'
import { resolveEgress } from '#backends/cloudflare/egress.ts'
import { cloudflareBackend, containerSetUpHint } from '#backends/cloudflare/cloudflare.ts'
import { vendorBackend } from '#backends/host/vendor-backend.ts'
import { httpBackend } from '#backends/http/http.ts'
import type { HostMemory } from '#backends/host/host-port.ts'
import type { PortableBackend } from '#backends/portable-backend.ts'
import { defaultQuotaBytes, virtualBackend } from '#backends/virtual/virtual.ts'
import { clock } from '#durable/platform/clock.ts'
import type { GuardedFetch } from '#durable/platform/guarded-fetch.ts'
import type { Network } from '#backends/virtual/network.ts'
import { sessionBlobPrefix } from '#durable/platform/addresses.ts'
import { sha256Hex } from '#durable/platform/hash.ts'

export type BackendContext = {
  readonly env: Env
  /** Queues the isolates of the object. */
  readonly loader?: WorkerLoader | undefined
  readonly sql: SqlStorage
  readonly tenantId: string
  readonly sessionId: string
  /** Stored data of hosts, such as the id of a sandbox. */
  readonly memory: HostMemory
  /** Both may change while a backend is in use. */
  readonly settings: () => Settings
  readonly limits: () => Limits | undefined
  readonly guardedFetch: GuardedFetch
}

type BackendEntry = {
  /** A sentence that says what to set, or undefined when the backend can be used. */
  readonly missing: (env: Env) => string | undefined
  /** The state that is known without a request. */
  readonly known: string
  readonly open: (context: BackendContext) => PortableBackend
}

/** A request would start a sandbox, or prove little. */
const vendorKnown = 'key set; not proven to be accepted'

const kinds: Readonly<Record<BackendKind, BackendEntry>> = {
  virtual: { missing: () => undefined, known: 'ready', open: openVirtual },
  http: {
    missing: ({ SANDBOX_HTTP_URL, SANDBOX_HTTP_TOKEN }) =>
      SANDBOX_HTTP_URL && SANDBOX_HTTP_TOKEN
        ? undefined
        : 'Set SANDBOX_HTTP_URL and SANDBOX_HTTP_TOKEN; `npm run sandbox` starts a server.',
    known: 'not asked',
    open: openHttp,
  },
  cloudflare: {
    missing: ({ SANDBOX }) => (SANDBOX ? undefined : containerSetUpHint),
    known: 'bound; not proven to start',
    open: openCloudflare,
  },
  daytona: {
    missing: ({ DAYTONA_API_KEY }) => (DAYTONA_API_KEY ? undefined : 'Set DAYTONA_API_KEY.'),
    known: vendorKnown,
    open: ({ env, memory }) =>
      vendorBackend('daytona', { key: env.DAYTONA_API_KEY ?? '', memory, ...vendorOptions(env) }),
  },
  e2b: {
    missing: ({ E2B_API_KEY }) => (E2B_API_KEY ? undefined : 'Set E2B_API_KEY.'),
    known: vendorKnown,
    open: ({ env, memory }) => vendorBackend('e2b', { key: env.E2B_API_KEY ?? '', memory, ...vendorOptions(env) }),
  },
  vercel: {
    missing: ({ VERCEL_TOKEN, VERCEL_PROJECT_ID }) =>
      VERCEL_TOKEN && VERCEL_PROJECT_ID
        ? undefined
        : 'Set VERCEL_TOKEN, VERCEL_PROJECT_ID and, in a team, VERCEL_TEAM_ID.',
    known: vendorKnown,
    open: ({ env, memory }) => {
      const { VERCEL_TOKEN: key = '', VERCEL_TEAM_ID: team, VERCEL_PROJECT_ID: project = '' } = env
      return vendorBackend('vercel', { key, team, project, memory, ...vendorOptions(env) })
    },
  },
}

/** Returns the backend of the session or tenant, else that of the deployment, else `virtual`. */
export function resolveBackendKind({ terminal }: Settings, { SANDBOX_BACKEND }: Env): BackendKind {
  const requested = terminal?.backend ?? (SANDBOX_BACKEND || 'virtual')
  const kind = backendKinds.find((each) => each === requested)
  if (kind) return kind
  throw new BackendError(
    'unavailable',
    `SANDBOX_BACKEND is "${requested}", which is not a backend.`,
    `Set it to one of: ${backendKinds.join(', ')}.`,
  )
}

/** A sentence that says what to set, or undefined when the backend can be used. */
export const explainMissingBackend = (kind: BackendKind, env: Env): string | undefined => kinds[kind].missing(env)

export function openBackend(kind: BackendKind, context: BackendContext): PortableBackend {
  const missing = kinds[kind].missing(context.env)
  if (missing !== undefined) throw new BackendError('unavailable', `The backend ${kind} is not set up.`, missing)
  return kinds[kind].open(context)
}

/** Lists the state of every backend for operators. Only the `http` server is queried. */
export async function listBackendStates(env: Env): Promise<Readonly<Record<string, string>>> {
  const states = backendKinds.map(async (kind) => [kind, await getState(kind, env)] as const)
  return Object.fromEntries(await Promise.all(states))
}

async function getState(kind: BackendKind, env: Env): Promise<string> {
  const missing = kinds[kind].missing(env)
  if (missing !== undefined) return `absent: ${missing}`
  if (kind !== 'http') return kinds[kind].known
  try {
    const { isolation, limiting } = await openHttpServer(env, 'health-00').health()
    return `ready: isolation ${isolation}, limits ${limiting}`
  } catch (error) {
    return `unreachable: ${error instanceof BackendError ? `${error.message} ${error.hint}` : String(error)}`
  }
}

/** Whether the deployment forbids all network access. */
const isNetworkOff = ({ SANDBOX_NETWORK }: Env): boolean => SANDBOX_NETWORK === 'off'

function openVirtual({
  env,
  loader,
  sql,
  tenantId,
  sessionId,
  settings,
  limits,
  guardedFetch,
}: BackendContext): PortableBackend {
  const internet = shellNetwork(guardedFetch)
  const backend = virtualBackend({
    sql,
    prefix: sessionBlobPrefix(tenantId, sessionId, 'files'),
    now: clock.now,
    quotaBytes: () => limits()?.storage_bytes ?? defaultQuotaBytes,
    network: () => (settings().terminal?.network === 'public' && !isNetworkOff(env) ? internet : undefined),
    ...(env.BLOBS && { blobs: env.BLOBS }),
    ...(loader && { loader }),
  })
  const { files, snapshot } = backend
  const folders = [backend.capabilities.root, '/tmp']
  const tree = async (path: string): Promise<Awaited<ReturnType<PortableBackend['tree']>>> => {
    const children = (await files.stat(path)) ? await files.list(path) : []
    const below = await Promise.all(
      children.map(async (child) => (child.type === 'directory' ? [child, ...(await tree(child.path))] : [child])),
    )
    return below.flat()
  }
  return {
    ...backend,
    // A getter, because the capabilities may change.
    get capabilities() {
      return backend.capabilities
    },
    tree: async () => (await Promise.all(folders.map(tree))).flat(),
    async *snapshot(isWanted = () => true) {
      for await (const entry of snapshot()) if (isWanted(entry.path)) yield entry
    },
    async clear() {
      for (const folder of folders)
        for (const { path } of (await files.stat(folder)) ? await files.list(folder) : []) await files.remove(path)
      backend.forgetCheckpoints()
      await backend.checkpoints.finishRestore()
    },
    // Its rows are deleted with the Durable Object's storage, its blobs with the R2 prefix of the session.
    destroy: async () => undefined,
  }
}

function openHttp({ env, tenantId, sessionId }: BackendContext): PortableBackend {
  return openHttpServer(env, hashedName(tenantId, sessionId), hashedName(tenantId, ''))
}

function openHttpServer(env: Env, workspace: string | Promise<string>, tenant?: Promise<string>) {
  const { SANDBOX_HTTP_URL = '', SANDBOX_HTTP_TOKEN = '', SANDBOX_NETWORK } = env
  const network = (['none', 'allowlist', 'full'] as const).find((each) => each === SANDBOX_NETWORK)
  return httpBackend({
    url: SANDBOX_HTTP_URL,
    token: SANDBOX_HTTP_TOKEN,
    workspace,
    ...(tenant && { tenant }),
    ...languagesOf(env),
    ...(network && { network }),
  })
}

/** The stub is a promise, because its name needs an asynchronous digest. */
function openCloudflare({ env, tenantId, sessionId, memory, settings }: BackendContext): PortableBackend {
  const name = hashedName(tenantId, sessionId)
  // A new stub for each call: one whose object was reset fails for ever.
  const stub = async () => env.SANDBOX?.getByName(await name) as unknown as SandboxStub
  const sandbox: SandboxPort = {
    run: async (script, timeoutMs, egress) => (await stub()).boxRun(script, timeoutMs, egress),
    read: async (path) => (await stub()).boxRead(path),
    write: async (path, bytes) => (await stub()).boxWrite(path, bytes),
    restore: async () => (await stub()).boxRestore(),
    destroy: async () => (await stub()).boxDestroy(),
  }
  const egress = () => resolveEgress(tenantId, settings().terminal?.allowed_hosts, env)
  return cloudflareBackend({ sandbox, memory, egress, ...languagesOf(env) })
}

/** Hosts of vendors have a network unless it is turned off. */
const vendorOptions = (env: Env) => ({ ...languagesOf(env), ...(isNetworkOff(env) && { network: 'none' as const }) })

function languagesOf({ SANDBOX_LANGUAGES }: Env): { readonly languages?: readonly string[] } {
  return SANDBOX_LANGUAGES ? { languages: SANDBOX_LANGUAGES.split(',').map((name) => name.trim()) } : {}
}

/** Hashes tenant and session to a name that reveals neither and cannot collide. */
const hashedName = async (tenantId: string, sessionId: string): Promise<string> =>
  `s-${await sha256Hex(`${tenantId}\0${sessionId}`, 24)}`

/** The capabilities of a backend that cannot be used: tools that need one are not offered. */
export const noCapabilities: BackendCapabilities = {
  streaming: false,
  background: false,
  pty: false,
  network: 'none',
  languages: [],
  root: '/workspace',
}

/** Gives curl, wget and git of the virtual shell a network: the guarded fetch of the tenant. */
export const shellNetwork = (guardedFetch: GuardedFetch): Network => ({
  async fetch({ url, method, headers, body, follow, timeoutMs }, signal) {
    const { response, url: lastUrl } = await guardedFetch({ url, method, headers, body, follow, timeoutMs, signal })
    const { status, statusText } = response
    const bytes = new Uint8Array(await response.arrayBuffer())
    return { status, statusText, headers: Object.fromEntries(response.headers), body: bytes, url: lastUrl }
  },
})
