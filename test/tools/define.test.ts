import * as z from 'zod'
import { describe, expect, it } from 'vitest'
import { defineTool, fail } from '../../src/tools/define.ts'
import { call } from './support/call.ts'

const echo = defineTool({
  name: 'echo',
  toolset: 'test',
  description: 'Echo.',
  input: z.object({
    text: z.string(),
    count: z.int().min(1).default(1),
    loud: z.boolean().default(false),
    tags: z.array(z.string()).optional(),
  }),
  effect: 'pure',
  risk: ({ loud }) => (loud ? 'send' : 'none'),
  run: async (input) => (input.text === 'no' ? fail('Say something else.') : input),
})

describe('a defined tool', () => {
  it.each([
    ['a number as text', { text: 'a', count: '3' }, { count: 3 }],
    ['a boolean as text', { text: 'a', loud: 'True' }, { loud: true }],
    ['a list as text', { text: 'a', tags: '["x"]' }, { tags: ['x'] }],
    ['null for what is left out', { text: 'a', count: null, tags: null }, { count: 1 }],
    ['text that looks like a number where text is due', { text: '5' }, { text: '5' }],
    ['text that looks like a list where text is due', { text: '["x"]' }, { text: '["x"]' }],
  ])('takes %s for what the schema says', async (_, input, expected) => {
    const { failed, result } = await call(echo, input)
    expect(failed).toBe(false)
    expect(result).toMatchObject(expected)
  })

  it.each([
    ['a missing field', {}, 'text'],
    ['a wrong type', { text: 'a', count: 'many' }, 'count'],
    ['no object at all', 'text', 'expected object'],
  ])('answers %s with what is wrong', async (_, input, named) => {
    const { failed, result } = await call(echo, input)
    expect(failed).toBe(true)
    expect(result['error']).toContain('Invalid input for echo')
    expect(result['error']).toContain(named)
  })

  it('judges risk on the input as it will run', () => {
    expect(echo.risk({ text: 'a', loud: 'true' })).toBe('send')
    expect(echo.risk({ text: 'a' })).toBe('none')
    expect(echo.risk({})).toBe('none')
  })

  it('describes itself without words that say nothing', () => {
    const schema = JSON.stringify(echo.inputSchema)
    expect(schema).not.toContain('$schema')
    expect(schema).not.toContain(String(Number.MAX_SAFE_INTEGER))
    expect(echo.inputSchema).toBe(echo.inputSchema)
  })

  it('marks an expected failure', async () => {
    expect(await call(echo, { text: 'no' })).toMatchObject({ failed: true, result: { error: 'Say something else.' } })
  })
})
