/** Tests what the page computes about tools of MCP servers. */

import { expect, it } from 'vitest'
import { renderToolDiff, tokensOfTool } from '../../web/model/mcp-tools.ts'

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
