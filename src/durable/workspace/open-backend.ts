/** Which machine a session gets: what is set, what is there, and what to do when it is not. */

import { BackendError, type BackendKind, backendKinds, type Capabilities } from '../../agent/model/backend.ts'
import type { Limits, Settings } from '../../agent/model/settings.ts'
import type { SandboxStub } from './sandbox-object.ts'
import type { SandboxPort } from '../../backends/cloudflare/sandbox-port.ts'
import { resolveEgress } from '../../backends/cloudflare/egress.ts'
import { cloudflareBackend, containerSetUpHint } from '../../backends/cloudflare/cloudflare.ts'
import { daytonaBackend } from '../../backends/daytona/daytona.ts'
import { e2bBackend } from '../../backends/e2b/e2b.ts'
import { httpBackend } from '../../backends/http/http.ts'
import type { HostMemory } from '../../backends/host/host-port.ts'
import type { PortableBackend } from '../../backends/portable-backend.ts'
import { vercelBackend } from '../../backends/vercel/vercel.ts'
import type { Network } from '../../backends/virtual/network.ts'
import { defaultQuotaBytes, virtualBackend } from '../../backends/virtual/virtual.ts'
import { clock } from '../platform/clock.ts'

export type BackendContext = {
  readonly env: Env
  readonly sql: SqlStorage
  readonly tenantId: string
  readonly sessionId: string
  /** What a rented machine has to be found by again. */
  readonly memory: HostMemory
  /** Both may change while a machine is in use. */
  readonly settings: () => Settings
  readonly limits: () => Limits | undefined
}

type Kind = {
  /** What is missing, as a sentence that says what to set; undefined when it can be used. */
  readonly missing: (env: Env) => string | undefined
  /** What is known of it without asking. */
  readonly known: string
  readonly open: (whose: BackendContext) => PortableBackend
}

/** Asking would cost a machine, or tell little. */
const RENTED = 'key set; not proven to be accepted'

const kinds: Readonly<Record<BackendKind, Kind>> = {
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
    known: RENTED,
    open: ({ env, memory }) => daytonaBackend({ key: env.DAYTONA_API_KEY ?? '', memory, ...rentedBy(env) }),
  },
  e2b: {
    missing: ({ E2B_API_KEY }) => (E2B_API_KEY ? undefined : 'Set E2B_API_KEY.'),
    known: RENTED,
    open: ({ env, memory }) => e2bBackend({ key: env.E2B_API_KEY ?? '', memory, ...rentedBy(env) }),
  },
  vercel: {
    missing: ({ VERCEL_TOKEN, VERCEL_PROJECT_ID }) =>
      VERCEL_TOKEN && VERCEL_PROJECT_ID
        ? undefined
        : 'Set VERCEL_TOKEN, VERCEL_PROJECT_ID and, in a team, VERCEL_TEAM_ID.',
    known: RENTED,
    open: ({ env, memory }) => {
      const { VERCEL_TOKEN: key = '', VERCEL_TEAM_ID: team, VERCEL_PROJECT_ID: project = '' } = env
      return vercelBackend({ key, team, project, memory, ...rentedBy(env) })
    },
  },
}

/** The session's or tenant's wish, else the deployment's, else the one that needs nothing. */
export function resolveBackendKind({ terminal }: Settings, { SANDBOX_BACKEND }: Env): BackendKind {
  const wanted = terminal?.backend ?? (SANDBOX_BACKEND || 'virtual')
  const kind = backendKinds.find((each) => each === wanted)
  if (kind) return kind
  throw new BackendError(
    'unavailable',
    `SANDBOX_BACKEND is "${wanted}", which is no backend.`,
    `Set it to one of: ${backendKinds.join(', ')}.`,
  )
}

export function openBackend(kind: BackendKind, whose: BackendContext): PortableBackend {
  const missing = kinds[kind].missing(whose.env)
  if (missing !== undefined) throw new BackendError('unavailable', `The backend ${kind} is not set up.`, missing)
  return kinds[kind].open(whose)
}

/** For operators: every backend, what it lacks, or what is known of it. The server of `http` is asked. */
export async function listBackendStates(env: Env): Promise<Readonly<Record<string, string>>> {
  const states = backendKinds.map(async (kind) => [kind, await stateOf(kind, env)] as const)
  return Object.fromEntries(await Promise.all(states))
}

async function stateOf(kind: BackendKind, env: Env): Promise<string> {
  const missing = kinds[kind].missing(env)
  if (missing !== undefined) return `absent: ${missing}`
  if (kind !== 'http') return kinds[kind].known
  try {
    const { isolation, limiting } = await httpOf(env, 'health-00').health()
    return `ready: isolation ${isolation}, limits ${limiting}`
  } catch (error) {
    return `unreachable: ${error instanceof BackendError ? `${error.message} ${error.hint}` : String(error)}`
  }
}

