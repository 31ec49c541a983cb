import * as z from 'zod'
import { describe, expect, it } from 'vitest'
import { defineSchemaTool, defineTool } from '#tools/define-tool.ts'
import { fail } from '#tools/tool-result.ts'
import { call } from './support/call.ts'

const echo = defineTool({
  name: 'echo',
  toolset: 'test',
  description: 'Echo.',
  input: z.object({ text: z.string(), loud: z.boolean().default(false) }),
  effect: 'pure',
  risk: ({ loud }) => (loud ? 'send' : 'none'),
  run: async (input) => (input.text === 'no' ? fail('Say something else.') : input),
})

describe('a tool with a zod schema', () => {
  it('returns a failure for input that does not fit', async () => {
    const { failed, result } = await call(echo, {})
    expect(failed).toBe(true)
    expect(result['error']).toContain('Invalid input for echo')
    expect(result['error']).toContain('text')
  })

  it('assesses the risk of the converted input', () => {
    expect(echo.risk({ text: 'a', loud: 'true' })).toBe('send')
    expect(echo.risk({ text: 'a' })).toBe('none')
    expect(echo.risk({})).toBe('none')
  })

  it('computes its schema once', () => {
    expect(echo.inputSchema).toBe(echo.inputSchema)
  })

  it('marks an expected failure', async () => {
    expect(await call(echo, { text: 'no' })).toMatchObject({ failed: true, result: { error: 'Say something else.' } })
  })
})

describe('a tool with a JSON schema', () => {
  const schema = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] }
  const double = defineSchemaTool({
    name: 'double',
    toolset: 'test',
    description: 'Doubles a number.',
    input: {
      schema,
      parse: (raw) => {
        const n = (raw as { n?: unknown }).n
        return typeof n === 'number' ? { ok: true, value: { n } } : { ok: false, error: 'n must be a number' }
      },
    },
    effect: 'effect',
    effectOf: ({ n }) => (n === 0 ? 'pure' : 'effect'),
    risk: ({ n }) => (n > 9 ? 'spend' : 'none'),
    run: async ({ n }) => ({ doubled: 2 * n }),
  })

  it('shows the schema as it was given', () => {
    expect(double.inputSchema).toBe(schema)
  })

  it('runs what the parser returns', async () => {
    expect(await call(double, { n: 4 })).toMatchObject({ failed: false, result: { doubled: 8 } })
    expect([double.risk({ n: 10 }), double.effectOf?.({ n: 0 }), double.touches({ n: 1 }, {})]).toEqual([
      'spend',
      'pure',
      'alone',
    ])
  })

  it('does not run what the parser refuses', async () => {
    expect((await call(double, {})).result).toEqual({ error: 'Invalid input for double: n must be a number' })
    expect([double.risk({}), double.effectOf?.({}), double.touches({}, {})]).toEqual(['none', 'effect', 'nothing'])
  })
})
