/** Tests that the schemas of the bundled zod share their sets of traits and otherwise behave the same. */

import { build } from 'esbuild'
import * as plain from 'zod'
import { beforeAll, expect, it } from 'vitest'
import { packagePlugins } from '../../scripts/lib/package-plugins.mjs'
import { root } from '../../scripts/lib/root.mjs'
import { shareTraits } from '../../scripts/lib/zod.mjs'

type Zod = typeof plain
let bundled: Zod

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
  const code = Buffer.from(outputFiles[0]?.contents ?? []).toString('base64')
  bundled = (await import(`data:text/javascript;base64,${code}`)) as Zod
})

const traitsOf = ({ _zod: internals }: plain.ZodType): ReadonlySet<string> => internals.traits

const schemaOf = (z: Zod) =>
  z.strictObject({
    name: z.string().min(2).optional(),
    size: z.union([z.literal('small'), z.int().positive()]),
    when: z.iso.datetime().transform((text) => new Date(text).getTime()),
    tags: z.array(z.enum(['a', 'b'])).default([]),
  })
const inputs = [
  { size: 'small', when: '2026-11-27T00:00:00Z' },
  { name: 'x', size: -1, when: 'soon', tags: ['c'], more: 1 },
  { name: 'long', size: 3, when: '2026-11-27T00:00:00Z', tags: ['a', 'b'] },
]

it('parses, describes and recognizes as zod does', () => {
  for (const input of inputs)
    expect(JSON.stringify(schemaOf(bundled).safeParse(input))).toBe(JSON.stringify(schemaOf(plain).safeParse(input)))
  const options = { io: 'input' } as const
  expect(bundled.toJSONSchema(schemaOf(bundled), options)).toEqual(plain.toJSONSchema(schemaOf(plain), options))
  expect(bundled.string() instanceof bundled.ZodString).toBe(true)
  expect(bundled.string() instanceof bundled.ZodObject).toBe(false)
  const traits = (schema: plain.ZodType) => [...traitsOf(schema)]
  expect(traits(bundled.email())).toEqual(traits(plain.email()))
})

it('keeps one set for all schemas of a kind', () => {
  const [one, other] = [bundled.string(), bundled.string().min(3)]
  expect(traitsOf(one)).toBe(traitsOf(other))
  expect(traitsOf(bundled.int())).not.toBe(traitsOf(one))
})

it('stops the build when zod is another one than was looked at', () => {
  expect(() => shareTraits('export function $constructor() {}')).toThrow('zod has changed')
})
