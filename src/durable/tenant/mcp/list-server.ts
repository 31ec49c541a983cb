/** Connects to an MCP server, lists its tools, and reports what was found in words. */

import type { ExecutionBackend, Jobs } from '#agent/core/backend.ts'
import type { JsonObject } from '#agent/core/parse-json.ts'
import { maxPages, maxTools, readListedTool, renderForHash } from '#agent/mcp/listed-tool.ts'
import type { ListedTool } from '#agent/mcp/tool-texts.ts'
import { secretName } from '#agent/core/secrets/secret-name.ts'
import { systemAuthority } from '#agent/core/permission/authority.ts'
import { clock } from '#durable/platform/clock.ts'
import { sha256Hex } from '#durable/platform/hash.ts'
import { rememberSecrets } from '#durable/platform/redaction.ts'
import { type SecretOwner, unseal } from '#durable/platform/seal.ts'
import { openSecrets, type SealedSecrets } from '#durable/platform/tenant-secrets.ts'
import { createTenantFetch } from '../tenant-fetch.ts'
import { type McpEndpoint, McpFailure, openPeer, request } from './mcp-client.ts'
import { grantOwner } from './oauth/grant-rows.ts'
import { type Listing, mcpOf, programUrl, type SealedHeader, type StoredServer } from './server-row.ts'

/** A credential opens only for the server and the origin that it was given for. */
export const headerOwner = (tenant: string, url: string, header: string): SecretOwner => ({
  tenant,
  kind: 'mcp',
  id: `${new URL(url).origin} ${header.toLowerCase()}`,
})

/** A variable opens only for the program that it was given for. */
export const variableOwner = (tenant: string, alias: string, name: string): SecretOwner => ({
  tenant,
  kind: 'mcp',
  id: `${programUrl(alias.toLowerCase())} ${name}`,
})

/** The name under which the secret of an OAuth client is sealed. It is no header. */
export const clientSecretHeader = 'oauth-client'

export type ServerAccess = {
  readonly env: Env
  readonly tenantId: string
  readonly secrets: SealedSecrets | undefined
  readonly runInBackground?: (work: Promise<unknown>) => void
  /** The host for servers that are programs. Absent: nothing can run them here. */
  readonly host?: ProgramHost | undefined
}

/** The host of a session. */
export type ProgramHost = {
  readonly backend: Pick<ExecutionBackend, 'kind' | 'jobs'> | undefined
  readonly sessionId: string
}

/** Undefined: the host runs no programs. The jobs of the virtual shell are commands of its own. */
export const programJobs = ({ backend }: ProgramHost): Jobs | undefined =>
  backend?.kind === 'virtual' ? undefined : backend?.jobs

const ownAuthority = (tenantId: string) => systemAuthority(tenantId, { kind: 'job', id: 'mcp' })
const ignoreEnd = (work: Promise<unknown>): void => void work.catch(() => undefined)

/**
 * Opens the credentials of a server. Throws an `McpFailure` when one cannot be used. `rejected`: a sealed token of OAuth
 * that the server has refused.
 */
export async function openEndpoint(
  server: StoredServer,
  access: ServerAccess,
  rejected?: string,
): Promise<McpEndpoint> {
  const { env, tenantId, runInBackground = ignoreEnd } = access
  const { url, transport, auth } = server.config
  if (transport === 'stdio') return openProgram(server, access)
  const token = auth === 'oauth' ? await openToken(server, access, rejected) : undefined
  const headers = server.plainHeaders ?? (await openHeaders(server, access))
  return {
    url,
    transport,
    headers: { ...headers, ...(token && { authorization: `Bearer ${token.value}` }) },
    ...(token && { sealedToken: token.sealed }),
    isTrustedAddress: server.source === 'deployment',
    guardedFetch: createTenantFetch(env, tenantId, runInBackground),
  }
}

/** A call without a host says nothing about the program, so it is no failure of the server. */
async function openProgram(server: StoredServer, access: ServerAccess): Promise<McpEndpoint> {
  const { url, alias, command = '', args = [] } = server.config
  const { host } = access
  const jobs = host && programJobs(host)
  if (!jobs) throw new McpFailure('rpc', needsHost(alias))
  const { createProgramFetch } = await import('./stdio-program.ts')
  const env = server.plainEnv ?? (await openEnvironment(server, access))
  const guardedFetch = createProgramFetch(jobs, { alias, command, args, env, sessionId: host.sessionId })
  return { url, transport: 'http', headers: {}, isTrustedAddress: false, guardedFetch }
}

