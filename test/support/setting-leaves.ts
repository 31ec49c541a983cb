/** Lists the settings of the schema by path, each with a value that the schema accepts. */

import type * as z from 'zod'
import { settingsSchema } from '#agent/core/settings.ts'

export type SettingLeaf = {
  /** Names of a record are an example. */
  readonly path: readonly string[]
  readonly example: unknown
}

const candidates: readonly unknown[] = [
  1,
  0.5,
  true,
  'UTC',
  'openai/a',
  'https://llm.example.com/v1',
  'none',
  'low',
  'smart',
  'deny',
  'queue',
  'stop',
  'fill_first',
  'auto',
  '5m',
  'openai-chat',
  'virtual',
  'mem0',
  'cdp',
  'exa',
  'openai',
  'gemini',
  ['file'],
  ['openai/a'],
  ['send_message'],
  ['chat'],
  ['example.org'],
  ['ONE_TOKEN'],
  [{ do: 'deny', tool: 'terminal' }],
  ['https://github.com/example/skills'],
  [{ name: 'peer', url: 'https://agent.example.com' }],
]
const keys = ['openai/a', 'custom:x', 'p', 'x-team']

type Schema = {
  readonly def: {
    readonly type: string
    readonly innerType?: Schema
    readonly shape?: Readonly<Record<string, Schema>>
    readonly keyType?: Schema
    readonly valueType?: Schema
    readonly entries?: Readonly<Record<string, string>>
  }
} & z.ZodType

const listFrom = (schema: Schema, path: readonly string[]): readonly SettingLeaf[] => {
  const { type, innerType, shape, keyType, valueType } = schema.def
  if (innerType) return listFrom(innerType, path)
  if (shape) return Object.entries(shape).flatMap(([name, inner]) => listFrom(inner, [...path, name]))
  if (type === 'record' && keyType && valueType) {
    const listed = Object.values(keyType.def.entries ?? {})
    const names = listed.length ? listed : keys.filter((key) => keyType.safeParse(key).success).slice(0, 1)
    return names.flatMap((name) => listFrom(valueType, [...path, name]))
  }
  const example = candidates.find((value) => schema.safeParse(value).success)
  if (example === undefined) throw new Error(`No example for ${path.join('.')}`)
  return [{ path, example }]
}

export const settingLeaves = listFrom(settingsSchema as unknown as Schema, [])

/** Parts that the schema requires beside a leaf. */
const required: readonly (readonly [prefix: string, part: object])[] = [
  ['roles.', { roles: { p: { scopes: ['chat'] } } }],
  ['providers.', { providers: { 'custom:x': { base_url: 'https://llm.example.com/v1' } } }],
  ['moa.presets.', { moa: { presets: { p: { references: ['openai/a'], aggregator: 'openai/a' } } } }],
]

export const requiredBeside = (path: readonly string[]): object =>
  required.find(([prefix]) => path.join('.').startsWith(prefix))?.[1] ?? {}

/** Settings with one value. */
export const settingsWith = (path: readonly string[], value: unknown): object =>
  path.reduceRight<unknown>((inner, name) => ({ [name]: inner }), value) as object
