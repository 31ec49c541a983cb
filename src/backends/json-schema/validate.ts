/**
 * Validates JSON against a JSON schema (2020-12 and draft 7). Schemas come from tenants and values from models, so every
 * visit of a schema is counted: alternatives within alternatives would otherwise take exponential time. `format` is an
 * annotation, as in the standard; unknown keywords and references to other documents match everything.
 */

import { isJsonObject, type JsonObject } from '#agent/core/parse-json.ts'
import type { ValidateJson, Validation } from './protocol.ts'
import { canonicalJson, describeType, place, resolvePointer } from './json.ts'
import { checkArray, checkNumber, checkObject, checkString } from './checks.ts'
import { RE2JS } from 're2js'

/** A schema of 64 KiB has fewer parts than this. */
const maxVisits = 200_000
const maxDepth = 200
const maxProblems = 20
const maxShownChars = 200

/** Thrown when validating takes too long. */
class TooComplex extends Error {}

/** Returns no problems for a schema that is too complex: the answer is then only known to be JSON. */
export const validateJson: ValidateJson = (schema, value) => {
  let visits = 0
  let depth = 0
  const charge = (amount: number) => {
    visits += amount
    if (visits > maxVisits) throw new TooComplex()
  }
  const check: Validation['check'] = (part, inner, at) => {
    charge(1)
    if (++depth > maxDepth) throw new TooComplex()
    const problems = checkSchema(part, inner, at, validation)
    depth--
    return problems
  }
  const validation: Validation = { root: schema, patterns: createPatterns(charge), check, charge }
  try {
    return check(schema, value, '').slice(0, maxProblems)
  } catch (error) {
    if (error instanceof TooComplex) return []
    throw error
  }
}

// oxlint-disable-next-line max-params -- the same four for every check
function checkSchema(schema: unknown, value: unknown, at: string, validation: Validation): readonly string[] {
  if (schema === false) return [`${place(at)} is not allowed.`]
  if (!isJsonObject(schema)) return []
  const wrongType = checkType(schema, value, at)
  if (wrongType.length) return wrongType
  return [
    ...checkEqual(schema, value, at),
    ...checkCombined(schema, value, { at, ...validation }),
    ...checkNumber(schema, value, at),
    ...checkString(schema, value, { at, ...validation }),
    ...checkArray(schema, value, { at, ...validation }),
    ...checkObject(schema, value, { at, ...validation }),
  ]
}

function checkType({ type }: JsonObject, value: unknown, at: string): readonly string[] {
  const types = Array.isArray(type) ? type : typeof type === 'string' ? [type] : []
  const actual = describeType(value)
  const isAccepted = types.some(
    (one) => one === actual || (one === 'integer' && actual === 'number' && Number.isInteger(value)),
  )
  return !types.length || isAccepted ? [] : [`${place(at)} must be of type ${types.join(' or ')}, not ${actual}.`]
}

function checkEqual(schema: JsonObject, value: unknown, at: string): readonly string[] {
  const { enum: values, const: constant } = schema
  const json = canonicalJson(value)
  if ('const' in schema && canonicalJson(constant) !== json)
    return [`${place(at)} must be ${JSON.stringify(constant).slice(0, maxShownChars)}.`]
  if (!Array.isArray(values) || values.some((one) => canonicalJson(one) === json)) return []
  return [`${place(at)} must be one of ${JSON.stringify(values).slice(0, maxShownChars)}.`]
}

type ValidatedPlace = Validation & { readonly at: string }

function checkCombined(schema: JsonObject, value: unknown, placed: ValidatedPlace): readonly string[] {
  const { at, check, root } = placed
  const { $ref, allOf, not } = schema
  const problems: string[] = []
  if (typeof $ref === 'string') problems.push(...check(resolvePointer(root, $ref), value, at))
  if (Array.isArray(allOf)) for (const part of allOf) problems.push(...check(part, value, at))
  if (not !== undefined && !check(not, value, at).length) problems.push(`${place(at)} has a form that is excluded.`)
  return [...problems, ...checkAlternatives(schema, value, placed), ...checkCondition(schema, value, placed)]
}

function checkAlternatives(
  { anyOf, oneOf }: JsonObject,
  value: unknown,
  { at, check }: ValidatedPlace,
): readonly string[] {
  const problems: string[] = []
  for (const [alternatives, isExclusive] of [
    [anyOf, false],
    [oneOf, true],
  ] as const) {
    if (!Array.isArray(alternatives)) continue
    const results = alternatives.map((one) => check(one, value, at))
    const matching = results.filter((result) => !result.length).length
    if (matching > 1 && isExclusive) problems.push(`${place(at)} matches ${matching} forms that exclude each other.`)
    if (matching) continue
    // The alternative with the fewest problems is probably the one that was meant.
    const [closest = []] = results.toSorted((a, b) => a.length - b.length)
    problems.push(`${place(at)} matches none of the allowed forms. The closest: ${closest.slice(0, 3).join(' ')}`)
  }
  return problems
}

function checkCondition(schema: JsonObject, value: unknown, { at, check }: ValidatedPlace): readonly string[] {
  if (schema['if'] === undefined) return []
  const branch = check(schema['if'], value, at).length ? schema['else'] : schema['then']
  return branch === undefined ? [] : check(branch, value, at)
}

const maxPatternChars = 2_000
/** Instructions of a compiled pattern. */
const maxProgramSize = 5_000
/** Characters times instructions that count as one visit of a schema. */
const workPerVisit = 2_000

/** A pattern that RE2 does not have, for example with a lookahead, matches everything. */
function createPatterns(charge: Validation['charge']): Validation['patterns'] {
  const compiled = new Map<string, RE2JS | undefined>()
  return (pattern, text) => {
    if (!compiled.has(pattern)) compiled.set(pattern, compile(pattern, charge))
    const expression = compiled.get(pattern)
    if (!expression) return true
    charge((text.length * expression.programSize()) / workPerVisit)
    return expression.matcher(text).find()
  }
}

function compile(pattern: string, charge: Validation['charge']): RE2JS | undefined {
  charge(pattern.length)
  if (pattern.length > maxPatternChars) return undefined
  try {
    const expression = RE2JS.compile(RE2JS.translateRegExp(pattern))
    return expression.programSize() > maxProgramSize ? undefined : expression
  } catch {
    return undefined
  }
}
