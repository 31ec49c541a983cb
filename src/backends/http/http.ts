/**
 * Makes a backend of a sandbox server (docs/sandbox-protocol.md): real processes and files, and jobs that survive an
 * eviction. One server has many workspaces, whose names cannot be guessed. Requests are loaded when the first one is sent.
 */

import type { BackendCapabilities } from '#agent/core/backend.ts'
import { operateWhenUsed } from '../host/host-backend.ts'
import type { PortableBackend } from '../portable-backend.ts'
import { resolvePath } from '../virtual/paths.ts'
import type { HttpOperations } from './http-operations.ts'
import type { SandboxServer } from './request.ts'

export type HttpOptions = {
  readonly url: string
  readonly token: string
  /** 8 to 80 of a-z, 0-9, _ and -. */
  readonly workspace: string | Promise<string>
  /** Written like a workspace. */
  readonly tenant?: string | Promise<string>
  readonly network?: BackendCapabilities['network']
  readonly languages?: readonly string[]
  readonly fetch?: typeof fetch
}

/** The health response of a server. */
export type Health = {
  readonly isolation: string
  readonly limiting: string
  readonly boot: string
  /** Commands can reach other hosts. */
  readonly network?: boolean
  /** Absent: bash alone is known to be there. */
  readonly languages?: readonly string[]
}

export function httpBackend(options: HttpOptions): PortableBackend & { readonly health: () => Promise<Health> } {
  const { url, token, workspace, tenant } = options
  const server: SandboxServer = { url, token, tenant, fetch: options.fetch ?? ((input, init) => fetch(input, init)) }
  let opened: Promise<HttpOperations> | undefined
  const open = () =>
    (opened ??= import('./http-operations.ts').then(({ openHttpOperations }) => openHttpOperations(server, workspace)))
  const network = () => options.network ?? (getFacts(url)?.network ? 'full' : 'none')
  const languages = () => options.languages ?? getFacts(url)?.languages ?? onlyBash
  return {
    kind: 'http',
    get capabilities(): BackendCapabilities {
      const isolated = getFacts(url)?.isolated ?? false
      return {
        streaming: true,
        background: true,
        pty: true,
        network: network(),
        languages: languages(),
        root: '/workspace',
        isolated,
      }
    },
    learn: () =>
      isFresh(url) ? undefined : loadFacts(url, async () => (await open()).health({ timeoutMs: factsTimeoutMs })),
    describe: () => renderDescription(network(), languages()),
    ...operateWhenUsed(open),
    resolve: resolvePath,
    destroy: async () => (await open()).destroy(),
    health: async () => (await open()).health(),
  }
}

/** Facts from the health response of a server, shared by all sessions of the isolate. */
type ServerFacts = {
  readonly at: number
  readonly isolated: boolean
  readonly network: boolean
  readonly languages: readonly string[]
}
const onlyBash = ['bash']
const factsByUrl = new Map<string, ServerFacts>()
/** A restarted server may have other facts. */
const factsMaxAgeMs = 60_000
/** Short, because the first command waits for the facts. */
const factsTimeoutMs = 3_000

const getFacts = (url: string): ServerFacts | undefined => factsByUrl.get(url)
const isFresh = (url: string): boolean => Date.now() - (getFacts(url)?.at ?? -Infinity) < factsMaxAgeMs

/** A server that does not respond is assumed not to be isolated. */
async function loadFacts(url: string, health: () => Promise<Health>): Promise<void> {
  const response = await health().catch((): Partial<Health> => ({}))
  const isolated = typeof response.isolation === 'string' && response.isolation !== '' && response.isolation !== 'none'
  const { network = false, languages: named } = response
  const languages = Array.isArray(named) ? named.filter((name) => typeof name === 'string') : onlyBash
  factsByUrl.set(url, { at: Date.now(), isolated, network, languages })
}

function renderDescription(network: BackendCapabilities['network'], languages: readonly string[]): string {
  const access = { none: 'It has no network', allowlist: 'It reaches only a few hosts', full: 'It has a network' }[
    network
  ]
  const extra = languages.length > 1 ? ` It has ${languages.join(', ')}.` : ''
  return `A private Linux host with bash; the workspace is /workspace, and only it and /tmp are writable. ${access}, no root and no package manager.${extra} Use \`command -v NAME\` to check what else is installed. Long commands can run in the background.`
}
