/** Tests sessions with more tools of servers than their requests have room for: searching, describing and calling them. */

import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { itInTurn } from '#test/support/long.ts'
import { type McpServer, serveMcp, tool } from '../support/mcp-server.ts'
import { calls, listTexts, model, type ModelRequest, says } from '../support/scripted-model.ts'
import { applyMigrations, call, newKey, newSession, newTenant } from './client.ts'

beforeAll(applyMigrations)

type Call = { readonly name: string; readonly input: object }
type Listed = {
  readonly tools?: readonly { readonly function: { readonly name: string; readonly description: string } }[]
}

const host = 'many.example.com'
const servers = ['alpha', 'beta', 'gamma', 'delta']
let server: McpServer
let key: string
let tenant: string

/** Each server also has the two tools for its resources. `dns` is the only tool about its subject. */
const manyTools = (alias: string, count: number) =>
  Array.from({ length: count }, (_, at) =>
    at === 7 && alias === 'gamma'
      ? tool('add_dns_record', {
          description: 'Adds a record to a DNS zone.',
          inputSchema: { type: 'object', properties: { zone: { type: 'string' } }, required: ['zone'] },
        })
      : tool(`${['read', 'write', 'sync', 'count'][at % 4]}_ledger_${at}`, {
          description: `Handles the ledger number ${at} of ${alias}, with all its entries and balances.`,
        }),
  )

beforeEach(async () => {
  server = serveMcp(host)
  ;({ key, id: tenant } = await newTenant())
})
afterEach(() => void vi.restoreAllMocks())

async function addServers(toolsPerServer: number): Promise<void> {
  for (const alias of servers) {
    server.tools = manyTools(alias, toolsPerServer)
    const { body } = await call<{ tool_count: number }>('POST', '/api/mcp/servers', {
      key,
      body: { alias, url: `https://${host}/mcp` },
    })
    expect(body.tool_count).toBe(toolsPerServer)
  }
}

/** Runs one turn whose model makes these calls one after another, and returns its requests. */
async function runTurn(made: readonly Call[], settings: object = {}, by = key) {
  const asked: ModelRequest[] = []
  const scripted = model((request, nth) => {
    asked.push(request)
    const next = made[nth]
    return next ? calls(next) : says('done')
  })
  const all = { approvals: { mode: 'off' }, ...settings }
  expect((await call('PATCH', '/api/settings', { key, body: all })).status).toBe(200)
  const { id } = await newSession({ model: scripted.id }, key)
  const { body } = await call<{ run_id: string }>('POST', `/api/sessions/${id}/chat`, {
    key: by,
    body: { input: 'go' },
  })
  const offered = ((asked[0] as unknown as Listed).tools ?? []).map((one) => one.function)
  return {
    id,
    run: body.run_id,
    offered,
    names: offered.map(({ name }) => name),
    read: listTexts(asked.at(-1) as ModelRequest).join('\n'),
  }
}

const find = { name: 'tool_search', input: { query: 'dns record' } }
const name = 'mcp__gamma__add_dns_record'
const carry = (input: object = { zone: 'a.example' }, tools = name) => ({
  name: 'tool_call',
  input: { name: tools, arguments: input },
})
const gammaCalls = () => server.requests.filter(({ method }) => method === 'tools/call')

describe('a session with 3,300 tools of servers', () => {
  it('offers three tools for them within the budget of the listing, and finds the right one', async () => {
    await addServers(825)
    const { offered, names, read } = await runTurn([find])
    expect(names.filter((one) => one.startsWith('mcp__'))).toEqual([])
    expect(names.slice(-3)).toEqual(['tool_search', 'tool_describe', 'tool_call'])
    const search = offered.find((one) => one.name === 'tool_search')
    expect(search?.description).toContain('mcp-gamma: 827 tools')
    // About 4,000 tokens.
    expect(JSON.stringify(offered.slice(-3)).length).toBeLessThan(20_000)
    expect(read).toContain(`"matches":["${name}"`)
  })
})

const searching = { tools: { tool_search: { enabled: 'on' } } }

