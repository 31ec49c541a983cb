import * as z from 'zod'
import { describe, expect, it } from 'vitest'
import { zodInput } from '#tools/define-tool.ts'

const input = zodInput(
  z.object({
    text: z.string(),
    count: z.int().min(1).default(1),
    loud: z.boolean().default(false),
    tags: z.array(z.string()).optional(),
  }),
)

describe('zod input', () => {
  it.each([
    ['a number as text', { text: 'a', count: '3' }, { count: 3 }],
    ['a boolean as text', { text: 'a', loud: 'True' }, { loud: true }],
    ['a list as text', { text: 'a', tags: '["x"]' }, { tags: ['x'] }],
    ['null for an omitted field', { text: 'a', count: null, tags: null }, { count: 1 }],
  ])('converts %s', (_, raw, expected) => {
    expect(input.parse(raw)).toMatchObject({ ok: true, value: expected })
  })

  it.each([{ text: '5' }, { text: '["x"]' }])('keeps the text of %j, which fits the schema', (raw) => {
    expect(input.parse(raw)).toMatchObject({ ok: true, value: raw })
  })

  it.each([
    ['a missing field', {}, 'text'],
    ['a wrong type', { text: 'a', count: 'many' }, 'count'],
    ['a text', 'text', 'expected object'],
  ])('refuses %s and names the reason', (_, raw, reason) => {
    expect(input.parse(raw)).toEqual({ ok: false, error: expect.stringContaining(reason) })
  })

  it('has a schema without keywords that constrain nothing', () => {
    const schema = JSON.stringify(input.schema)
    expect(schema).not.toContain('$schema')
    expect(schema).not.toContain(String(Number.MAX_SAFE_INTEGER))
  })
})
