/** Tests what the page computes about tools of MCP servers. */

import { expect, it } from 'vitest'
import { needsSignIn, renderToolDiff, tokensOfTool } from '../../web/model/mcp-tools.ts'

it('counts the tokens of a schema', () => {
  const tool = { name: 'mcp__a__b', description: 'x'.repeat(31), input_schema: {} }
  expect(tokensOfTool(tool as never)).toBe(11)
})

it.each([
  [{ description: { before: 'Adds.', after: 'Adds.\nAnd sends.' } }, '@@ description @@\n-Adds.\n+Adds.\n+And sends.'],
  [{ title: { before: null, after: 'T' } }, '@@ title @@\n+T'],
  [{ input_schema: { before: { a: 1 }, after: null } }, '@@ input_schema @@\n-{\n-  "a": 1\n-}'],
])('renders the difference %j', (diff, text) => {
  expect(renderToolDiff(diff)).toBe(text)
})

it.each([
  [{ status: 'needs_auth', auth: 'oauth' }, true],
  [{ status: 'needs_auth', auth: 'none' }, true],
  [{ status: 'needs_auth', auth: 'bearer' }, false],
  [{ status: 'unavailable', auth: 'oauth', fetched_at: null }, true],
  [{ status: 'unavailable', auth: 'oauth', fetched_at: '2026-11-28T10:00:00Z' }, false],
  [{ status: 'unavailable', auth: 'none', fetched_at: null }, false],
  [{ status: 'ready', auth: 'oauth', fetched_at: '2026-11-28T10:00:00Z' }, false],
])('offers to sign in where that is what a server lacks: %j', (server, offers) => {
  expect(needsSignIn(server as never)).toBe(offers)
})