describe('a session whose tools are searched', () => {
  beforeEach(async () => {
    await addServers(12)
    await call('PATCH', '/api/settings', { key, body: searching })
  })

  it('finds, describes and calls one of them', async () => {
    const describeIt = { name: 'tool_describe', input: { name } }
    const { read, id } = await runTurn([find, describeIt, carry()])
    expect(read).toContain(`"matches":["${name}"`)
    expect(read).toContain('"parameters":{"type":"object","properties":{"zone"')
    expect(gammaCalls()[0]?.body.params).toMatchObject({ name: 'add_dns_record', arguments: { zone: 'a.example' } })
    const { body } = await call<{ data: object[] }>('GET', `/api/sessions/${id}/messages`, { key })
    expect(JSON.stringify(body.data)).toContain(`"name":"${name}"`)
    expect(JSON.stringify(body.data)).not.toContain('"tool_call"')
  })

  itInTurn('runs several calls of one reply, and a direct call of a deferred tool', async () => {
    const several = { name: 'tool_call', input: { calls: [carry().input, carry({ zone: 'b.example' }).input] } }
    await runTurn([several, { name, input: { zone: 'c.example' } }])
    const zones = gammaCalls().map(({ body }) => (body.params?.['arguments'] as { zone?: string } | undefined)?.zone)
    expect(zones).toEqual(['a.example', 'b.example', 'c.example'])
  })

  it('answers wrong arguments with the schema, and unknown names with similar ones', async () => {
    const { read } = await runTurn([carry({}), carry({}, 'make_dns_record'), carry({}, 'tool_call')])
    expect(read).toContain('missing: zone. The schema: {')
    expect(read).toMatch(/There is no tool named make_dns_record.*add_dns_record/)
    expect(read).toContain('tool_call cannot be called by tool_call')
    expect(gammaCalls()).toEqual([])
  })

  it('answers a question in another script with the sources', async () => {
    const { read } = await runTurn([
      { name: 'tool_search', input: { queries: ['запись доменного имени', 'dns record'] } },
    ])
    expect(read).toContain('"available_sources":["alpha","beta","delta","gamma"]')
    expect(read).toContain('English words')
    expect(read).toContain(name)
  })

  itInTurn('does not list thousands of names for an unknown tool', async () => {
    const { read } = await runTurn([{ name: 'zzz_nothing', input: {} }])
    expect(read).toContain('There is no tool named zzz_nothing')
    expect(read.length).toBeLessThan(6_000)
  })
})

const frames = (...events: readonly { readonly type: string }[]) =>
  new Response(events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(''), {
    headers: { 'content-type': 'text/event-stream' },
  })
const claudeReply = (block: object, delta: object, reason: string) => {
  const message = {
    id: 'm',
    type: 'message',
    role: 'assistant',
    content: [],
    usage: { input_tokens: 9, output_tokens: 1 },
  }
  const changes = { type: 'content_block_delta', index: 0, delta }
  return frames(
    { type: 'message_start', message } as { type: string },
    { type: 'content_block_start', index: 0, content_block: block } as { type: string },
    changes,
    { type: 'content_block_stop', index: 0 } as { type: string },
    { type: 'message_delta', delta: { stop_reason: reason }, usage: { output_tokens: 5 } } as { type: string },
    { type: 'message_stop' },
  )
}
const claudeCalls = (id: string, tool: string, input: object) =>
  claudeReply(
    { type: 'tool_use', id, name: tool, input: {} },
    { type: 'input_json_delta', partial_json: JSON.stringify(input) },
    'tool_use',
  )

type ClaudeBody = {
  readonly tools: readonly { readonly name: string; readonly description?: string; readonly defer_loading?: boolean }[]
  readonly messages: readonly { readonly content: unknown }[]
}

