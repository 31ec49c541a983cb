import { expect, it } from 'vitest'
import type { Tool } from '#agent/core/tool.ts'
import { tools } from '#tools/index.ts'
import { ownerAuthority } from '../support/authority.ts'

const found = import.meta.glob<Tool>('../../src/tools/**/*.tool.ts', { eager: true, import: 'default' })

it('lists every tool of the folder once', () => {
  expect(new Set(tools)).toEqual(new Set(Object.values(found)))
  expect(new Set(tools.map(({ name }) => name)).size).toBe(tools.length)
})

const bytesOf = (value: unknown): number => new TextEncoder().encode(JSON.stringify(value)).length

it('keeps the built-in file, terminal and conversation tools within 7 KB of prompt', () => {
  const names = ['read_file', 'write_file', 'patch', 'search_files', 'terminal', 'todo', 'clarify', 'session_search']
  const chosen = tools.filter(({ name }) => names.includes(name))
  expect(chosen).toHaveLength(names.length)
  const bytes = bytesOf(chosen.map(({ name, description, inputSchema }) => ({ name, description, inputSchema })))
  console.log(`8 tools: ${bytes} bytes`)
  expect(bytes).toBeLessThan(7 * 1024)
})

it('keeps the core tools within 12.5 KB: the rest of the prompt has 3.3, and both together at most 16', () => {
  const core = ['file', 'terminal', 'web', 'code_execution', 'todo', 'memory', 'clarify', 'session_search', 'skills']
  const chosen = tools.filter(({ toolset }) => core.includes(toolset))
  expect(chosen).toHaveLength(17)
  // As most dialects send them.
  const sent = chosen.map(({ name, description, inputSchema }) => ({
    type: 'function',
    function: { name, description, parameters: inputSchema },
  }))
  console.log(`17 tools: ${bytesOf(sent)} bytes`)
  expect(bytesOf(sent)).toBeLessThan(12.5 * 1024)
})

it('sends no limits of length, which the parser holds', async () => {
  expect(JSON.stringify(tools.map(({ inputSchema }) => inputSchema))).not.toMatch(
    /"(?:maxLength|minLength|maxItems|minItems|propertyNames)"/,
  )
  const video = tools.find(({ name }) => name === 'video_generate')
  const result = await video?.run({ prompt: 'x'.repeat(40_000) }, {} as never, {} as never)
  expect(JSON.stringify(result)).toMatch(/Invalid input for video_generate: .*Too big/)
})

it.each(tools.map((tool) => [tool.name, tool] as const))('%s returns a result for invalid input', async (_, tool) => {
  const signal = new AbortController().signal
  const result = await tool.run(
    [],
    { sessionId: 's', authority: ownerAuthority(), callId: 'c', callKey: 's r c', signal, clock: { now: () => 0 } },
    {},
  )
  expect('failed' in result || 'later' in result).toBe(true)
  expect(tool.touches([], {})).toBeDefined()
})
