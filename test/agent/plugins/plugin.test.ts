/** Tests the hash of a plugin and the patterns of its hooks. What it may export is tested in plugins.test.ts. */

import { expect, it } from 'vitest'
import { matchesTool, pluginToolName, type PluginGrants, renderForHash } from '#agent/plugins/plugin.ts'

it.each<[PluginGrants]>([
  [{ fetch: ['a.example.com'] }],
  [{ kv: true }],
  [{ llm: { usd_per_day: 1 } }],
  [{ fetch: ['a.example.com'], secrets: [{ name: 'A', host: 'a.example.com', header: 'x' }] }],
  [{ fetch: ['a.example.com'], secrets: [{ name: 'A', host: 'a.example.com', header: 'x', prefix: 'y' }] }],
])('the grants %j are another plugin than none', (grants) => {
  expect(renderForHash('code', grants)).not.toBe(renderForHash('code', {}))
})

it('the order of hosts and grants that are absent are the same plugin', () => {
  expect(renderForHash('c', { fetch: ['b', 'a'], kv: false })).toBe(renderForHash('c', { fetch: ['a', 'b'] }))
})

it.each([
  ['*', 'terminal', true],
  ['terminal', 'terminal', true],
  ['terminal|mcp__*', 'mcp__wiki__search', true],
  ['terminal | write_file', 'write_file', true],
  ['terminal', 'process', false],
  ['', 'terminal', false],
])('%j matches %s: %s', (matcher, tool, matches) => expect(matchesTool(matcher, tool)).toBe(matches))

it('names of tools have at most 64 characters', () => {
  expect(pluginToolName('a'.repeat(14), 'b'.repeat(40))).toHaveLength(64)
})
