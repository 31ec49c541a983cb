/**
 * Stores the MCP servers of a tenant, the tools that each has listed, and which of them a person has approved. Other
 * objects connect to the servers and report what they found, so that a slow server delays nothing here.
 */

import { type AuditAction, createAuditEvent, listChanges } from '#agent/core/permission/audit.ts'
import { type Authority, isLimitedByRole } from '#agent/core/permission/authority.ts'
import { addFailure, admitCall, closedBreaker } from '#agent/mcp/breaker.ts'
import { fitTools, maxTenantChars } from '#agent/mcp/listed-tool.ts'
import { listDifferences, type ListedTool } from '#agent/mcp/tool-texts.ts'
import { nameTools, passesFilter } from '#agent/mcp/tool-names.ts'
import { clock } from '#durable/platform/clock.ts'
import type { SealedSecrets } from '#durable/platform/tenant-secrets.ts'
import type { TenantAudit } from '../audit.ts'
import { type ChangeCheck, TenantPart } from '../tenant-part.ts'
import { type Grant, GrantRows, type RegisteredClient, type SealedRows, type SignIn } from './oauth/grant-rows.ts'
import type { StoredValues } from '../stored-values.ts'
import {
  type AccessToken,
  type ApprovedTool,
  type CallFailure,
  type CatalogueChanges,
  deploymentServers,
  isOfDeployment,
  type KnownTools,
  type Listing,
  type OpenedServer,
  type ServerConfig,
  type ServerState,
  type StoredServer,
  type StoredTool,
} from './server-row.ts'
import { readVersion, versionName } from './tenant-mcp.ts'

const maxServers = 100

const schema = [
  'CREATE TABLE IF NOT EXISTS mcp_server (alias TEXT PRIMARY KEY COLLATE NOCASE, config TEXT, state TEXT NOT NULL, createdAt INTEGER NOT NULL, updatedAt INTEGER NOT NULL) WITHOUT ROWID',
  'CREATE TABLE IF NOT EXISTS mcp_tool (alias TEXT NOT NULL COLLATE NOCASE, tool TEXT NOT NULL, listed TEXT, approved TEXT, PRIMARY KEY (alias, tool)) WITHOUT ROWID',
]

type ServerRecord = {
  readonly alias: string
  readonly config: string | null
  readonly state: string
  readonly createdAt: number
  readonly updatedAt: number
}
type ToolRecord = { readonly listed: string | null; readonly approved: string | null }

export type McpServersOptions = {
  readonly mayChange: ChangeCheck
  readonly tenantId: string
  readonly env: Env
  readonly sql: SqlStorage
  readonly values: StoredValues
  readonly audit: TenantAudit
  readonly secrets: () => SealedSecrets | undefined
}

const newState: ServerState = { status: 'unavailable', reason: 'It was not connected yet.', breaker: closedBreaker }

export type ConfigChange = Partial<Omit<ServerConfig, 'alias'>>

export class McpServers extends TenantPart {
  readonly #options: McpServersOptions
  readonly #grants: GrantRows
  /** Renewals that run, by alias. */
  readonly #renewing = new Map<string, Promise<AccessToken>>()
  #hasTables = false

  constructor(options: McpServersOptions) {
    super(options.mayChange)
    this.#options = options
    this.#grants = new GrantRows(options.sql)
  }

  list(authority: Authority): readonly (StoredServer & { readonly toolCount: number })[] {
    this.requireOwn(authority)
    return this.#list().map((server) => ({ ...server, toolCount: this.#offered(server).length }))
  }

