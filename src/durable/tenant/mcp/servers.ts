/**
 * Stores the MCP servers of a tenant, the tools that each has listed, and which of them a person has approved. Other
 * objects connect to the servers and report what they found, so that a slow server delays nothing here.
 */

import { type Authority, isLimitedByRole } from '#agent/core/permission/authority.ts'
import { addFailure, admitCall, closedBreaker } from '#agent/mcp/breaker.ts'
import { listDifferences, type ListedTool } from '#agent/mcp/tool-texts.ts'
import { nameTools, passesFilter } from '#agent/mcp/tool-names.ts'
import { clock } from '#durable/platform/clock.ts'
import type { SealedSecrets } from '#durable/platform/tenant-secrets.ts'
import { type ChangeCheck, TenantPart } from '../tenant-part.ts'
import type { StoredValues } from '../stored-values.ts'
import {
  type ApprovedTool,
  type Catalogue,
  deploymentServers,
  type Listing,
  type OpenedServer,
  type ServerConfig,
  type ServerState,
  type StoredServer,
  type StoredTool,
} from './server-row.ts'

const maxServers = 100
const versionName = 'mcp version'

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
type ToolRecord = { readonly tool: string; readonly listed: string | null; readonly approved: string | null }

export type McpServersOptions = {
  readonly mayChange: ChangeCheck
  readonly env: Env
  readonly sql: SqlStorage
  readonly values: StoredValues
  readonly secrets: () => SealedSecrets | undefined
}

const newState: ServerState = { status: 'unavailable', reason: 'It was not connected yet.', breaker: closedBreaker }

export type ConfigChange = Partial<Omit<ServerConfig, 'alias'>>

export class TenantMcp extends TenantPart {
  readonly #options: McpServersOptions
  #hasTables = false

  constructor(options: McpServersOptions) {
    super(options.mayChange)
    this.#options = options
  }

  /** Undefined as long as there was never a server. */
  readonly version = (): number | undefined => {
    const { values, env } = this.#options
    return values.get<number>(versionName) ?? (deploymentServers(env).length ? 1 : undefined)
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
    return 'stored'
  }