describe('a session of a model that loads tools by reference', () => {
  it('gets the tools that it finds, and calls them by their names', async () => {
    await addServers(12)
    const asked: ClaudeBody[] = []
    const next: typeof fetch = vi.mocked(fetch).getMockImplementation() ?? fetch
    vi.mocked(fetch).mockImplementation(async (input, init) => {
      const sent = new Request(input, init)
      if (new URL(sent.url).hostname !== 'api.anthropic.com') return next(sent)
      asked.push(await sent.json())
      if (asked.length === 1) return claudeCalls('toolu_1', 'tool_search', { query: 'dns record' })
      if (asked.length === 2) return claudeCalls('toolu_2', name, { zone: 'a.example' })
      return claudeReply({ type: 'text', text: '' }, { type: 'text_delta', text: 'Added.' }, 'end_turn')
    })
    await call('POST', '/api/credentials', { key, body: { provider: 'anthropic', key: 'sk-ant-api-0001' } })
    await call('PATCH', '/api/settings', { key, body: { ...searching, approvals: { mode: 'off' } } })
    const { id } = await newSession({ model: 'anthropic/claude-sonnet-5' }, key)
    const { body } = await call<{ output: string }>('POST', `/api/sessions/${id}/chat`, { key, body: { input: 'go' } })
    expect(body.output).toBe('Added.')
    const names = asked.map(({ tools }) => tools.map((one) => one.name))
    expect(names[0]?.filter((one) => /^(?:mcp__|tool_)/.test(one))).toEqual(['tool_search'])
    expect(asked[1]?.tools.filter((one) => one.defer_loading).map((one) => one.name)).toContain(name)
    expect(names[1]?.slice(0, names[0]?.length)).toEqual(names[0])
    expect(JSON.stringify(asked[1]?.messages.at(-1))).toContain(`{"type":"tool_reference","tool_name":"${name}"}`)
    expect(gammaCalls()[0]?.body.params).toMatchObject({ name: 'add_dns_record', arguments: { zone: 'a.example' } })
  })
})

describe('a call that tool_call carries is judged by its own name', () => {
  beforeEach(async () => {
    await addServers(12)
    await call('PATCH', '/api/settings', { key, body: searching })
  })

  it('is refused by a rule for its tool', async () => {
    const rules = [{ tool: name, do: 'deny' }]
    const { read } = await runTurn([carry()], { approvals: { mode: 'off', rules } })
    expect(read).toMatch(/Not run/)
    expect(gammaCalls()).toEqual([])
  })

  it('waits for a person under its own name, and runs when it is allowed', async () => {
    const scripted = model([calls(carry()), says('done')])
    await call('PATCH', '/api/settings', { key, body: { approvals: { mode: 'manual' } } })
    const { id } = await newSession({ model: scripted.id }, key)
    const running = call('POST', `/api/sessions/${id}/chat`, { key, body: { input: 'go' } })
    const pending = await vi.waitFor(async () => {
      const { body } = await call<{ data: { id: string; tool: string }[] }>('GET', '/api/approvals', { key })
      expect(body.data).toHaveLength(1)
      return body.data[0]
    })
    expect(pending?.tool).toBe(name)
    expect(gammaCalls()).toEqual([])
    await call('POST', `/api/approvals/${pending?.id}`, { key, body: { decision: 'once' } })
    await running
    expect(gammaCalls()).toHaveLength(1)
  })

  it.each([
    ['a disabled toolset', { toolsets: { disabled: ['mcp-gamma'] } }],
    ['a disabled tool', { toolsets: { disabled: [name] } }],
  ])('is neither found nor run with %s', async (_, settings) => {
    const { read } = await runTurn([find, carry(), { name, input: { zone: 'x' } }], {
      ...settings,
      approvals: { mode: 'off' },
    })
    expect(read).not.toContain(`"${name}":{`)
    expect(read).toContain('There is no tool named')
    expect(gammaCalls()).toEqual([])
  })

  it('is not reached by a key whose role has other toolsets', async () => {
    const scopes = ['chat', 'read']
    const roles = { narrow: { scopes, toolsets: ['mcp-alpha'] } }
    const narrow = await (async () => {
      await call('PATCH', '/api/settings', { key, body: { roles } })
      return newKey(tenant, scopes, { role: 'narrow' })
    })()
    await runTurn([find, carry()], {}, narrow)
    expect(gammaCalls()).toEqual([])
  })
})

describe('the settings of the search', () => {
  beforeEach(() => addServers(12))

  it.each([
    ['off', { enabled: 'off' }, false],
    ['on', { enabled: 'on' }, true],
    ['few tools', {}, false],
    ['a threshold that is reached', { threshold_pct: 0 }, true],
  ])('%s', async (_, search, hasSearch) => {
    const { names } = await runTurn([], { tools: { tool_search: search } })
    expect(names.filter((one) => one.startsWith('mcp__')).length).toBe(hasSearch ? 0 : 56)
    expect(names.includes('tool_search')).toBe(hasSearch)
  })

  it.each([
    ['auto', /mcp__gamma__add_dns_record: Adds a record/],
    ['off', /use tool_describe and tool_call\.$/],
  ])('listing %s', async (listing, expected) => {
    const { offered } = await runTurn([], { tools: { tool_search: { enabled: 'on', listing } } })
    expect(offered.find((one) => one.name === 'tool_search')?.description).toMatch(expected)
  })
})
