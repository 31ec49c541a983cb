/** Validates JSON against the common keywords of a JSON schema. Unknown keywords match everything. */

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
  const isSame = (one) => JSON.stringify(one) === JSON.stringify(value)
  if ('const' in schema && !isSame(schema.const)) return `${at} is not ${JSON.stringify(schema.const)}`
  if (schema.enum && !schema.enum.some(isSame)) return `${at} is none of ${JSON.stringify(schema.enum)}`
  if (schema.pattern !== undefined && typeof value === 'string' && !new RegExp(schema.pattern, 'u').test(value))
    return `${at} does not match ${schema.pattern}`
  return undefined
}

function checkSize(schema, value, at) {
  const size = typeof value === 'number' ? value : (value?.length ?? Number.NaN)
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
    const problem = findProblem(properties[name] ?? additionalProperties, one, `${at}.${name}`)
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
