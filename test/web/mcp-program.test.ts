/** Tests the lines of the form for an MCP server that is a program. */

import { expect, it } from 'vitest'
import { readProgram } from '../../web/model/mcp-program.ts'

it.each([
  ['npx', '', { command: 'npx', args: [] }],
  ['npx\n-y\n some server \n\n.', '', { command: 'npx', args: ['-y', 'some server', '.'] }],
  ['uvx\nx', 'KEY=a=b\n TOKEN = ${NAME}\n', { command: 'uvx', args: ['x'], env: { KEY: 'a=b', TOKEN: '${NAME}' } }],
])('reads %j with %j', (program, variables, expected) => {
  expect(readProgram(program, variables)).toEqual({ transport: 'stdio', ...expected })
})
