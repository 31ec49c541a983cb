/** Tests the validator of answers: keywords, messages, and schemas that would block others. */

import { describe, expect, it } from 'vitest'
import * as z from 'zod'
import { validateJson } from '#backends/json-schema/validate.ts'

type Row = readonly [schema: Record<string, unknown>, valid: readonly unknown[], invalid: readonly unknown[]]

const tree = {
  $ref: '#/$defs/node',
  $defs: {
    node: {
      type: 'object',
      properties: { name: { type: 'string' }, children: { type: 'array', items: { $ref: '#/$defs/node' } } },
      required: ['name'],
      additionalProperties: false,
    },
  },
}

const rows: readonly Row[] = [
  [{}, [1, null, 'x', []], []],
  [{ type: 'integer' }, [1, 1.0, -3], [1.5, '1', null]],
  [{ type: ['string', 'null'] }, ['x', null], [1]],
  [{ enum: ['a', { b: [1] }] }, ['a', { b: [1] }], ['b', { b: [2] }]],
  [{ const: { a: 1, b: 2 } }, [{ b: 2, a: 1 }], [{ a: 1 }]],
  [{ minimum: 1, exclusiveMaximum: 3 }, [1, 2.9, 'x'], [0, 3]],
  [{ multipleOf: 0.1 }, [0.3, 1], [0.25]],
  [{ minLength: 2, maxLength: 3 }, ['ab', '😀😀😀'], ['a', 'abcd']],
  [{ pattern: '^[a-z]+\\d$' }, ['ab1'], ['1', 'AB1']],
  [{ pattern: '(?=x)lookahead' }, ['is not in RE2'], []],
  [{ items: { type: 'number' }, minItems: 1, maxItems: 2 }, [[1], [1, 2]], [[], ['x'], [1, 2, 3]]],
  [{ prefixItems: [{ type: 'string' }], items: false }, [['a'], []], [['a', 1], [1]]],
  [{ items: [{ type: 'string' }], additionalItems: { type: 'number' } }, [['a', 1]], [['a', 'b']]],
  [{ contains: { const: 1 }, maxContains: 1 }, [[1, 2]], [[2], [1, 1]]],
  [
    { uniqueItems: true },
    [[1, 2]],
    [
      [
        { a: 1, b: 2 },
        { b: 2, a: 1 },
      ],
    ],
  ],
  [{ required: ['a'], properties: { a: { type: 'string' } } }, [{ a: 'x', b: 1 }], [{}, { a: 1 }]],
  [{ properties: { a: {} }, additionalProperties: false }, [{ a: 1 }, {}], [{ b: 1 }]],
  [{ additionalProperties: { type: 'number' } }, [{ a: 1 }], [{ a: 'x' }]],
  [
    { patternProperties: { '^n_': { type: 'number' } }, additionalProperties: false },
    [{ n_a: 1 }],
    [{ n_a: 'x' }, { b: 1 }],
  ],
  [{ propertyNames: { maxLength: 2 } }, [{ ab: 1 }], [{ abc: 1 }]],
  [{ minProperties: 1, maxProperties: 1 }, [{ a: 1 }], [{}, { a: 1, b: 2 }]],
  [{ dependentRequired: { a: ['b'] } }, [{ a: 1, b: 2 }, {}], [{ a: 1 }]],
  [{ dependentSchemas: { a: { required: ['b'] } } }, [{ a: 1, b: 2 }], [{ a: 1 }]],
  [{ anyOf: [{ type: 'string' }, { minimum: 5, type: 'number' }] }, ['x', 5], [4, null]],
  [{ oneOf: [{ minimum: 0 }, { maximum: 10 }] }, [-1, 11], [5]],
  [{ allOf: [{ minimum: 0 }, { maximum: 10 }] }, [5], [11]],
  [{ not: { type: 'string' } }, [1], ['x']],
  // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
  [{ if: { type: 'string' }, then: { minLength: 2 }, else: { type: 'number' } }, ['ab', 1], ['a', true]],
  [{ type: 'string', format: 'email' }, ['not checked'], [1]],
  [tree, [{ name: 'a', children: [{ name: 'b', children: [] }] }], [{ name: 'a', children: [{}] }]],
  [{ $ref: '#/$defs/a~1b', $defs: { 'a/b': { type: 'number' } } }, [1], ['x']],
  [{ $ref: 'https://elsewhere.example/schema' }, [1, 'x'], []],
  [{ properties: { toString: { type: 'string' } }, required: ['constructor'] }, [{ constructor: 1 }], [{}]],
]