  /** Servers act in all sessions, as skills do: a role with limits changes none. */
  #mayConfigure(authority: Authority, scope: 'write' | 'approve'): boolean {
    return this.mayChange(authority, scope) && !isLimitedByRole(authority)
  }

  create(authority: Authority, config: ServerConfig): 'stored' | 'conflict' | 'full' | 'foreign' {
    if (!this.#mayConfigure(authority, 'write')) return 'foreign'
    const known = this.#list()
    if (known.some(({ config: { alias } }) => alias.toLowerCase() === config.alias.toLowerCase())) return 'conflict'
    if (known.length >= maxServers) return 'full'
    const now = clock.now()
    const row = [config.alias, JSON.stringify(config), JSON.stringify(newState), now, now]
    this.#sql.exec('INSERT INTO mcp_server VALUES (?, ?, ?, ?, ?)', ...row)
    this.#changed()
    this.#audit(authority, 'mcp.created', { subject: config.alias, details: { url: config.url, auth: config.auth } })
    return 'stored'
  }

  /** Merges a change. A server of the deployment takes only what its routes let through. */
  update(authority: Authority, alias: string, change: ConfigChange): boolean {
    if (!this.#mayConfigure(authority, 'write')) return false
    const server = this.#find(alias)
    if (!server) return false
    const { config, source } = server
    const after = source === 'tenant' ? { ...config, ...change } : change
    const state = { ...server.state, toolsVersion: this.#changed() }
    this.#writeServer(config.alias, { config: JSON.stringify(after), state, updatedAt: clock.now() })
    const { url = config.url, auth = config.auth } = after
    // Tokens belong to the origin that a person has signed in to.
    if (auth !== 'oauth' || new URL(url).origin !== new URL(config.url).origin) this.#grants.forgetGrant(config.alias)
    const changes = listChanges(hideSecrets(config), hideSecrets({ ...config, ...change }))
    if (changes.length) this.#audit(authority, 'mcp.changed', { subject: config.alias, changes })
    return true
  }

  remove(authority: Authority, alias: string): boolean {
    if (!this.#mayConfigure(authority, 'write') || this.#find(alias)?.source !== 'tenant') return false
    this.#sql.exec('DELETE FROM mcp_server WHERE alias = ?', alias)
    this.#sql.exec('DELETE FROM mcp_tool WHERE alias = ?', alias)
    this.#grants.forgetGrant(alias)
    this.#changed()
    this.#audit(authority, 'mcp.deleted', { subject: alias })
    return true
  }

  tools(authority: Authority, alias: string): readonly StoredTool[] | undefined {
    this.requireOwn(authority)
    const server = this.#find(alias)
    return server && this.#tools(server)
  }

  /**
   * Stores what a connection has found. The first listing of a tool counts as approved, a changed one does not. The
   * version stays when sessions would see nothing new: most listings find what was known.
   */
  apply(authority: Authority, alias: string, { state, tools }: Listing): void {
    this.requireOwn(authority)
    const server = this.#find(alias)
    if (!server) return
    const isReady = state.status === 'ready'
    const since = isReady ? undefined : (server.state.since ?? clock.now())
    const after = { ...server.state, ...state, reason: state.reason, since }
    const breaker = isReady ? closedBreaker : after.breaker
    const { alias: name } = server.config
    let { toolsVersion } = server.state
    const hasNewTools = tools !== undefined && (this.#storeTools(name, tools) || toolsVersion === undefined)
    if (hasNewTools) toolsVersion = this.#changed()
    else if (renderShown(after) !== renderShown(server.state)) this.#changed()
    this.#writeServer(name, { state: { ...after, breaker, toolsVersion } })
  }

  /** Whether the list is another one than before. */
  #storeTools(alias: string, found: readonly ListedTool[]): boolean {
    const taken = 'SELECT total(length(listed)) AS chars FROM mcp_tool WHERE alias <> ?'
    const { chars } = this.#sql.exec<{ chars: number }>(taken, alias).one()
    const tools = fitTools(found, maxTenantChars - chars)
    const query = 'SELECT listed, approved FROM mcp_tool WHERE alias = ? AND listed IS NOT NULL'
    const known = new Set(
      this.#sql
        .exec<ToolRecord>(query, alias)
        .toArray()
        .map(({ listed }) => listed),
    )
    if (known.size === tools.length && tools.every((listed) => known.has(JSON.stringify(listed)))) return false
    this.#sql.exec('UPDATE mcp_tool SET listed = NULL WHERE alias = ?', alias)
    for (const listed of tools)
      this.#sql.exec(
        `INSERT INTO mcp_tool VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET listed = excluded.listed,
         approved = coalesce(approved, excluded.approved)`,
        alias,
        listed.tool,
        JSON.stringify(listed),
        listed.attack === undefined && listed.invalid === undefined ? JSON.stringify(approvalOf(listed)) : null,
      )
    return true
  }

  /** `conflict`: the tool is not what the person has seen. */
  approve(
    authority: Authority,
    alias: string,
    tools: readonly { readonly tool: string; readonly hash: string }[],
  ): 'approved' | 'conflict' | 'unknown' | 'foreign' {
    if (!this.#mayConfigure(authority, 'approve')) return 'foreign'
    const server = this.#find(alias)
    if (!server) return 'unknown'
    const known = new Map(this.#tools(server).map((tool) => [tool.tool, tool]))
    if (tools.some(({ tool, hash }) => known.get(tool)?.hash !== hash)) return 'conflict'
    for (const { tool } of tools) {
      const listed = known.get(tool)
      if (listed)
        this.#sql.exec(
          'UPDATE mcp_tool SET approved = ? WHERE alias = ? AND tool = ?',
          JSON.stringify(approvalOf(listed)),
          alias,
          tool,
        )
    }
    this.#writeServer(server.config.alias, { state: { ...server.state, toolsVersion: this.#changed() } })
    this.#audit(authority, 'mcp.approved', {
      subject: alias,
      details: { tools: tools.map(({ tool, hash }) => ({ tool, hash })) },
    })
    return 'approved'
  }

  /** The parts of all servers that turns read, without tools that are known. */
  catalogue(authority: Authority, known: KnownTools = {}): CatalogueChanges {
    this.requireOwn(authority)
    const enabled = this.#list().filter(({ config }) => config.enabled)
    const servers = enabled.map((server) => {
      const { toolsVersion } = server.state
      const isKnown = toolsVersion !== undefined && known[server.config.alias] === toolsVersion
      return isKnown ? server : { ...server, offered: this.#offered(server) }
    })
    return { version: this.#version() ?? 0, servers }
  }

  /** The data for one call, read now: a tool that was withheld meanwhile is not active any more. */
  open(authority: Authority, alias: string, tool?: string): OpenedServer | undefined {
    this.requireOwn(authority)
    const server = this.#find(alias)
    if (!server?.config.enabled) return undefined
    const admitted = admitCall(server.state.breaker, clock.now())
    if (admitted && admitted !== server.state.breaker)
      this.#writeServer(server.config.alias, { state: { ...server.state, breaker: admitted } })
    const found = tool === undefined ? undefined : this.#judge(server, tool)
    return { server, tool: found, isAdmitted: admitted !== undefined, secrets: this.#options.secrets() }
  }

  /** Notes how a call ended. `failure`: no answer arrived. Errors of tools are not reported. */
  report(authority: Authority, alias: string, failure?: CallFailure): void {
    this.requireOwn(authority)
    const server = this.#find(alias)
    if (!server) return
    const now = clock.now()
    const { state } = server
    // Some tools of a server may need other credentials than the rest.
    if (failure?.isRefused)
      return this.#writeServer(server.config.alias, { state: { ...state, reason: failure.reason } })
    const after: ServerState =
      failure === undefined
        ? { ...state, status: 'ready', reason: undefined, since: undefined, breaker: closedBreaker }
        : {
            ...state,
            status: 'unavailable',
            reason: failure.reason,
            since: state.since ?? now,
            breaker: addFailure(state.breaker, now, failure.tookMs),
          }
    this.#writeServer(server.config.alias, { state: after })
  }

  find(authority: Authority, alias: string): StoredServer | undefined {
    this.requireOwn(authority)
    return this.#find(alias)
  }

  // OAuth. Other objects talk to authorization servers, except for the renewal of tokens.

  /** Undefined: the authority may not sign in for the tenant. Else when the sign-in expires. */
  putSignIn(authority: Authority, state: string, signIn: SignIn): number | undefined {
    if (!this.#mayConfigure(authority, 'write') || !this.#find(signIn.alias)) return undefined
    return this.#grants.putSignIn(state, signIn)
  }

  takeSignIn(authority: Authority, state: string, cookieHash: string): SignIn | undefined {
    this.requireOwn(authority)
    return this.#grants.takeSignIn(state, cookieHash)
  }

  getClient(authority: Authority, issuer: string, redirectUri: string): RegisteredClient | undefined {
    this.requireOwn(authority)
    return this.#grants.getClient(issuer, redirectUri)
  }

  putClient(authority: Authority, issuer: string, redirectUri: string, client: RegisteredClient): void {
    this.requireOwn(authority)
    this.#grants.putClient(issuer, redirectUri, client)
  }

  forgetClient(authority: Authority, issuer: string, clientId: string): void {
    this.requireOwn(authority)
    this.#grants.forgetClient(issuer, clientId)
  }

  /** Stores tokens; from then on calls send them. `actor`: who began the sign-in. */
  putGrant(authority: Authority, alias: string, grant: Grant, actor: string): boolean {
    this.requireOwn(authority)
    const server = this.#find(alias)
    if (!server || new URL(server.config.url).origin !== grant.origin) return false
    this.#grants.putGrant(server.config.alias, grant)
    const { oauth } = server.config
    const pinned = oauth?.client_secret && { oauth: { ...oauth, issuer: grant.issuer } }
    const config: ConfigChange = { auth: 'oauth', token: undefined, headers: undefined, ...pinned }
    const after = server.source === 'tenant' ? { ...server.config, ...config } : undefined
    const state: ServerState = { ...server.state, status: 'ready', reason: undefined, since: undefined, expiresAt: 0 }
    this.#writeServer(server.config.alias, { ...(after && { config: JSON.stringify(after) }), state })
    this.#changed()
    const details = { issuer: grant.issuer, scope: grant.scope }
    const event = { at: clock.now(), kind: 'mcp.signed_in' as const, actor, subject: server.config.alias, details }
    this.#options.audit.record(authority, [createAuditEvent(event)])
    return true
  }

  /** Forgets the tokens, and which rights were missing. */
  forgetGrant(authority: Authority, alias: string): boolean {
    const server = this.#mayConfigure(authority, 'write') ? this.#find(alias) : undefined
    if (!server) return false
    const hadGrant = this.#grants.forgetGrant(server.config.alias)
    if (server.config.auth === 'oauth') this.#needAuth(server, 'Nobody is signed in.')
    if (hadGrant) this.#audit(authority, 'mcp.signed_out', { subject: server.config.alias })
    return true
  }

  noteSignInFailure(authority: Authority, alias: string, reason: string): void {
    this.requireOwn(authority)
    const server = this.#find(alias)
    if (server && !this.#grants.getGrant(alias)) this.#needAuth(server, reason)
  }

  #needAuth({ config, state }: StoredServer, reason: string): void {
    const since = state.since ?? clock.now()
    this.#writeServer(config.alias, { state: { ...state, status: 'needs_auth', reason, since } })
    this.#changed()
  }

  addMissingScope(authority: Authority, alias: string, scope: string) {
    this.requireOwn(authority)
    return this.#grants.addMissingScope(alias, scope)
  }

  getMissingScope(authority: Authority, alias: string) {
    this.requireOwn(authority)
    return this.#grants.getMissingScope(alias)
  }

  /** The token for a request. `rejected`: a sealed token that the server has refused. Renewals are made once at a time. */
  async accessToken(authority: Authority, alias: string, rejected?: string): Promise<AccessToken> {
    this.requireOwn(authority)
    const server = this.#find(alias)
    const grant = server && this.#grants.getGrant(alias)
    if (!server || !grant) return { kind: 'refused', reason: 'Nobody has signed in yet.' }
    if (new URL(server.config.url).origin !== grant.origin)
      return { kind: 'refused', reason: 'The sign-in belongs to another address.' }
    if (grant.access !== rejected && !isExpired(grant)) return tokenOf(grant)
    const key = alias.toLowerCase()
    const running = this.#renewing.get(key)
    if (running) return running
    const work = this.#renew(server, grant).finally(() => this.#renewing.delete(key))
    this.#renewing.set(key, work)
    return work
  }

  async #renew(server: StoredServer, grant: Grant): Promise<AccessToken> {
    const { env, tenantId } = this.#options
    const { alias } = server.config
    const { refreshGrant } = await import('./oauth/refresh-grant.ts')
    const answer = await refreshGrant(grant, { env, tenantId, alias }, isOfDeployment(server, grant.tokenEndpoint))
    const current = this.#grants.getGrant(alias)
    // A person has signed in again meanwhile.
    if (current && current.access !== grant.access) return tokenOf(current)
    if (answer.kind === 'renewed') {
      this.#grants.renewGrant(alias, grant, answer.grant)
      return tokenOf(answer.grant)
    }
    if (answer.kind === 'refused' && current) {
      this.#grants.forgetGrant(alias)
      this.#needAuth(server, answer.reason)
    }
    return answer
  }

  /** The rows that hold sealed values, for a new data key. */
  listSealed(authority: Authority): SealedRows {
    this.requireOwn(authority)
    const servers = this.#list().filter(({ source }) => source === 'tenant')
    const grants = this.#list().flatMap(({ config: { alias } }) => {
      const grant = this.#grants.getGrant(alias)
      return grant ? [{ alias, grant }] : []
    })
    return { configs: servers.map(({ config }) => config), grants, clients: this.#grants.listClients() }
  }

  /** For the operator: replaces a sealed text wherever it is stored. Its value stays the same. */
  reseal(authority: Authority, before: string, after: string): boolean {
    if (!this.mayChange(authority, 'admin') || this.#version() === undefined) return false
    const query = 'UPDATE mcp_server SET config = replace(config, ?, ?) WHERE instr(config, ?) > 0'
    const { rowsWritten } = this.#sql.exec(query, before, after, before)
    const isGrant = this.#grants.reseal(before, after)
    if (rowsWritten > 0) this.#changed()
    return rowsWritten > 0 || isGrant
  }

  #audit(
    authority: Authority,
    kind: AuditAction,
    event: Omit<Parameters<TenantAudit['add']>[1], 'kind' | 'sessionId'>,
  ): void {
    this.#options.audit.add(authority, { kind, ...event })
  }

  #version = (): number | undefined => readVersion(this.#options)

  get #sql(): SqlStorage {
    const { sql } = this.#options
    if (!this.#hasTables) for (const statement of schema) sql.exec(statement)
    this.#hasTables = true
    return sql
  }

  #changed(): number {
    const version = Math.max((this.#version() ?? 0) + 1, clock.now())
    this.#options.values.set(versionName, version)
    return version
  }

  #list(): readonly StoredServer[] {
    // An object without servers gets no tables.
    if (this.#version() === undefined) return []
    const records = this.#sql.exec<ServerRecord>('SELECT * FROM mcp_server ORDER BY alias').toArray()
    const deployed = deploymentServers(this.#options.env).map((server) =>
      withRecord(
        server,
        records.find(({ alias }) => isSameAlias(alias, server.config.alias)),
      ),
    )
    const names = new Set(deployed.map(({ config }) => config.alias.toLowerCase()))
    const own = records.flatMap((record) => (names.has(record.alias.toLowerCase()) ? [] : (readOwn(record) ?? [])))
    return [...deployed, ...own].toSorted((a, b) => (a.config.alias < b.config.alias ? -1 : 1))
  }

  /** Each call of a tool asks for one server: the others are not read. */
  #find(alias: string): StoredServer | undefined {
    if (this.#version() === undefined) return undefined
    const deployed = deploymentServers(this.#options.env).find(({ config }) => isSameAlias(config.alias, alias))
    const [record] = this.#sql
      .exec<ServerRecord>('SELECT * FROM mcp_server WHERE alias = ?', deployed?.config.alias ?? alias)
      .toArray()
    return deployed ? withRecord(deployed, record) : record && readOwn(record)
  }

  #writeServer(
    alias: string,
    {
      config,
      state,
      updatedAt,
    }: { readonly config?: string; readonly state: ServerState; readonly updatedAt?: number },
  ): void {
    this.#sql.exec(
      `INSERT INTO mcp_server VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET config = coalesce(excluded.config, config),
       state = excluded.state, updatedAt = max(updatedAt, excluded.updatedAt)`,
      alias,
      config ?? null,
      JSON.stringify(state),
      clock.now(),
      updatedAt ?? 0,
    )
  }

  /** Reads one tool. Undefined: the server does not list it any more. */
  #judge({ config }: StoredServer, tool: string): OpenedServer['tool'] {
    const [listed] = this.#sql
      .exec<ToolRecord>('SELECT listed, approved FROM mcp_tool WHERE alias = ? AND tool = ?', config.alias, tool)
      .toArray()
      .flatMap(parseListed)
    return listed && judgeTool(listed.tool, listed.approved, config)
  }

  #tools({ config }: StoredServer): readonly StoredTool[] {
    const listed = this.#sql
      .exec<ToolRecord>('SELECT listed, approved FROM mcp_tool WHERE alias = ? ORDER BY tool', config.alias)
      .toArray()
      .flatMap(parseListed)
    const names = nameTools(
      config.alias,
      listed.map(({ tool }) => tool.tool),
    )
    return listed.map(({ tool, approved }) => ({
      ...tool,
      name: names.get(tool.tool) ?? tool.tool,
      ...judgeTool(tool, approved, config),
    }))
  }

  #offered(server: StoredServer): readonly StoredTool[] {
    return this.#tools(server).filter(({ state }) => state === 'active')
  }
}