  /** Merges a change. A server of the deployment takes only what its routes let through. */
  update(authority: Authority, alias: string, change: ConfigChange): boolean {
    if (!this.#mayConfigure(authority, 'write')) return false
    const server = this.#find(alias)
    if (!server) return false
    const { config, source } = server
    const after = source === 'tenant' ? { ...config, ...change } : change
    this.#writeServer(config.alias, { config: JSON.stringify(after), state: server.state, updatedAt: clock.now() })
    this.#changed()
    return true
  }

  remove(authority: Authority, alias: string): boolean {
    if (!this.#mayConfigure(authority, 'write') || this.#find(alias)?.source !== 'tenant') return false
    this.#sql.exec('DELETE FROM mcp_server WHERE alias = ?', alias)
    this.#sql.exec('DELETE FROM mcp_tool WHERE alias = ?', alias)
    this.#changed()
    return true
  }

  tools(authority: Authority, alias: string): readonly StoredTool[] | undefined {
    this.requireOwn(authority)
    const server = this.#find(alias)
    return server && this.#tools(server)
  }

  /** Stores what a connection has found. The first listing of a tool counts as approved, a changed one does not. */
  apply(authority: Authority, alias: string, { state, tools }: Listing): void {
    this.requireOwn(authority)
    const server = this.#find(alias)
    if (!server) return
    const isReady = state.status === 'ready'
    const since = isReady ? undefined : (server.state.since ?? clock.now())
    const after = { ...server.state, ...state, reason: state.reason, since }
    const breaker = isReady ? closedBreaker : after.breaker
    this.#writeServer(server.config.alias, { state: { ...after, breaker } })
    if (tools) this.#storeTools(server.config.alias, tools)
    this.#changed()
  }

  #storeTools(alias: string, tools: readonly ListedTool[]): void {
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
    this.#changed()
    return 'approved'
  }

  /** The parts of all servers that turns read. */
  catalogue(authority: Authority): Catalogue {
    this.requireOwn(authority)
    const enabled = this.#list().filter(({ config }) => config.enabled)
    const servers = enabled.map((server) => ({ ...server, offered: this.#offered(server) }))
    return { version: this.version() ?? 0, servers }
  }

  /** The data for one call, read now: a tool that was withheld meanwhile is not active any more. */
  open(authority: Authority, alias: string, tool?: string): OpenedServer | undefined {
    this.requireOwn(authority)
    const server = this.#find(alias)
    if (!server?.config.enabled) return undefined
    const admitted = admitCall(server.state.breaker, clock.now())
    if (admitted && admitted !== server.state.breaker)
      this.#writeServer(server.config.alias, { state: { ...server.state, breaker: admitted } })
    const found = tool === undefined ? undefined : this.#tools(server).find((one) => one.tool === tool)
    return { server, tool: found, isAdmitted: admitted !== undefined, secrets: this.#options.secrets() }
  }

  /** Notes how a call ended. `failure`: no answer arrived. Errors of tools are not reported. */
  report(authority: Authority, alias: string, failure?: string): void {
    this.requireOwn(authority)
    const server = this.#find(alias)
    if (!server) return
    const now = clock.now()
    const { state } = server
    const after: ServerState =
      failure === undefined
        ? { ...state, status: 'ready', reason: undefined, since: undefined, breaker: closedBreaker }
        : {
            ...state,
            status: 'unavailable',
            reason: failure,
            since: state.since ?? now,
            breaker: addFailure(state.breaker, now),
          }
    this.#writeServer(server.config.alias, { state: after })
  }

  get #sql(): SqlStorage {
    const { sql } = this.#options
    if (!this.#hasTables) for (const statement of schema) sql.exec(statement)
    this.#hasTables = true
    return sql
  }

  #changed(): void {
    this.#options.values.set(versionName, Math.max((this.version() ?? 0) + 1, clock.now()))
  }

  #list(): readonly StoredServer[] {
    // An object without servers gets no tables.
    if (this.version() === undefined) return []
    const records = this.#sql.exec<ServerRecord>('SELECT * FROM mcp_server ORDER BY alias').toArray()
    const deployed = deploymentServers(this.#options.env).map((server) => {
      const record = records.find(({ alias }) => alias.toLowerCase() === server.config.alias.toLowerCase())
      const state = record ? (JSON.parse(record.state) as ServerState) : newState
      const { enabled, tools } = (record?.config ? JSON.parse(record.config) : {}) as ConfigChange
      const patched = { ...(enabled !== undefined && { enabled }), ...(tools && { tools }) }
      return { ...server, config: { ...server.config, ...patched }, state }
    })
    const names = new Set(deployed.map(({ config }) => config.alias.toLowerCase()))
    const own = records.flatMap(({ alias, config, state, createdAt, updatedAt }) => {
      if (names.has(alias.toLowerCase()) || config === null) return []
      const stored = { config: JSON.parse(config) as ServerConfig, state: JSON.parse(state) as ServerState }
      return stored.config.url ? [{ ...stored, source: 'tenant' as const, createdAt, updatedAt }] : []
    })
    return [...deployed, ...own].toSorted((a, b) => (a.config.alias < b.config.alias ? -1 : 1))
  }

  #find(alias: string): StoredServer | undefined {
    return this.#list().find(({ config }) => config.alias.toLowerCase() === alias.toLowerCase())
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

  #tools({ config }: StoredServer): readonly StoredTool[] {
    const records = this.#sql
      .exec<ToolRecord>('SELECT tool, listed, approved FROM mcp_tool WHERE alias = ? ORDER BY tool', config.alias)
      .toArray()
    const listed = records.flatMap(({ listed: text, approved }) =>
      text === null ? [] : [{ tool: JSON.parse(text) as ListedTool, approved: parseApproval(approved) }],
    )
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

const parseApproval = (text: string | null): ApprovedTool | undefined =>
  text === null ? undefined : (JSON.parse(text) as ApprovedTool)

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