describe('validateJson', () => {
  it.each(rows)('decides by %j', (schema, valid, invalid) => {
    for (const value of valid) expect([value, validateJson(schema, value)]).toEqual([value, []])
    for (const value of invalid) expect([value, validateJson(schema, value).length > 0]).toEqual([value, true])
  })

  it('agrees with zod about the schemas that zod writes', () => {
    const shape = z.object({
      kind: z.enum(['a', 'b']),
      size: z.number().int().positive().nullable(),
      tags: z.array(z.string().min(1)).max(3),
      place: z.discriminatedUnion('type', [
        z.object({ type: z.literal('city'), name: z.string() }),
        z.object({ type: z.literal('point'), at: z.tuple([z.number(), z.number()]) }),
      ]),
      more: z.record(z.string(), z.boolean()).optional(),
    })
    const schema = z.toJSONSchema(shape) as Record<string, unknown>
    const good = { kind: 'a', size: 1, tags: ['x'], place: { type: 'point', at: [1, 2] }, more: { yes: true } }
    const changes: readonly object[] = [
      {},
      { kind: 'c' },
      { size: null },
      { size: 0 },
      { size: 1.5 },
      { tags: [''] },
      { tags: ['a', 'b', 'c', 'd'] },
      { place: { type: 'city', name: 'Bonn' } },
      { place: { type: 'city' } },
      { place: { type: 'point', at: [1, 'x'] } },
      { more: { yes: 'no' } },
      { more: undefined },
    ]
    for (const change of changes) {
      const value = JSON.parse(JSON.stringify({ ...good, ...change })) as unknown
      expect([change, validateJson(schema, value).length === 0]).toEqual([change, shape.safeParse(value).success])
    }
  })

  it('names the place and the reason', () => {
    const schema = {
      type: 'object',
      properties: { list: { type: 'array', items: { type: 'integer' } }, kind: { enum: ['a', 'b'] } },
      required: ['list', 'name'],
      additionalProperties: false,
    }
    expect(validateJson(schema, { list: [1, 'two'], kind: 'c', extra: 1 })).toEqual([
      '/name is missing.',
      'The value at /list/1 must be of type integer, not string.',
      'The value at /kind must be one of ["a","b"].',
      '/extra is not allowed.',
    ])
    expect(validateJson({ anyOf: [{ type: 'string' }, schema] }, 1)[0]).toContain('matches none of the allowed forms')
  })
})

describe('hostile schemas end at once', () => {
  const deep = (depth: number): unknown => (depth ? { x: deep(depth - 1) } : 1)
  const both = { properties: { x: { $ref: '#/$defs/a' } } }
  const doubling = { $ref: '#/$defs/a', $defs: { a: { anyOf: [{ allOf: [both, { type: 'string' }] }, both, both] } } }
  const chain = Object.fromEntries(
    Array.from({ length: 60 }, (_one, n) => [
      `n${n}`,
      { allOf: [{ $ref: `#/$defs/n${n + 1}` }, { $ref: `#/$defs/n${n + 1}` }] },
    ]),
  )
  it.each<readonly [string, Record<string, unknown>, unknown]>([
    ['a reference to itself', { $ref: '#' }, 1],
    ['alternatives of alternatives', doubling, deep(60)],
    ['doubling references', { $ref: '#/$defs/n0', $defs: chain }, 1],
    ['a pattern that backtracks', { pattern: '^(a+)+$' }, `${'a'.repeat(50_000)}b`],
    ['a pattern that repeats repetitions', { pattern: '((a{1,100}){1,100}){1,100}' }, 'a'.repeat(1_000)],
    ['many unique items', { uniqueItems: true }, Array.from({ length: 100_000 }, (_one, n) => n)],
  ])('%s', (_what, schema, value) => {
    const started = performance.now()
    expect(validateJson(schema, value).length).toBeLessThanOrEqual(20)
    expect(performance.now() - started).toBeLessThan(2_000)
  })
})
