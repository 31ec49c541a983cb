/** Tests the deferred tools of Anthropic's API: results of a search refer to tools, and the cached prefix stays. */

import { describe, expect, it } from 'vitest'
import { type Message, userText } from '#agent/core/message.ts'
import type { ToolSchema } from '#agent/core/request/tool-schema.ts'
import { chooseDialect } from '#agent/routing/choose-dialect.ts'
import { anthropic } from '#agent/providers/profiles/makers.ts'
import { defineSchemaTool } from '#tools/define-tool.ts'
import { deferTools } from '#tools/search/defer-tools.ts'
import { findAnthropicViolations } from '../fakes/anthropic.ts'
import { renderJson, renderText } from '../support/anthropic-requests.ts'
import { toolResult, tools as ordinary } from '../support/requests.ts'

const names = ['add_record', 'drop_record', 'list_zones'].map((name) => `mcp__dns__${name}`)
const deferred = names.map((name) =>
  defineSchemaTool<unknown>({
    name,
    toolset: 'mcp-dns',
    description: `Tool ${name}.`,
    input: {
      schema: { type: 'object', properties: { zone: { type: 'string' } } },
      parse: (value) => ({ ok: true, value }),
    },
    effect: 'effect',
    run: async () => ({}),
  }),
)
const bridge = deferTools(new Map(deferred.map((tool) => [tool.name, tool])), deferred, {
  settings: { enabled: 'on' },
  window: 100_000,
})?.search.map(({ name, description, inputSchema, search }): ToolSchema => ({
  name,
  description,
  inputSchema,
  ...(search && { search }),
}))
const tools = [...ordinary, ...(bridge ?? [])]
const quirks = { toolReferences: true }

const search = (id: string, found: readonly string[], more: Partial<Extract<Message, { role: 'tool' }>> = {}) =>
  [
    { role: 'assistant', content: [{ type: 'call', id, name: 'tool_search', input: { query: 'x' } }], stop: 'tools' },
    toolResult(
      id,
      JSON.stringify({ results: [], tools: Object.fromEntries(found.map((name) => [name, { description: name }])) }),
      { name: 'tool_search', ...more },
    ),
  ] as const satisfies readonly Message[]
const [add = '', drop = '', zones = ''] = names
const first = [userText('go'), ...search('s1', [add])]
const render = (transcript: readonly Message[], more = {}) => renderJson({ transcript, tools, ...more }, quirks)
const resultsIn = ({ messages }: ReturnType<typeof renderJson>) =>
  messages.flatMap(({ content }) =>
    Array.isArray(content) ? content.flatMap((one) => (one.type === 'tool_result' ? [one.content] : [])) : [],
  )

describe('tools that a search has found', () => {
  it('are deferred definitions, to which its result refers', () => {
    const body = render(first)
    expect(findAnthropicViolations(body)).toEqual([])
    expect(body.tools?.map((tool) => 'name' in tool && tool.name)).toEqual(['look', 'find', 'tool_search', add])
    expect(body.tools?.at(-1)).toEqual({
      name: add,
      description: `Tool ${add}.`,
      input_schema: { type: 'object', properties: { zone: { type: 'string' } } },
      defer_loading: true,
    })
    expect(resultsIn(body)).toEqual([[{ type: 'tool_reference', tool_name: add }]])
    expect(JSON.stringify(body.tools)).not.toMatch(/tool_describe|tool_call/)
  })

  it('leave the bytes before them and the cache mark as they are', () => {
    const cached = { cache: '5m' } as const
    const texts = [[userText('go')], first, [...first, ...search('s2', [zones, add]), ...search('s3', [drop])]].map(
      (transcript) => renderText({ transcript, tools, ...cached }, quirks),
    )
    const offered = texts.map((text) => text.slice(text.indexOf('"tools"'), text.indexOf('"system"')))
    const [before = '', ...after] = offered
    expect(before).toMatch(/"cache_control":\{"type":"ephemeral"\}\}\],$/)
    for (const text of after) expect(text.startsWith(before.slice(0, -2))).toBe(true)
    for (const text of after) expect(text.split('cache_control')).toHaveLength(2)
    // Tools that are found again keep their place.
    expect(after[1]?.match(/mcp__dns__\w+","description/g)).toEqual(
      [add, zones, drop].map((name) => `${name}","description`),
    )
    const system = texts.map((text) => text.slice(text.indexOf('"system"'), text.indexOf('"messages"')))
    expect(new Set(system).size).toBe(1)
  })

  it.each([
    ['that the session has no longer', search('s1', ['mcp__gone__tool'])],
    ['by a search that failed', search('s1', [add], { failed: true })],
    ['in a text that was shortened', search('s1', [], { content: [{ type: 'text', text: '{"tools": {"mcp' }] })],
  ])('are not referred to %s', (_, found) => {
    const body = render([userText('go'), ...found])
    expect(findAnthropicViolations(body)).toEqual([])
    expect(JSON.stringify(body)).not.toMatch(/tool_reference|defer_loading/)
    expect(resultsIn(body)).toEqual([expect.any(String)])
  })

  it('are not defined beside a tool of the client with their name', () => {
    const own = { name: add, description: 'Of the client.', inputSchema: { type: 'object' } }
    const body = render(first, { tools: [...tools, own] })
    expect(body.tools?.filter((tool) => 'name' in tool && tool.name === add)).toHaveLength(1)
    expect(JSON.stringify(body)).not.toMatch(/tool_reference|defer_loading/)
  })

  it('are read as text where the API has no references, or no tools are offered', () => {
    const without = renderJson({ transcript: first, tools })
    expect(JSON.stringify(without)).not.toMatch(/tool_reference|defer_loading/)
    expect(without.tools).toHaveLength(5)
    expect(JSON.stringify(render(first, { tools: [] }))).not.toMatch(/tool_reference|defer_loading/)
  })
})

describe('a model that loads tools by reference', () => {
  const quirksOf = (model: string, baseUrl: string) =>
    chooseDialect(anthropic, { model, address: baseUrl, key: 'KEY' }).quirks.toolReferences

  it.each([
    ['claude-sonnet-5', 'https://api.anthropic.com', true],
    ['claude-haiku-4-5', 'https://api.anthropic.com', true],
    ['claude-opus-4-1', 'https://api.anthropic.com', undefined],
    ['claude-sonnet-5', 'https://proxy.example.com', undefined],
  ])('is %s at %s: %s', (model, baseUrl, expected) => expect(quirksOf(model, baseUrl)).toBe(expected))
})
