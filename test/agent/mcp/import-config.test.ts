/** Tests reading the server lists of other programs. */

import { expect, it } from 'vitest'
import { readServers } from '../../../src/agent/mcp/import-config.ts'

const url = 'https://mcp.example.com/mcp'

it.each([
  ['Claude Code', { mcpServers: { wiki: { type: 'http', url } } }, { alias: 'wiki', url }],
  [
    'Cursor',
    { mcpServers: { wiki: { url, headers: { Authorization: 'Bearer ${env:TOKEN}' } } } },
    { alias: 'wiki', url, auth: 'headers', headers: { Authorization: 'Bearer ${TOKEN}' } },
  ],
  ['VS Code', { servers: { wiki: { type: 'sse', url } } }, { alias: 'wiki', url, transport: 'sse' }],
  [
    'Hermes',
    { mcp_servers: { 'my wiki': { url, timeout: 60, enabled: false, tools: { include: ['read'], prompts: false } } } },
    { alias: 'my_wiki', url, timeout: 60, enabled: false, tools: { include: ['read'], prompts: false } },
  ],
  [
    'Claude Desktop',
    { mcpServers: { files: { command: 'npx', args: ['-y', 'files'], env: { KEY: '${env:KEY}' } } } },
    { alias: 'files', transport: 'stdio', command: 'npx', args: ['-y', 'files'], env: { KEY: '${KEY}' } },
  ],
  ['Windsurf', { mcpServers: { wiki: { serverUrl: url } } }, { alias: 'wiki', url }],
])('reads a server of %s', (_, file, row) => {
  expect(readServers(file)).toEqual([{ alias: row.alias, row }])
})

it.each([
  [{ type: 'stdio' }, /no command/],
  [{ command: 'npx', env: { KEY: 1 } }, /variable KEY is not a text/],
  [{}, /no url/],
  ['text', /not an object/],
  [{ url, headers: { A: '${input:key}' } }, /asks the editor/],
])('says why %j is not taken over', (entry, error) => {
  expect(readServers({ mcpServers: { a: entry } })).toEqual([{ alias: 'a', error: expect.stringMatching(error) }])
})
