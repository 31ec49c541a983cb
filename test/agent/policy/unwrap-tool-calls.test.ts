/** Tests how the calls inside `tool_call` become calls of their own. */

import { describe, expect, it } from 'vitest'
import type { ToolCallPart } from '../../../src/agent/core/message.ts'
import { unwrapToolCalls } from '../../../src/agent/policy/unwrap-tool-calls.ts'

const names = [
  'read_file',
  'mcp__wiki__read_page',
  'mcp__a__same',
  'mcp__b__same',
  'tool_search',
  'tool_describe',
  'tool_call',
]

function unwrap(input: unknown, more: Partial<ToolCallPart> = {}, toolbox: readonly string[] = names) {
  const part = { type: 'call', id: 'c1', name: 'tool_call', input, ...more } as ToolCallPart
  const text = { type: 'text', text: 'hm' } as const
  const reply = { role: 'assistant', content: [text, part], stop: 'tools' } as const
  const ruling = unwrapToolCalls(
    { turn: {}, reply, calls: [] } as never,
    { toolbox: new Map(toolbox.map((name) => [name, {}])) } as never,
  )
  const changed = (ruling as { readonly reply?: typeof reply } | undefined)?.reply ?? reply
  return changed.content.slice(1)
}

const read = (input: object, id = 'c1') => ({ type: 'call', id, name: 'mcp__wiki__read_page', input })

describe('a call of tool_call', () => {
  it.each<[string, unknown, readonly object[]]>([
    ['one call', { name: 'mcp__wiki__read_page', arguments: { id: 1 } }, [read({ id: 1 })]],
    ['no arguments', { name: 'mcp__wiki__read_page' }, [read({})]],
    ['arguments as JSON text', { name: 'mcp__wiki__read_page', arguments: '{"id":1}' }, [read({ id: 1 })]],
    ['a name without its server', { name: 'read_page', arguments: { id: 1 } }, [read({ id: 1 })]],
    [
      'several calls, with ids of their own',
      {
        calls: [
          { name: 'mcp__wiki__read_page', arguments: { id: 1 } },
          { name: 'read_file', arguments: { path: 'a' } },
        ],
      },
      [read({ id: 1 }), { type: 'call', id: 'c1_2', name: 'read_file', input: { path: 'a' } }],
    ],
    ['several calls as JSON text', { calls: '[{"name":"mcp__wiki__read_page"}]' }, [read({})]],
  ])('carries %s', (_, input, expected) => {
    expect(unwrap(input)).toEqual(expected)
  })

  it.each([
    ['itself', { name: 'tool_call', arguments: { name: 'read_file' } }],
    ['a search', { name: 'tool_search', arguments: { query: 'x' } }],
    ['an unknown tool', { name: 'nothing', arguments: {} }],
    ['a name that two servers have', { name: 'same', arguments: {} }],
  ])('stays one that explains itself when it carries %s', (_, input) => {
    expect(unwrap(input)).toEqual([{ type: 'call', id: 'c1', name: 'tool_call', input }])
  })

  it.each([[{}], [{ calls: [] }], [{ calls: [{}] }], [{ name: '' }], ['text'], [null], [{ calls: 'no json' }]])(
    'stays as it is with %j',
    (input) => {
      expect(unwrap(input)).toEqual([{ type: 'call', id: 'c1', name: 'tool_call', input }])
    },
  )

  it('stays as it is when its arguments are no JSON, when it is of the client, and when there is no search', () => {
    const input = { name: 'read_file' }
    for (const part of [
      unwrap(input, { raw: '{' }),
      unwrap(input, { owner: 'client' }),
      unwrap(input, {}, ['read_file']),
    ])
      expect(part).toMatchObject([{ name: 'tool_call' }])
  })

  it('keeps what the provider has sealed with its first call', () => {
    const sealed = { by: 'x', data: 1 }
    const calls = unwrap(
      { calls: [{ name: 'read_file' }, { name: 'read_file', arguments: { path: 'b' } }] },
      { sealed },
    )
    expect(calls.map((call) => 'sealed' in call)).toEqual([true, false])
  })
})
