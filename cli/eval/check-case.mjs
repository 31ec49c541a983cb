/** Checks the form of a case before anything runs, so that a misspelled assertion cannot pass or fail by accident. */

import { findSchemaProblem, isPattern } from './json-schema.mjs'

const isText = (value) => typeof value === 'string' && value !== ''
const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value)
const isList = (isOne) => (value) => Array.isArray(value) && value.length > 0 && value.every(isOne)
const isOptional = (isOne) => (value) => value === undefined || isOne(value)
const isNumber = (least, most) => (value) => typeof value === 'number' && value >= least && value <= most
const isCount = (least) => (value) => Number.isInteger(value) && value >= least
const isFlag = (value) => typeof value === 'boolean'
const isOneOf =
  (...values) =>
  (value) =>
    values.includes(value)
/** Has these fields and no others. */
const isShape = (fields) => (value) =>
  isObject(value) &&
  Object.keys(value).every((name) => Object.hasOwn(fields, name)) &&
  Object.entries(fields).every(([name, isRight]) => isRight(value[name]))

/** Of a file in the workspace. */
const isPath = (value) => isText(value) && !value.split('/').includes('..')

const textChecks = {
  contains: isText,
  equals: (value) => typeof value === 'string',
  matches: isPattern,
  schema: (value) => isObject(value) && findSchemaProblem(value) === undefined,
}
const isTextCheck = (value) => {
  if (isText(value)) return true
  const [name, ...others] = isObject(value) ? Object.keys(value) : []
  return !others.length && Object.hasOwn(textChecks, name ?? '') && textChecks[name](value[name])
}
const textForms = 'a text in quotes, {contains}, {equals}, {matches} with a regular expression, or {schema}'
const isCall = isShape({ name: isText, input: () => true, times: isOptional(isCount(0)) })
const isFile = isShape({ path: isPath, absent: isOptional(isFlag), text: isOptional(isTextCheck) })

/** The form of each assertion, and its description. */
const assertions = {
  calledTool: [(value) => isText(value) || isCall(value), 'a name, or {name, input, times}'],
  notCalledTool: [isText, 'a name'],
  toolOrder: [isList(isText), 'a list of names'],
  asked: [isOneOf(true, false, 'approval', 'question'), 'true, false, approval or question'],
  maxToolCalls: [isCount(0), 'a whole number'],
  maxCost: [isNumber(0, Infinity), 'a number of USD'],
  output: [isTextCheck, textForms],
  file: [isFile, `{path, text} or {path, absent: true}, where path has no ".." and text is ${textForms}`],
  judge: [
    isShape({ rubric: isText, least: isOptional(isNumber(0, 1)), model: isOptional(isText) }),
    '{rubric, least, model}, with least from 0 to 1',
  ],
}

const isStandIn = isShape({
  name: isText,
  description: isOptional((value) => typeof value === 'string'),
  parameters: isOptional(isObject),
  returns: () => true,
  results: isOptional(isList(() => true)),
})
const isMapOfTexts = (value) =>
  isObject(value) && Object.entries(value).every(([path, one]) => isPath(path) && typeof one === 'string')

const fields = {
  name: [isText, 'a text'],
  messages: [isList(isText), 'a list of texts'],
  assert: [isList(isObject), 'a list of assertions'],
  models: [isOptional(isList(isText)), 'a list of models'],
  model: [isOptional(isText), 'a model'],
  instructions: [isOptional(isText), 'a text'],
  settings: [isOptional(isObject), 'settings of a session'],
  files: [isOptional(isMapOfTexts), 'texts by path, which has no ".."'],
  tools: [isOptional(isList(isStandIn)), 'a list of {name, description, parameters, returns, results}'],
  toolsets: [isOptional(isList(isText)), 'a list of names'],
  approvals: [isOptional(isOneOf('once', 'deny')), 'once or deny'],
  answers: [isOptional(isList(isText)), 'a list of texts'],
  repeat: [isOptional(isCount(1)), 'a whole number from 1'],
  least: [isOptional(isNumber(0, 1)), 'a number from 0 to 1'],
  timeoutSeconds: [isOptional(isNumber(0.001, Infinity)), 'a number above 0'],
}

/** Returns the first problem of a case, or undefined. */
export function findCaseProblem(given) {
  if (!isObject(given) || !isText(given.name)) return 'a case needs a name.'
  if (!isTree(given)) return `"${given.name}" cannot be written as JSON.`
  const unknown = Object.keys(given).find((name) => !Object.hasOwn(fields, name))
  if (unknown !== undefined) return `"${given.name}" has an unknown field: ${unknown}.`
  const wrong = Object.entries(fields).find(([name, [isRight]]) => !isRight(given[name]))
  if (wrong) return `"${given.name}" needs ${wrong[0]} to be ${wrong[1][1]}.`
  for (const assertion of given.assert) {
    const problem = findAssertionProblem(assertion)
    if (problem !== undefined) return `an assertion of "${given.name}" ${problem}`
  }
  return undefined
}

/** A part of YAML may be inside itself, and a module has values that JSON has not. */
function isTree(value) {
  try {
    return JSON.stringify(value) !== undefined
  } catch {
    return false
  }
}

function findAssertionProblem({ soft, ...assertion }) {
  const [name, ...others] = Object.keys(assertion)
  if (name === undefined || others.length || !Object.hasOwn(assertions, name))
    return `has ${[name, ...others].filter(Boolean).join(', ') || 'nothing'}; it needs one of ${Object.keys(assertions).join(', ')}.`
  const [isRight, form] = assertions[name]
  if (!isRight(assertion[name])) return `is wrong: ${explainSchema(assertion[name]) ?? `${name} needs ${form}`}.`
  return soft === undefined || isFlag(soft) ? undefined : 'is wrong: soft needs true or false.'
}

function explainSchema(value) {
  const { schema } = value?.text ?? value ?? {}
  const problem = isObject(schema) ? findSchemaProblem(schema) : undefined
  return problem === undefined ? undefined : `in its schema ${problem}`
}
