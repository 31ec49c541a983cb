import { expect, it } from 'vitest'
import type { Tool } from '#agent/core/tool.ts'
import { tools } from '#tools/index.ts'
import { ownerAuthority } from '../support/authority.ts'

const found = import.meta.glob<Tool>('../../src/tools/**/*.tool.ts', { eager: true, import: 'default' })

it('lists every tool of the folder once', () => {
  expect(new Set(tools)).toEqual(new Set(Object.values(found)))
  expect(new Set(tools.map(({ name }) => name)).size).toBe(tools.length)
})

it('keeps the built-in file, terminal and conversation tools within 7 KB of prompt', () => {
  const names = ['read_file', 'write_file', 'patch', 'search_files', 'terminal', 'todo', 'clarify', 'session_search']
  const chosen = tools.filter(({ name }) => names.includes(name))
  expect(chosen).toHaveLength(names.length)
  const sent = chosen.map(({ name, description, inputSchema }) => ({ name, description, parameters: inputSchema }))
  const bytes = JSON.stringify(sent).length
  console.log(`8 tools: ${bytes} bytes`)
  expect(bytes).toBeLessThan(7 * 1024)
})

it.each(tools.map((tool) => [tool.name, tool] as const))('%s returns a result for invalid input', async (_, tool) => {
  const signal = new AbortController().signal
  const result = await tool.run(
    [],
    { sessionId: 's', authority: ownerAuthority(), callId: 'c', signal, clock: { now: () => 0 } },
    {},
  )
  expect('failed' in result || 'later' in result).toBe(true)
  expect(tool.touches([], {})).toBeDefined()
})
