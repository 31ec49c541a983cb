/** Tests that the schemas of the bundled zod are built when they are used, and otherwise behave as zod's. */

import { build } from 'esbuild'
import * as plain from 'zod'
import { beforeAll, describe, expect, it } from 'vitest'
import { packagePlugins } from '../../scripts/lib/package-plugins.mjs'
import { root } from '../../scripts/lib/root.mjs'
import { buildSchemasOnUse } from '../../scripts/lib/zod.mjs'

type Zod = typeof plain
let bundled: Zod
let code: string

/** `part`: another one is another copy of zod. */
const load = async (part: string): Promise<Zod> => (await import(`data:text/javascript;base64,${code}#${part}`)) as Zod

beforeAll(async () => {
  const stdin = { contents: "export * from 'zod'", resolveDir: root }
  const { outputFiles } = await build({
    stdin,
    bundle: true,
    write: false,
    format: 'esm',
    plugins: packagePlugins,
    logLevel: 'error',
  })
  code = Buffer.from(outputFiles[0]?.contents ?? []).toString('base64')
  bundled = await load('shared')
})

const traitsOf = ({ _zod: internals }: plain.ZodType): ReadonlySet<string> => internals.traits
const isBuilt = (schema: plain.ZodType): boolean => Object.hasOwn(schema, '_zod')

/** One of each kind that the code uses, and what is made from others. */
const kinds: Readonly<Record<string, (z: Zod) => plain.ZodType>> = {
  string: (z) => z.string().trim().min(2).max(4).regex(/^a/, 'Begins with a.'),
  formats: (z) => z.union([z.email(), z.url(), z.uuid(), z.iso.datetime(), z.iso.date(), z.base64()]),
  number: (z) => z.number().min(1).max(5).multipleOf(0.5),
  int: (z) => z.int().positive().lt(9),
  others: (z) => z.union([z.boolean(), z.null(), z.undefined(), z.bigint(), z.date().min(new Date(0))]),
  literal: (z) => z.literal(['small', 'large']),
  enum: (z) => z.enum(['a', 'b', 'c']).exclude(['c']),
  array: (z) => z.array(z.string()).min(1).max(2),
  tuple: (z) => z.tuple([z.string(), z.number().optional()]),
  record: (z) => z.record(z.string().max(3), z.int().optional()),
  partialRecord: (z) => z.partialRecord(z.enum(['a', 'b']), z.string()),
  map: (z) => z.map(z.string(), z.int()),
  set: (z) => z.set(z.string()).max(1),
  object: (z) => z.object({ a: z.string(), b: z.int().optional(), c: z.string().default('x') }),
  strict: (z) => z.strictObject({ a: z.string().nullable() }).refine(({ a }) => a !== 'no', { path: ['a'] }),
  loose: (z) => z.looseObject({ a: z.string().nullish() }),
  extended: (z) => z.object({ a: z.string() }).extend({ b: z.int() }).partial().required({ a: true }),
  inherited: (z) => z.string().describe('Text.').max(3),
  picked: (z) => z.strictObject({ a: z.string(), b: z.int(), c: z.null() }).omit({ c: true }).pick({ a: true }),
  getters: (z) => {
    const node: plain.ZodType = z.object({
      a: z.string(),
      get b() {
        return node.optional()
      },
    })
    return node
  },
  union: (z) => z.discriminatedUnion('a', [z.object({ a: z.literal('x') }), z.object({ a: z.literal('y') })]),
  intersection: (z) => z.object({ a: z.string() }).and(z.object({ b: z.int() })),
  transform: (z) =>
    z
      .string()
      .transform((text) => text.length)
      .pipe(z.number().max(3)),
  preprocess: (z) => z.preprocess((value) => value ?? 'a', z.string()),
  codec: (z) => z.stringbool(),
  fallback: (z) => z.string().catch('a'),
  prefault: (z) => z.string().min(1).prefault('a'),
  readonly: (z) => z.array(z.string()).readonly(),
  superRefined: (z) =>
    z.string().superRefine((text, context) => {
      if (text === 'ab') context.addIssue({ code: 'custom', message: 'Not ab.' })
    }),
  custom: (z) => z.custom<string>((value) => value === 'a', 'Only a.'),
  lazy: (z) => z.lazy(() => z.string().max(3)),
  unknown: (z) => z.object({ a: z.unknown(), b: z.any(), c: z.never().optional() }),
  template: (z) => z.templateLiteral(['a', z.int()]),
  described: (z) =>
    z
      .string()
      .min(1)
      .describe('Text.')
      .optional()
      .meta({ title: 'T', examples: ['a'] }),
}