/** A token is renewed so long before its end, because clocks differ, and at most a tenth of its life. */
const maxLeewayMs = 30_000
const isExpired = ({ expiresAt = Infinity, lifetimeMs = Infinity }: Grant): boolean =>
  expiresAt - Math.min(maxLeewayMs, lifetimeMs / 10) <= clock.now()

const tokenOf = ({ access, issuer, origin }: Grant): AccessToken => ({ kind: 'token', sealed: access, issuer, origin })

/** The configuration for the audit log: credentials by their end and by their names. */
const hideSecrets = ({ token, headers, oauth, ...plain }: ServerConfig) => ({
  ...plain,
  token: token && `****${token.lastFour}`,
  headers: headers && Object.keys(headers),
  oauth: oauth && { client_id: oauth.client_id, scope: oauth.scope, client_secret: oauth.client_secret && '****' },
})

/** The part of the state that sessions see. */
const renderShown = (state: ServerState): string => {
  const { status, reason, era, version, hasNoTools, hasResources, hasPrompts } = state
  return JSON.stringify([status, reason, era, version, hasNoTools, hasResources, hasPrompts])
}

const isSameAlias = (one: string, other: string): boolean => one.toLowerCase() === other.toLowerCase()

/** A server of the deployment, with what is stored about it. */
function withRecord(server: Omit<StoredServer, 'state'>, record: ServerRecord | undefined): StoredServer {
  const state = record ? (JSON.parse(record.state) as ServerState) : newState
  const { enabled, tools } = (record?.config ? JSON.parse(record.config) : {}) as ConfigChange
  const patched = { ...(enabled !== undefined && { enabled }), ...(tools && { tools }) }
  return { ...server, config: { ...server.config, ...patched }, state }
}

