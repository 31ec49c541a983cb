/** Tests the repair of tool names that a model misspells. */

import { expect, it } from 'vitest'
import { repairToolName } from '#agent/policy/repair-tool-calls.ts'

const known = ['read_file', 'write_file', 'terminal', 'todo', 'web_search', 'search_files']

it.each([
  ['Web-Search', 'web_search'],
  ['terminal"', 'terminal'],
  ['todo<tool', 'todo'],
  ['readFile', 'read_file'],
  ['ReadFile', 'read_file'],
  ['write file', 'write_file'],
  ['terminal_tool', 'terminal'],
  ['TodoTool', 'todo'],
  ['todo_tool_tool', 'todo'],
  ['read_files', 'read_file'],
  ['serch_files', 'search_files'],
])('%s means %s', (name, meant) => {
  expect(repairToolName(name, known)).toBe(meant)
})

it.each(['launch_rocket', '', 'x', `read_file${'s'.repeat(200)}`])('"%s" means nothing', (name) => {
  expect(repairToolName(name, known)).toBeUndefined()
})

it('a tool of a server or plugin is never replaced by that of another one, which would get the call', () => {
  const foreign = ['mcp__mail2__send_mail', 'plugin__mailb__send', 'send_mail', 'mcp__My-Wiki__read_page']
  for (const name of ['mcp__mail1__send_mail', 'mcp__mail__send_mail', 'plugin__maila__send', 'mcp__gone__send_mail'])
    expect(repairToolName(name, foreign)).toBeUndefined()
  expect(repairToolName('mcp__my_wiki__read_pages', foreign)).toBe('mcp__My-Wiki__read_page')
})
