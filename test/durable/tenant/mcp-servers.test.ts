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
    values: { get: () => values.get('mcp'), set: (_name: string, value: unknown) => values.set('mcp', value) },
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

it('raises the version when sessions would see something new, and then sends the tools of that server alone', async () => {
  await runInDurableObject(tenantOf('versions'), (_object, { storage }) => {
    const servers = createServers(storage.sql)
    const tools = [toolOf(0), toolOf(1)]
    for (const n of [0, 1]) {
      servers.create(authority, configOf(n))
      servers.apply(authority, `s${n}`, listing(tools))
    }
    const read = (known = {}) => servers.catalogue(authority, known)
    const known = () =>
      Object.fromEntries(read().servers.map(({ config, state }) => [config.alias, state.toolsVersion]))
    const down = { state: { status: 'unavailable' as const, reason: 'status 503', expiresAt: 5 }, ms: 1 }
    const more = [...tools, toolOf(2)]
    const changed = [toolOf(0, { hash: 'another' }), toolOf(1), toolOf(2)]
    const approved = [{ tool: 'tool0', hash: 'another' }]
    const steps: readonly [what: string, act: () => unknown, isSeen: boolean, sent: readonly string[]][] = [
      ['the same list', () => servers.apply(authority, 's0', listing(tools)), false, []],
      ['the same in another order', () => servers.apply(authority, 's0', listing(tools.toReversed())), false, []],
      ['no answer', () => servers.apply(authority, 's0', down), true, []],
      ['no answer again', () => servers.apply(authority, 's0', down), false, []],
      ['an answer', () => servers.apply(authority, 's0', listing(tools)), true, []],
      ['one tool more', () => servers.apply(authority, 's0', listing(more)), true, ['s0']],
      ['another text', () => servers.apply(authority, 's0', listing(changed)), true, ['s0']],
      ['its approval', () => servers.approve(authority, 's0', approved), true, ['s0']],
      ['one tool less', () => servers.apply(authority, 's0', listing(changed.slice(1))), true, ['s0']],
      ['a filter', () => servers.update(authority, 's1', { tools: { exclude: ['tool1'] } }), true, ['s1']],
      ['the same list behind a filter', () => servers.apply(authority, 's1', listing(tools)), false, []],
    ]
    for (const [what, act, isSeen, sent] of steps) {
      const [before, { version }] = [known(), read()]
      act()
      expect(read().version > version, what).toBe(isSeen)
      const answered = read(before).servers.filter(({ offered }) => offered)
      expect(
        answered.map(({ config }) => config.alias),
        what,
      ).toEqual(sent)
    }
    expect(read().servers[0]?.state).toMatchObject({ status: 'ready' })
    expect(read().servers.map(({ offered }) => offered?.map(({ tool }) => tool))).toEqual([
      ['tool1', 'tool2'],
      ['tool0'],
    ])
    servers.remove(authority, 's0')
    const before = known()
    servers.create(authority, configOf(0))
    servers.apply(authority, 's0', listing(tools))
    expect(read(before).servers[0]?.offered).toHaveLength(2)
  })
})