/** Undefined: what is left of a server that the deployment has defined. */
function readOwn({ config, state, createdAt, updatedAt }: ServerRecord): StoredServer | undefined {
  if (config === null) return undefined
  const stored = { config: JSON.parse(config) as ServerConfig, state: JSON.parse(state) as ServerState }
  return stored.config.url ? { ...stored, source: 'tenant', createdAt, updatedAt } : undefined
}

/** Empty for a tool that the server does not list any more. */
function parseListed({ listed, approved }: ToolRecord) {
  if (listed === null) return []
  return [
    { tool: JSON.parse(listed) as ListedTool, approved: approved ? (JSON.parse(approved) as ApprovedTool) : undefined },
  ]
}

function approvalOf({ hash, title, description, input_schema, output_schema, annotations }: ListedTool): ApprovedTool {
  const optional = { ...(title !== undefined && { title }), ...(output_schema && { output_schema }) }
  return { hash, texts: { description, input_schema, ...optional, ...(annotations && { annotations }) } }
}

/** A person may approve a text that looks like an attack, after having read it. */
function judgeTool(
  tool: ListedTool,
  approved: ApprovedTool | undefined,
  { tools: filter }: ServerConfig,
): Pick<StoredTool, 'state' | 'reason' | 'diff'> {
  const isApproved = approved?.hash === tool.hash
  if (tool.invalid !== undefined) return { state: 'invalid', reason: tool.invalid }
  if (tool.attack !== undefined && !isApproved) return { state: 'quarantined', reason: tool.attack }
  if (approved && !isApproved)
    return {
      state: 'changed',
      reason: 'It is not the tool that was approved. Look at the difference, then approve it.',
      diff: listDifferences(approved.texts, tool),
    }
  return { state: passesFilter(tool.tool, filter) ? 'active' : 'filtered' }
}
