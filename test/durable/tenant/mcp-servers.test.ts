/** Tests that a call of a tool reads its own server and tool, however many a tenant has. */

import { runInDurableObject } from 'cloudflare:test'
import { expect, it } from 'vitest'
import { systemAuthority } from '#agent/core/permission/authority.ts'
import type { ListedTool } from '#agent/mcp/tool-texts.ts'
import { defaultConfig, type ServerConfig } from '#durable/tenant/mcp/server-row.ts'
import { McpServers, type McpServersOptions } from '#durable/tenant/mcp/servers.ts'
import { tenantOf } from './jobs/support.ts'

const [serverCount, toolCount] = [40, 83]
const authority = systemAuthority('servers', { kind: 'job', id: 'mcp' })

const configOf = (n: number): ServerConfig => ({ ...defaultConfig, alias: `s${n}`, url: `https://s${n}.example.com/` })

const toolOf = (n: number, more: Partial<ListedTool> = {}): ListedTool => ({
  tool: `tool${n}`,
  description: `Does ${n}.`,
  input_schema: { type: 'object' },
  hash: `hash ${n}`,
  ...more,
})

/** Counts the rows that statements read. */
function countReads(sql: SqlStorage) {
  const count = { read: 0 }
  const counted = {
    exec: (query: string, ...bindings: SqlStorageValue[]) => {
      const cursor = sql.exec(query, ...bindings)
      const rows = cursor.toArray()
      count.read += cursor.rowsRead
      return { toArray: () => rows, one: () => rows[0], rowsWritten: cursor.rowsWritten }
    },
  } as unknown as SqlStorage
  return { count, sql: counted }
}

function createServers(sql: SqlStorage, env: object = {}): McpServers {
  const values = new Map<string, unknown>([['mcp', 1]])
  return new McpServers({
    mayChange: () => true,
    tenantId: 'servers',
    env: env as Env,
    sql,
    values: { get: () => values.get('mcp'), set: () => undefined },
    audit: { add: () => undefined },
    secrets: () => undefined,
  } as unknown as McpServersOptions)
}

const listing = (tools: readonly ListedTool[]) => ({ state: { status: 'ready' as const }, tools, ms: 1 })

it(`reads a few rows for a call among ${serverCount} servers with ${serverCount * toolCount} tools`, async () => {
  await runInDurableObject(tenantOf('servers'), (_object, { storage }) => {
    const { count, sql } = countReads(storage.sql)
    const servers = createServers(sql)
    const tools = Array.from({ length: toolCount }, (_, n) => toolOf(n))
    storage.transactionSync(() => {
      for (let n = 0; n < serverCount; n++) {
        servers.create(authority, configOf(n))
        servers.apply(authority, `s${n}`, listing(tools))
      }
    })
    count.read = 0
    expect(servers.open(authority, 'S7', 'tool5')).toMatchObject({
      server: { config: { alias: 's7' } },
      tool: { state: 'active' },
      isAdmitted: true,
    })
    servers.report(authority, 's7', { reason: 'it does not answer', tookMs: 1, isRefused: false })
    expect(count.read).toBeLessThan(10)
  })
})

it('judges the tool of a call as the list of tools does', async () => {
  await runInDurableObject(tenantOf('judged'), (_object, { storage }) => {
    const servers = createServers(storage.sql)
    servers.create(authority, { ...configOf(0), tools: { exclude: ['tool4'] } })
    servers.apply(authority, 's0', listing([0, 1, 2, 3, 4].map((n) => toolOf(n))))
    const changed = toolOf(1, { hash: 'another', description: 'Does more.' })
    const [invalid, hidden] = [toolOf(5, { invalid: 'too deep' }), toolOf(6, { attack: 'it gives orders' })]
    servers.apply(authority, 's0', listing([toolOf(0), changed, toolOf(3), toolOf(4), invalid, hidden]))
    const states = Object.fromEntries(servers.tools(authority, 's0')?.map(({ tool, state }) => [tool, state]) ?? [])
    expect(states).toEqual({
      tool0: 'active',
      tool1: 'changed',
      tool3: 'active',
      tool4: 'filtered',
      tool5: 'invalid',
      tool6: 'quarantined',
    })
    for (const name of [...Object.keys(states), 'tool2', 'tool9'])
      expect(servers.open(authority, 's0', name)?.tool?.state, name).toBe(states[name])
    expect(servers.open(authority, 's1', 'tool0')).toBeUndefined()
  })
})

it('reads a server of the deployment with what the tenant has changed, and forgets it with the variable', async () => {
  await runInDurableObject(tenantOf('deployed'), (_object, { storage }) => {
    const MCP_SERVERS = JSON.stringify({ Wiki: { url: 'http://10.0.0.5/mcp' }, other: { url: 'http://10.0.0.6/mcp' } })
    const servers = createServers(storage.sql, { MCP_SERVERS })
    servers.update(authority, 'wiki', { enabled: false })
    expect(servers.open(authority, 'wiki')).toBeUndefined()
    expect(servers.open(authority, 'OTHER')?.server).toMatchObject({
      source: 'deployment',
      state: { status: 'unavailable' },
    })
    expect(createServers(storage.sql).find(authority, 'wiki')).toBeUndefined()
    const moved = createServers(storage.sql, { MCP_SERVERS: JSON.stringify({ other: { url: 'http://10.0.0.7/mcp' } }) })
    expect(moved.find(authority, 'other')?.config.url).toBe('http://10.0.0.7/mcp')
  })
})
