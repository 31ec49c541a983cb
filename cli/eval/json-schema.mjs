/** Validates JSON against the common keywords of a JSON schema. Others are refused: they would pass everything. */

import { isDeepStrictEqual } from 'node:util'
import { runInNewContext } from 'node:vm'

const annotations = '$schema $id $comment title description default examples deprecated readOnly writeOnly format'
const keywords =
  'type const enum pattern minimum maximum minLength maxLength minItems maxItems properties required additionalProperties items allOf anyOf oneOf not'
const known = new Set(`${annotations} ${keywords}`.split(' '))
const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value)
const isTexts = (value) => Array.isArray(value) && value.every((one) => typeof one === 'string')

/** The form of keywords that others would silently pass by. */
const forms = {
  pattern: [(value) => isPattern(value), 'a regular expression'],
  required: [isTexts, 'a list of names'],
  properties: [isObject, 'schemas by name'],
  ...Object.fromEntries(['enum', 'allOf', 'anyOf', 'oneOf'].map((name) => [name, [Array.isArray, 'a list']])),
}

/** Returns why a schema cannot be checked, or undefined. */
export function findSchemaProblem(schema) {
  if (typeof schema === 'boolean') return undefined
  if (!isObject(schema)) return 'a schema must be an object'
  const unknown = Object.keys(schema).find((name) => !known.has(name))
  if (unknown !== undefined) return `${unknown} is not checked`
  const wrong = Object.entries(forms).find(([name, [isRight]]) => Object.hasOwn(schema, name) && !isRight(schema[name]))
  if (wrong) return `${wrong[0]} must be ${wrong[1][1]}`
  return listInner(schema)
    .map(findSchemaProblem)
    .find((problem) => problem !== undefined)
}

const listInner = ({ properties = {}, items, additionalProperties, not, allOf = [], anyOf = [], oneOf = [] }) => [
  ...[items, additionalProperties, not].filter((one) => one !== undefined),
  ...[Object.values(properties), allOf, anyOf, oneOf].flat(),
]

export function isPattern(value) {
  try {
    return typeof value === 'string' && value !== '' && Boolean(new RegExp(value, 'u'))
  } catch {
    return false
  }
}

/** An expression can take years for a short text: it gets a second. */
export function matches(pattern, text) {
  try {
    return runInNewContext("new RegExp(pattern, 'u').test(text)", { pattern, text }, { timeout: 1_000 })
  } catch (error) {
    if (error?.code !== 'ERR_SCRIPT_EXECUTION_TIMEOUT') throw error
    throw new Error(`The expression ${pattern} takes more than a second.`, { cause: error })
  }
}

/** Returns the first problem, or undefined. */
export function findProblem(schema, value, at = '$') {
  if (schema === true || schema === undefined) return undefined
  if (schema === false) return `${at} must not be there`
  for (const check of [checkType, checkValue, checkSize, checkAlternatives, checkObject, checkArray]) {
    const problem = check(schema, value, at)
    if (problem !== undefined) return problem
  }
  return undefined
}

const typeOf = (value) => (value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value)

function checkType({ type }, value, at) {
  if (type === undefined) return undefined
  const isType = (one) => (one === 'integer' ? Number.isInteger(value) : one === typeOf(value))
  return [type].flat().some(isType) ? undefined : `${at} is ${typeOf(value)}, not ${[type].flat().join(' or ')}`
}

function checkValue(schema, value, at) {
  const isSame = (one) => isDeepStrictEqual(one, value)
  if ('const' in schema && !isSame(schema.const)) return `${at} is not ${JSON.stringify(schema.const)}`
  if (schema.enum && !schema.enum.some(isSame)) return `${at} is none of ${JSON.stringify(schema.enum)}`
  if (schema.pattern !== undefined && typeof value === 'string' && !matches(schema.pattern, value))
    return `${at} does not match ${schema.pattern}`
  return undefined
}

function checkSize(schema, value, at) {
  // Signs count, not their halves.
  const size = typeof value === 'number' ? value : typeof value === 'string' ? [...value].length : value?.length
  const [least, most] =
    typeof value === 'number'
      ? [schema.minimum, schema.maximum]
      : Array.isArray(value)
        ? [schema.minItems, schema.maxItems]
        : [schema.minLength, schema.maxLength]
  if (size < least) return `${at} is below ${least}`
  return size > most ? `${at} is above ${most}` : undefined
}

function checkAlternatives(schema, value, at) {
  for (const one of schema.allOf ?? []) {
    const problem = findProblem(one, value, at)
    if (problem !== undefined) return problem
  }
  const fits = (one) => findProblem(one, value, at) === undefined
  if (schema.anyOf && !schema.anyOf.some(fits)) return `${at} fits none of anyOf`
  if (schema.oneOf && schema.oneOf.filter(fits).length !== 1) return `${at} does not fit exactly one of oneOf`
  return schema.not !== undefined && fits(schema.not) ? `${at} fits what it must not` : undefined
}

function checkObject({ properties = {}, required = [], additionalProperties }, value, at) {
  if (typeOf(value) !== 'object') return undefined
  const missing = required.find((name) => !Object.hasOwn(value, name))
  if (missing !== undefined) return `${at}.${missing} is missing`
  for (const [name, one] of Object.entries(value)) {
    const problem = findProblem(
      Object.hasOwn(properties, name) ? properties[name] : additionalProperties,
      one,
      `${at}.${name}`,
    )
    if (problem !== undefined) return problem
  }
  return undefined
}

function checkArray({ items }, value, at) {
  if (!Array.isArray(value) || items === undefined) return undefined
  for (const [n, one] of value.entries()) {
    const problem = findProblem(items, one, `${at}[${n}]`)
    if (problem !== undefined) return problem
  }
  return undefined
}
