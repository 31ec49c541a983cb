/** Connects to an MCP server, lists its tools, and reports what was found in words. */

import { maxPages, maxTools, readListedTool, renderForHash } from '#agent/mcp/listed-tool.ts'
import type { ListedTool } from '#agent/mcp/tool-texts.ts'
import type { JsonObject } from '#agent/mcp/protocol.ts'
import { secretName } from '#agent/core/secrets/secret-name.ts'
import { systemAuthority } from '#agent/core/permission/authority.ts'
import { clock } from '#durable/platform/clock.ts'
import { sha256Hex } from '#durable/platform/hash.ts'
import { rememberSecrets } from '#durable/platform/redaction.ts'
import { type SecretOwner, unseal } from '#durable/platform/seal.ts'
import { openSecrets, type SealedSecrets } from '#durable/platform/tenant-secrets.ts'
import { createTenantFetch } from '../tenant-fetch.ts'
import { type McpEndpoint, McpFailure, type McpPeer, openPeer, request } from './mcp-client.ts'
import { type Listing, mcpOf, type SealedHeader, type StoredServer } from './server-row.ts'

/** A credential opens only for the server and the origin that it was given for. */
export const headerOwner = (tenant: string, url: string, header: string): SecretOwner => ({
  tenant,
  kind: 'mcp',
  id: `${new URL(url).origin} ${header.toLowerCase()}`,
})

export type ServerAccess = {
  readonly env: Env
  readonly tenantId: string
  readonly secrets: SealedSecrets | undefined
  readonly runInBackground?: (work: Promise<unknown>) => void
}

const ignoreEnd = (work: Promise<unknown>): void => void work.catch(() => undefined)

/** Opens the credentials of a server. Throws an `McpFailure` when one cannot be used. */
export async function openEndpoint(server: StoredServer, access: ServerAccess): Promise<McpEndpoint> {
  const { env, tenantId, runInBackground = ignoreEnd } = access
  const { url, transport } = server.config
  return {
    url,
    transport,
    headers: server.plainHeaders ?? (await openHeaders(server, access)),
    isTrustedAddress: server.source === 'deployment',
    guardedFetch: createTenantFetch(env, tenantId, runInBackground),
  }
}

async function openHeaders({ config }: StoredServer, access: ServerAccess): Promise<Record<string, string>> {
  const { url, auth, token, headers = {}, alias } = config
  const named: Readonly<Record<string, SealedHeader>> =
    auth === 'bearer' && token ? { authorization: token } : auth === 'headers' ? headers : {}
  const { env, tenantId, secrets } = access
  const opened: Record<string, string> = {}
  for (const [header, { sealed, refers }] of Object.entries(named)) {
    const result = await unseal(env, sealed, headerOwner(tenantId, url, header))
    if (result.kind === 'unreadable')
      throw new McpFailure('auth', `Its header ${header} cannot be opened. ${result.reason}`)
    const value = refers
      ? fillReferences(result.secret, await openSecrets(env, { id: tenantId, secrets }))
      : result.secret
    opened[header] = auth === 'bearer' ? `Bearer ${value}` : value
  }
  const values = Object.values(opened).flatMap((value) => [value, ...value.split(/\s+/)])
  rememberSecrets(
    tenantId,
    `mcp ${alias.toLowerCase()}`,
    values.filter((value) => value.length >= 8),
  )
  return opened
}

function fillReferences(text: string, secrets: ReadonlyMap<string, string>): string {
  return text.replace(/\$\{(\w+)\}/g, (_, name: string) => {
    const value = secretName.safeParse(name).success ? secrets.get(name) : undefined
    if (value === undefined)
      throw new McpFailure('auth', `There is no secret named ${name}. Store it under /api/secrets.`)
    return value
  })
}

const minTtlMs = 60_000
const maxTtlMs = 24 * 3_600_000
const defaultTtlMs = 3_600_000

/** Never throws for a server that cannot be used: the reason is the result. */
export async function listServer(server: StoredServer, access: ServerAccess, timeoutMs: number): Promise<Listing> {
  const begun = clock.now()
  const ends = begun + timeoutMs
  try {
    const endpoint = await openEndpoint(server, access)
    const control = () => ({ timeoutMs: Math.max(1, ends - clock.now()) })
    const { peer, capabilities } = await openPeer(endpoint, control())
    const { tools, ttlMs } = await listTools(endpoint, peer, control)
    const now = clock.now()
    const isSse = peer.era === 'sse'
    return {
      ms: now - begun,
      tools,
      state: {
        status: 'ready',
        era: peer.era,
        version: peer.version,
        hasResources: !isSse && capabilities['resources'] !== undefined,
        hasPrompts: !isSse && capabilities['prompts'] !== undefined,
        fetchedAt: now,
        expiresAt: now + Math.min(maxTtlMs, Math.max(minTtlMs, ttlMs ?? defaultTtlMs)),
      },
    }
  } catch (error) {
    if (!(error instanceof McpFailure)) throw error
    const status = error.kind === 'auth' ? 'needs_auth' : 'unavailable'
    const now = clock.now()
    return { ms: now - begun, state: { status, reason: error.message, expiresAt: now + minTtlMs } }
  }
}

async function listTools(endpoint: McpEndpoint, peer: McpPeer, control: () => { readonly timeoutMs: number }) {
  const tools = new Map<string, ListedTool>()
  const cursors = new Set<string>()
  let [cursor, ttlMs]: [string | undefined, number | undefined] = [undefined, undefined]
  for (let page = 0; page < maxPages && tools.size < maxTools; page++) {
    const params: JsonObject = cursor === undefined ? {} : { cursor }
    const result = await request(endpoint, peer, { method: 'tools/list', params }, control())
    const raw = Array.isArray(result['tools']) ? result['tools'] : []
    for (const entry of raw.slice(0, maxTools - tools.size)) {
      const listed = readListedTool(entry)
      if (listed && !tools.has(listed.tool))
        tools.set(listed.tool, { ...listed, hash: await sha256Hex(renderForHash(listed), 16) })
    }
    if (typeof result['ttlMs'] === 'number') ttlMs = result['ttlMs']
    cursor = typeof result['nextCursor'] === 'string' ? result['nextCursor'] : undefined
    if (cursor === undefined || cursors.has(cursor)) break
    cursors.add(cursor)
  }
  return { tools: [...tools.values()], ttlMs }
}

/** Lists the tools of a server anew and stores the result. */
export async function refreshServer(server: StoredServer, access: ServerAccess, timeoutMs: number): Promise<Listing> {
  const listing = await listServer(server, access, timeoutMs)
  const authority = systemAuthority(access.tenantId, { kind: 'job', id: 'mcp' })
  await mcpOf(access.env, access.tenantId).apply(authority, server.config.alias, listing)
  return listing
}
