/** Checks the keywords of one type of value. A value of another type matches them all. */

import { isJsonObject, type JsonObject } from '#agent/core/parse-json.ts'
import { canonicalJson, place } from './json.ts'
import type { Validation } from './protocol.ts'

type PlacedValidation = Validation & { readonly at: string }

const inner = (at: string, key: string | number): string =>
  `${at}/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`

/** Keywords that limit a number, with whether the value keeps them. */
type Limit = readonly [keyword: string, isKept: (value: number, limit: number) => boolean, text: string]

const numberLimits: readonly Limit[] = [
  ['minimum', (value, limit) => value >= limit, 'at least'],
  ['maximum', (value, limit) => value <= limit, 'at most'],
  ['exclusiveMinimum', (value, limit) => value > limit, 'more than'],
  ['exclusiveMaximum', (value, limit) => value < limit, 'less than'],
  ['multipleOf', isMultiple, 'a multiple of'],
]

/** Tolerates the rounding of decimal fractions. */
function isMultiple(value: number, factor: number): boolean {
  const times = value / factor
  return factor <= 0 || Math.abs(times - Math.round(times)) < 1e-9 * Math.max(1, Math.abs(times))
}

export function checkNumber(schema: JsonObject, value: unknown, at: string): readonly string[] {
  return typeof value === 'number' ? checkLimits(schema, value, { limits: numberLimits, name: place(at) }) : []
}

function checkLimits(
  schema: JsonObject,
  value: number,
  { limits, name, unit = '' }: { readonly limits: readonly Limit[]; readonly name: string; readonly unit?: string },
): readonly string[] {
  return limits.flatMap(([keyword, isKept, text]) => {
    const limit = schema[keyword]
    return typeof limit !== 'number' || isKept(value, limit) ? [] : [`${name} must be ${text} ${limit}${unit}.`]
  })
}

const countLimits = (kind: string): readonly Limit[] => [
  [`min${kind}`, (count, limit) => count >= limit, 'at least'],
  [`max${kind}`, (count, limit) => count <= limit, 'at most'],
]
const lengthLimits = countLimits('Length')
const itemLimits = countLimits('Items')
const propertyLimits = countLimits('Properties')

export function checkString(
  schema: JsonObject,
  value: unknown,
  { at, patterns, charge }: PlacedValidation,
): readonly string[] {
  if (typeof value !== 'string') return []
  const { pattern } = schema
  const problems: string[] = []
  if ('minLength' in schema || 'maxLength' in schema) {
    charge(value.length / 1_000)
    const name = `The length of the text at ${at || '/'}`
    // Code points, as the standard counts.
    problems.push(...checkLimits(schema, Array.from(value).length, { limits: lengthLimits, name }))
  }
  if (typeof pattern === 'string' && !patterns(pattern, value))
    problems.push(`${place(at)} must match the pattern ${pattern.slice(0, 200)}.`)
  return problems
}

export function checkArray(schema: JsonObject, value: unknown, placed: PlacedValidation): readonly string[] {
  if (!Array.isArray(value)) return []
  const { at, check, charge } = placed
  const { prefixItems, items, additionalItems, uniqueItems } = schema
  // In draft 7, a list under `items` has the first items, and `additionalItems` is for the others.
  const first = Array.isArray(prefixItems) ? prefixItems : Array.isArray(items) ? items : []
  const others = Array.isArray(items) ? additionalItems : items
  const problems = [
    ...checkLimits(schema, value.length, { limits: itemLimits, name: `The number of items of ${at || '/'}` }),
  ]
  for (const [n, item] of value.entries()) {
    const part: unknown = n < first.length ? first[n] : others
    if (part !== undefined) problems.push(...check(part, item, inner(at, n)))
  }
  if (uniqueItems === true) {
    charge(value.length)
    if (new Set(value.map(canonicalJson)).size < value.length) problems.push(`${place(at)} must not repeat items.`)
  }
  return [...problems, ...checkContains(schema, value, placed)]
}

function checkContains(
  schema: JsonObject,
  value: readonly unknown[],
  { at, check }: PlacedValidation,
): readonly string[] {
  const { contains, minContains, maxContains } = schema
  if (contains === undefined) return []
  const count = value.filter((item, n) => !check(contains, item, inner(at, n)).length).length
  const min = typeof minContains === 'number' ? minContains : 1
  const max = typeof maxContains === 'number' ? maxContains : Infinity
  return count >= min && count <= max ? [] : [`${place(at)} has ${count} of the items that it must contain.`]
}

export function checkObject(schema: JsonObject, value: unknown, placed: PlacedValidation): readonly string[] {
  if (!isJsonObject(value)) return []
  const { at, check } = placed
  const { required, propertyNames } = schema
  const keys = Object.keys(value)
  const problems: string[] = []
  for (const name of Array.isArray(required) ? (required as readonly unknown[]) : [])
    if (typeof name === 'string' && !Object.hasOwn(value, name)) problems.push(`${inner(at, name)} is missing.`)
  problems.push(
    ...checkLimits(schema, keys.length, { limits: propertyLimits, name: `The number of properties of ${at || '/'}` }),
  )
  for (const key of keys) {
    problems.push(...checkProperty(schema, value, { ...placed, key }))
    if (propertyNames !== undefined) problems.push(...check(propertyNames, key, inner(at, key)))
  }
  return [...problems, ...checkDependencies(schema, value, placed)]
}

function checkProperty(
  { properties, patternProperties, additionalProperties }: JsonObject,
  value: JsonObject,
  { at, check, patterns, key }: PlacedValidation & { readonly key: string },
): readonly string[] {
  const own = isJsonObject(properties) && Object.hasOwn(properties, key) ? [properties[key]] : []
  const matching = isJsonObject(patternProperties)
    ? Object.entries(patternProperties).flatMap(([pattern, part]) => (patterns(pattern, key) ? [part] : []))
    : []
  const parts = [...own, ...matching]
  if (!parts.length && additionalProperties === false) return [`${inner(at, key)} is not allowed.`]
  if (!parts.length && additionalProperties !== undefined) parts.push(additionalProperties)
  return parts.flatMap((part) => check(part, value[key], inner(at, key)))
}

function checkDependencies(
  { dependentRequired, dependentSchemas }: JsonObject,
  value: JsonObject,
  { at, check }: PlacedValidation,
): readonly string[] {
  const problems: string[] = []
  for (const [key, names] of Object.entries(isJsonObject(dependentRequired) ? dependentRequired : {}))
    if (Object.hasOwn(value, key) && Array.isArray(names))
      problems.push(
        ...names
          .filter((name) => !Object.hasOwn(value, String(name)))
          .map((name) => `${inner(at, String(name))} is missing beside ${key}.`),
      )
  for (const [key, part] of Object.entries(isJsonObject(dependentSchemas) ? dependentSchemas : {}))
    if (Object.hasOwn(value, key)) problems.push(...check(part, value, at))
  return problems
}