const inputs: readonly unknown[] = [
  'a',
  'ab',
  'abcde',
  'small',
  'true',
  'a1',
  'a@b.example',
  '2026-11-27T00:00:00Z',
  1,
  2.25,
  7,
  null,
  undefined,
  true,
  [],
  ['a'],
  ['a', 'b', 'c'],
  ['a', 1],
  {},
  { a: 'x' },
  { a: 'no' },
  { a: 'x', b: 1, c: 'y' },
  { a: 'x', b: { a: 'y' } },
  { a: 1, d: true },
  { a: null },
  { long: 1 },
  new Map([['a', 1]]),
  new Set(['a', 'b']),
  new Date(5),
]

function describeSchema(z: Zod, schema: plain.ZodType): unknown {
  const parsed = inputs.map((input) => {
    const { success, data, error } = schema.safeParse(input)
    return success ? { data } : { issues: error.issues, text: z.prettifyError(error) }
  })
  const json = (io: 'input' | 'output') => {
    try {
      return z.toJSONSchema(schema, { io, unrepresentable: 'any' })
    } catch (error) {
      return String(error)
    }
  }
  const { _zod: internals } = schema
  const { optin, optout, values, pattern, bag } = internals
  const about = { optin, optout, values, pattern, bag, traits: [...traitsOf(schema)].toSorted() }
  const text = [schema.description, schema.meta(), schema.isOptional(), schema.isNullable()]
  return { parsed, input: json('input'), output: json('output'), about, text, members: membersOf(schema) }
}

/** Data among the members: functions cannot be compared. */
function membersOf(schema: plain.ZodType): unknown {
  const read = schema as unknown as Readonly<Record<string, unknown>>
  const names = ['type', 'options', 'enum', 'values', 'minLength', 'maxLength', 'minValue', 'format', 'isInt']
  return names.map((name) => {
    const value = read[name]
    return name === 'options' ? (value as readonly unknown[] | undefined)?.length : value
  })
}

describe('a schema', () => {
  it('of each kind is as that of zod, the first one as well as those after it', async () => {
    const expected = Object.entries(kinds).map(([kind, make]) => [kind, describeSchema(plain, make(plain))] as const)
    const other = await load('other')
    expect(other).not.toBe(bundled)
    // The first of a kind is built at once, so another order has others that are built on use.
    for (const [z, order] of [
      [bundled, expected],
      [other, expected.toReversed()],
    ] as const)
      for (const [kind, described] of [...order, ...order])
        expect(describeSchema(z, kinds[kind]!(z)), kind).toEqual(described)
  })

  it('is built when it is used, and only as far as that needs', () => {
    const make = () => bundled.strictObject({ name: bundled.string().min(2).optional().describe('Name.') })
    make()
    const name = bundled.string().min(2).optional().describe('Name.')
    const schema = bundled.strictObject({ name })
    const list = bundled.array(schema).max(3).nullable()
    expect([name, schema, list].map(isBuilt)).toEqual([false, false, false])
    expect(schema.safeParse({ name: 'x' }).success).toBe(false)
    expect([name, schema, list].map(isBuilt)).toEqual([true, true, false])
    expect(name.description).toBe('Name.')
  })

  it('shares its set of traits with all of its kind', () => {
    const [one, other] = [bundled.string(), bundled.string().min(3)]
    expect(traitsOf(one)).toBe(traitsOf(other))
    expect(traitsOf(bundled.int())).not.toBe(traitsOf(one))
  })

  it('has methods that work alone', () => {
    const { safeParse, optional } = bundled.string()
    expect(safeParse('a').success).toBe(true)
    expect(optional().safeParse(undefined).success).toBe(true)
  })

  it('is recognized', () => {
    expect(bundled.string() instanceof bundled.ZodString).toBe(true)
    expect(bundled.string() instanceof bundled.ZodObject).toBe(false)
    const { error } = bundled.string().safeParse(1)
    expect(error).toBeInstanceOf(bundled.ZodError)
    expect(new bundled.ZodError([]).issues).toEqual([])
  })
})

it('stops the build when zod is another one than was looked at', () => {
  for (const name of ['core', 'util'] as const)
    expect(() => buildSchemasOnUse(name, 'export function $constructor() {}')).toThrow('zod has changed')
})