/** Addresses are judged before it is asked (network.ts). */
const internet: Network = { fetch: (request) => fetch(request) }

/** The deployment forbids every way out. */
const isClosed = ({ SANDBOX_NETWORK }: Env): boolean => SANDBOX_NETWORK === 'off'

function openVirtual({ env, sql, tenantId, sessionId, settings, limits }: BackendContext): PortableBackend {
  const backend = virtualBackend({
    sql,
    prefix: `t/${tenantId}/s/${sessionId}/files/`,
    now: clock.now,
    quotaBytes: () => limits()?.storage_bytes ?? defaultQuotaBytes,
    network: () => (settings().terminal?.network === 'public' && !isClosed(env) ? internet : undefined),
    ...(env.BLOBS && { blobs: env.BLOBS }),
    ...(env.LOADER && { loader: env.LOADER }),
  })
  const { files, snapshot } = backend
  const places = [backend.capabilities.root, '/tmp']
  const tree = async (path: string): Promise<Awaited<ReturnType<PortableBackend['tree']>>> => {
    const children = (await files.stat(path)) ? await files.list(path) : []
    const below = await Promise.all(
      children.map(async (child) => (child.type === 'directory' ? [child, ...(await tree(child.path))] : [child])),
    )
    return below.flat()
  }
  return {
    ...backend,
    // A copy would stay as it is now.
    get capabilities() {
      return backend.capabilities
    },
    tree: async () => (await Promise.all(places.map(tree))).flat(),
    async *snapshot(wanted = () => true) {
      for await (const entry of snapshot()) if (wanted(entry.path)) yield entry
    },
    async clear() {
      for (const place of places)
        for (const { path } of (await files.stat(place)) ? await files.list(place) : []) await files.remove(path)
      backend.forgetCheckpoints()
      await backend.checkpoints.sweep()
    },
    // Its rows go with the storage of the object, its blobs with everything else of the session in R2.
    destroy: async () => undefined,
  }
}

function openHttp({ env, tenantId, sessionId }: BackendContext): PortableBackend {
  return httpOf(env, nameOf(tenantId, sessionId))
}

function httpOf(env: Env, workspace: string | Promise<string>) {
  const { SANDBOX_HTTP_URL = '', SANDBOX_HTTP_TOKEN = '', SANDBOX_NETWORK } = env
  const network = (['none', 'allowlist', 'full'] as const).find((each) => each === SANDBOX_NETWORK)
  return httpBackend({
    url: SANDBOX_HTTP_URL,
    token: SANDBOX_HTTP_TOKEN,
    workspace,
    ...languagesOf(env),
    ...(network && { network }),
  })
}

/** The object is named when it is first asked: a name takes a digest, and a digest takes a moment. */
function openCloudflare({ env, tenantId, sessionId, memory, settings }: BackendContext): PortableBackend {
  const stub = nameOf(tenantId, sessionId).then((name) => env.SANDBOX?.getByName(name) as unknown as SandboxStub)
  const box: SandboxPort = {
    run: async (script, timeoutMs, egress) => (await stub).boxRun(script, timeoutMs, egress),
    read: async (path) => (await stub).boxRead(path),
    write: async (path, bytes) => (await stub).boxWrite(path, bytes),
    restore: async () => (await stub).boxRestore(),
    destroy: async () => (await stub).boxDestroy(),
  }
  const egress = () => resolveEgress(tenantId, settings().terminal?.allowed_hosts, env)
  return cloudflareBackend({ sandbox: box, memory, egress, ...languagesOf(env) })
}

/** Machines of others are open unless they are told not to be. */
const rentedBy = (env: Env) => ({ ...languagesOf(env), ...(isClosed(env) && { network: 'none' as const }) })

function languagesOf({ SANDBOX_LANGUAGES }: Env): { readonly languages?: readonly string[] } {
  return SANDBOX_LANGUAGES ? { languages: SANDBOX_LANGUAGES.split(',').map((name) => name.trim()) } : {}
}

/** One name per tenant and session, which says nothing about either and cannot be made to collide. */
async function nameOf(tenantId: string, sessionId: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(`${tenantId}\0${sessionId}`))
  const hex = [...new Uint8Array(digest)].map((byte) => byte.toString(16).padStart(2, '0')).join('')
  return `s-${hex.slice(0, 48)}`
}

/** What a session sees of a machine that cannot be used: nothing that would need it is offered. */
export const noCapabilities: Capabilities = {
  streaming: false,
  background: false,
  pty: false,
  network: 'none',
  languages: [],
  root: '/workspace',
}
