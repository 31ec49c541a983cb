/** Judges what a run has done by the assertions of its case. */

import { findProblem, matches } from './json-schema.mjs'

/**
 * Returns why the assertion does not hold, or undefined. `seen`: `calls` (name and input), `asked` (kinds), `cost`, `output`,
 * `readFile` and `judge`.
 */
export async function findFailure(assertion, seen) {
  const [name] = Object.keys(assertion).filter((one) => one !== 'soft')
  try {
    return await assertions[name](assertion[name], seen)
  } catch (error) {
    return error.message
  }
}

/** Names an assertion in reports. */
export function describe(assertion) {
  const [name] = Object.keys(assertion).filter((one) => one !== 'soft')
  const text = typeof assertion[name] === 'string' ? assertion[name] : JSON.stringify(assertion[name])
  return `${name} ${text.length > 80 ? `${text.slice(0, 80)}…` : text}`
}

const assertions = {
  calledTool(wanted, { calls }) {
    const { name, input, times } = typeof wanted === 'string' ? { name: wanted } : wanted
    const found = calls.filter((call) => call.name === name && (input === undefined || hasPart(call.input, input)))
    if (times !== undefined) return found.length === times ? undefined : `${found.length} calls instead of ${times}`
    if (found.length) return undefined
    const others = calls.filter((call) => call.name === name).map((call) => JSON.stringify(call.input))
    return others.length ? `called with ${others.join('; ')}` : `not called; called were ${listNames(calls)}`
  },
  notCalledTool: (name, { calls }) => (calls.some((call) => call.name === name) ? 'it was called' : undefined),
  toolOrder(wanted, { calls }) {
    let next = 0
    for (const { name } of calls) if (name === wanted[next]) next++
    return next === wanted.length ? undefined : `the order was ${listNames(calls)}`
  },
  asked(wanted, { asked }) {
    const has = typeof wanted === 'string' ? asked.includes(wanted) : asked.length > 0
    if (has === (wanted !== false)) return undefined
    return asked.length ? `it asked: ${asked.join(', ')}` : 'it asked nothing'
  },
  maxToolCalls: (most, { calls }) => (calls.length > most ? `${calls.length} calls: ${listNames(calls)}` : undefined),
  maxCost: (most, { cost }) => (cost > most ? `it cost $${cost.toFixed(4)}` : undefined),
  output: (wanted, { output }) => findTextFailure(wanted, output),
  async file({ path, absent, text }, { readFile }) {
    const found = await readFile(path)
    if (absent) return found === undefined ? undefined : `${path} is there`
    if (found === undefined) return `${path} is missing`
    return text === undefined ? undefined : findTextFailure(text, found)
  },
  async judge({ rubric, least = 0.7, model }, { judge }) {
    const { score, reason } = await judge(rubric, model)
    return score >= least ? undefined : `${score}: ${reason}`
  },
}

const listNames = (calls) => calls.map(({ name }) => name).join(', ') || 'none'
const shown = (text) => JSON.stringify(text.length > 200 ? `${text.slice(0, 200)}…` : text)

function findTextFailure(wanted, text) {
  const check = typeof wanted === 'string' ? { contains: wanted } : wanted
  if (check.contains !== undefined) return text.includes(check.contains) ? undefined : `it is ${shown(text)}`
  if (check.equals !== undefined) return text.trim() === check.equals.trim() ? undefined : `it is ${shown(text)}`
  if (check.matches !== undefined) return matches(check.matches, text) ? undefined : `it is ${shown(text)}`
  const json = parse(text.replace(/^\s*```(?:json)?\n([^]*)\n```\s*$/, '$1'))
  return json ? findProblem(check.schema, json.value) : `it is no JSON: ${shown(text)}`
}

function parse(text) {
  try {
    return { value: JSON.parse(text) }
  } catch {
    return undefined
  }
}

/** Whether the value has all that the part has. */
function hasPart(value, part) {
  if (typeof part !== 'object' || part === null) return Object.is(value, part)
  if (typeof value !== 'object' || value === null) return false
  return Object.entries(part).every(([name, one]) => Object.hasOwn(value, name) && hasPart(value[name], one))
}