const needsHost = (alias: string): string =>
  `The server ${alias} is a program. It runs in sessions whose host runs programs (SANDBOX_BACKEND, or terminal.backend of the settings), and this is none.`

/** Does `work` with the credentials of a server, and once more with new ones when a token was refused. */
export async function withCredentials<Result>(
  server: StoredServer,
  access: ServerAccess,
  work: (endpoint: McpEndpoint) => Promise<Result>,
): Promise<Result> {
  const endpoint = await openEndpoint(server, access)
  try {
    return await work(endpoint)
  } catch (error) {
    const isRefused = error instanceof McpFailure && error.kind === 'auth' && error.challenge?.isScopeMissing !== true
    if (!isRefused || endpoint.sealedToken === undefined) throw error
    return work(await openEndpoint(server, access, endpoint.sealedToken))
  }
}

/** Names the place where a person signs in. Chats get the address of our page, never that of the authorization server. */
export function explainSignIn({ PUBLIC_URL: url }: Env, alias: string): string {
  if (!url) return 'Sign in on the page of Talaria, under "MCP servers".'
  return `Sign in at ${url.replace(/\/{1,20}$/, '')}/#/mcp/${encodeURIComponent(alias)}`
}

/** The next sign-in asks for the rights that are there and those that are missing. Undefined: no right is missing. */
export async function explainMissingScope(
  { challenge }: McpFailure,
  { config: { alias, auth } }: StoredServer,
  { env, tenantId }: Pick<ServerAccess, 'env' | 'tenantId'>,
): Promise<string | undefined> {
  if (!challenge?.isScopeMissing || auth !== 'oauth') return undefined
  const { scope = '' } = challenge
  const missing = await mcpOf(env, tenantId).addMissingScope(ownAuthority(tenantId), alias, scope)
  const needed = `The server ${alias} needs more rights${scope && ` (${scope})`}.`
  return missing.isHopeless
    ? `${needed} Two sign-ins have asked for them in vain. Tell the user; its operator has to grant them.`
    : `${needed} Tell the user to sign in once more. ${explainSignIn(env, alias)}`
}

async function openToken({ config }: StoredServer, { env, tenantId }: ServerAccess, rejected: string | undefined) {
  const { alias, url } = config
  const answer = await mcpOf(env, tenantId).accessToken(ownAuthority(tenantId), alias, rejected)
  if (answer.kind === 'failed') throw new McpFailure('transport', answer.reason)
  if (answer.kind === 'refused') throw new McpFailure('auth', `${answer.reason} ${explainSignIn(env, alias)}`)
  const { sealed, issuer, origin } = answer
  if (origin !== new URL(url).origin) throw new McpFailure('auth', 'The sign-in belongs to another address.')
  const opened = await unseal(env, sealed, grantOwner(tenantId, { alias, origin, issuer }))
  if (opened.kind === 'unreadable') throw new McpFailure('auth', `${opened.reason} ${explainSignIn(env, alias)}`)
  rememberSecrets(tenantId, `mcp-oauth ${alias.toLowerCase()}`, [opened.secret])
  return { sealed, value: opened.secret }
}

