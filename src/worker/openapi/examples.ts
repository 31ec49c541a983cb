/**
 * Makes examples from schemas. A named schema may say the fields that mean something (`nameSchemas`); every other field
 * gets the smallest value that fits.
 */

import type { Components, Json } from './components.ts'

const time = '2026-11-22T10:00:00.000Z'
const maxDepth = 8

export type Examples = { readonly components: Components; readonly requiredOnly: boolean }

export function makeExample(schema: Json, examples: Examples, depth = 0): unknown {
  const resolved = examples.components.resolve(schema)
  const key = ['example', 'const', 'default'].find((one) => one in resolved)
  if (key !== undefined) return resolved[key]
  if (Array.isArray(resolved['enum'])) return resolved['enum'][0] as unknown
  if (depth > maxDepth || typesOf(resolved).includes('null')) return null
  const choices = listChoices(resolved)
  if (!choices.length) return makeOfType(resolved, examples, depth)
  return choices.some((one) => one['type'] === 'null') ? null : makeExample(choices[0] ?? {}, examples, depth + 1)
}

const listChoices = ({ oneOf, anyOf, allOf }: Json) => (oneOf ?? anyOf ?? allOf ?? []) as readonly Json[]

const typesOf = ({ type }: Json): readonly string[] => (Array.isArray(type) ? type : [type]).map(String)

function makeOfType(schema: Json, examples: Examples, depth: number): unknown {
  switch (typesOf(schema)[0]) {
    case 'object':
      return makeObject(schema, examples, depth)
    case 'array':
      return schema['maxItems'] === 0 ? [] : [makeExample((schema['items'] ?? {}) as Json, examples, depth + 1)]
    case 'integer':
    case 'number':
      return Math.max(Number(schema['minimum'] ?? 0), Number(schema['exclusiveMinimum'] ?? -1) + 1)
    case 'boolean':
      return false
    case 'string':
      return makeString(schema)
    default:
      return {}
  }
}

function makeString({ format, minLength = 0 }: Json): string {
  if (format === 'date-time') return time
  return format === 'date' ? '2026-11-22' : 'text'.padEnd(Number(minLength), 't')
}

/** Optional fields of responses are shown only where a value says something. */
function makeObject(schema: Json, examples: Examples, depth: number): Json {
  const { properties = {}, required = [] } = schema as {
    properties?: Record<string, Json>
    required?: readonly string[]
  }
  const known = examples.components.knownFields(schema)
  const isShown = (field: string) => required.includes(field) || (field in known && !examples.requiredOnly)
  const shown = Object.entries(properties).filter(([field]) => isShown(field))
  return Object.fromEntries(
    shown.map(([field, one]) => [field, field in known ? known[field] : makeExample(one, examples, depth + 1)]),
  )
}