async function openHeaders({ config }: StoredServer, access: ServerAccess): Promise<Record<string, string>> {
  const { url, auth, token, headers = {}, alias } = config
  const named: Readonly<Record<string, SealedHeader>> =
    auth === 'bearer' && token ? { authorization: token } : auth === 'headers' ? headers : {}
  const { tenantId } = access
  const opened: Record<string, string> = {}
  for (const [header, sealed] of Object.entries(named)) {
    const value = await openValue(sealed, headerOwner(tenantId, url, header), access)
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

async function openValue(
  { sealed, refers }: SealedHeader,
  owner: SecretOwner,
  { env, tenantId, secrets }: ServerAccess,
): Promise<string> {
  const result = await unseal(env, sealed, owner)
  if (result.kind === 'unreadable') throw new McpFailure('auth', `A value of it cannot be opened. ${result.reason}`)
  return refers ? fillReferences(result.secret, await openSecrets(env, { id: tenantId, secrets })) : result.secret
}

async function openEnvironment({ config }: StoredServer, access: ServerAccess): Promise<Record<string, string>> {
  const opened: Record<string, string> = {}
  for (const [name, sealed] of Object.entries(config.env ?? {}))
    opened[name] = await openValue(sealed, variableOwner(access.tenantId, config.alias, name), access)
  const values = Object.values(opened).filter((value) => value.length >= 8)
  rememberSecrets(access.tenantId, `mcp ${config.alias.toLowerCase()}`, values)
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
  const { config, state } = server
  if (config.transport === 'stdio' && !(access.host && programJobs(access.host)))
    return { ms: 0, state: { ...state, ...(state.fetchedAt === undefined && { reason: needsHost(config.alias) }) } }
  const begun = clock.now()
  const ends = begun + timeoutMs
  try {
    const control = () => ({ timeoutMs: Math.max(1, ends - clock.now()) })
    const { peer, capabilities, tools, ttlMs, note } = await withCredentials(server, access, async (endpoint) => {
      const opened = await openPeer(endpoint, control())
      return { ...opened, ...(await listTools(endpoint, opened, control)) }
    })
    const now = clock.now()
    const isSse = peer.era === 'sse'
    return {
      ms: now - begun,
      tools,
      state: {
        status: 'ready',
        note,
        era: peer.era,
        version: peer.version,
        hasResources: !isSse && capabilities['resources'] !== undefined,
        hasPrompts: !isSse && capabilities['prompts'] !== undefined,
        hasNoTools: tools.length === 0,
        fetchedAt: now,
        expiresAt: now + Math.min(maxTtlMs, Math.max(minTtlMs, ttlMs ?? defaultTtlMs)),
      },
    }
  } catch (error) {
    if (!(error instanceof McpFailure)) throw error
    const status = error.kind === 'auth' ? 'needs_auth' : 'unavailable'
    const now = clock.now()
    const reason = (await explainMissingScope(error, server, access)) ?? error.message
    return { ms: now - begun, state: { status, reason, expiresAt: now + minTtlMs } }
  }
}

const methodNotFound = -32_601
type Opened = Awaited<ReturnType<typeof openPeer>>
const cutNote = `Its list is longer than ${maxPages} pages or ${maxTools} tools. The rest is left out.`

/** Servers of resources or prompts alone need not know the method. One that promises tools has to list them. */
const hasNoTools = ({ capabilities }: Opened, error: unknown): boolean =>
  error instanceof McpFailure && error.code === methodNotFound && capabilities['tools'] === undefined

async function listTools(endpoint: McpEndpoint, opened: Opened, control: () => { readonly timeoutMs: number }) {
  const tools = new Map<string, ListedTool>()
  const cursors = new Set<string>()
  let [cursor, ttlMs, isWhole]: [string | undefined, number | undefined, boolean] = [undefined, undefined, false]
  for (let page = 0; page < maxPages && tools.size < maxTools; page++) {
    const params: JsonObject = cursor === undefined ? {} : { cursor }
    const asked = request(endpoint, opened.peer, { method: 'tools/list', params }, control())
    const result = await asked.catch((error: unknown) => {
      if (page > 0 || !hasNoTools(opened, error)) throw error
      return { tools: [] } as JsonObject
    })
    const raw = readPage(result)
    const room = maxTools - tools.size
    await addTools(tools, raw.slice(0, room))
    if (typeof result['ttlMs'] === 'number') ttlMs = result['ttlMs']
    cursor = typeof result['nextCursor'] === 'string' ? result['nextCursor'] : undefined
    const isLast = cursor === undefined || cursors.has(cursor)
    isWhole = isLast && raw.length <= room
    if (cursor === undefined || isLast) break
    cursors.add(cursor)
  }
  return { tools: [...tools.values()], ttlMs, note: isWhole ? undefined : cutNote }
}

function readPage({ tools }: JsonObject): readonly unknown[] {
  if (Array.isArray(tools)) return tools
  throw new McpFailure('transport', 'The list of tools of the server is not a list.')
}

async function addTools(tools: Map<string, ListedTool>, entries: readonly unknown[]): Promise<void> {
  for (const entry of entries) {
    const listed = readListedTool(entry)
    if (listed && !tools.has(listed.tool))
      tools.set(listed.tool, { ...listed, hash: await sha256Hex(renderForHash(listed), 16) })
  }
}

/** Lists the tools of a server anew and stores the result. */
export async function refreshServer(server: StoredServer, access: ServerAccess, timeoutMs: number): Promise<Listing> {
  const listing = await listServer(server, access, timeoutMs)
  await mcpOf(access.env, access.tenantId).apply(ownAuthority(access.tenantId), server.config.alias, listing)
  return listing
}
