/** Reads the cases of BFCL that have one turn and known calls: tools, and the calls as a model might write them. */

import { readFileSync } from 'node:fs'
import { join } from 'node:path'

export type BfclCase = {
  readonly id: string
  readonly prompt: string
  /** Without the instructions. */
  readonly question: string
  readonly tools: readonly { readonly name: string; readonly description: string; readonly parameters: object }[]
  /** The arguments as JSON that is written in one of several ways. */
  readonly calls: readonly { readonly name: string; readonly json: string }[]
}

const categories = [
  'simple_python',
  'simple_java',
  'simple_javascript',
  'multiple',
  'parallel',
  'parallel_multiple',
  'live_simple',
  'live_multiple',
  'live_parallel',
  'live_parallel_multiple',
]

type Question = {
  readonly id: string
  readonly question: readonly (readonly { readonly role: string; readonly content: string }[])[]
  readonly function: readonly { readonly name: string; readonly description?: string; readonly parameters: object }[]
}
/** Each argument has a list of values that count as right; an empty text means that it may be left out. */
type Answer = {
  readonly id: string
  readonly ground_truth: readonly Readonly<Record<string, Readonly<Record<string, readonly unknown[]>>>>[]
}

export const readCases = (folder: string): readonly BfclCase[] =>
  categories.flatMap((category) => {
    const name = `BFCL_v4_${category}.json`
    const answers = new Map(readLines<Answer>(join(folder, 'possible_answer', name)).map((one) => [one.id, one]))
    return readLines<Question>(join(folder, name)).flatMap((question, at) => {
      const answer = answers.get(question.id)
      return answer ? [toCase(question, answer, at)] : []
    })
  })

export const readLines = <Line>(path: string): readonly Line[] =>
  readFileSync(path, 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Line)

const toCase = ({ id, question, function: tools }: Question, answer: Answer, at: number): BfclCase => ({
  id,
  prompt: question.flatMap((turn) => turn.map(({ content }) => content)).join('\n'),
  question: question
    .flatMap((turn) => turn.filter(({ role }) => role === 'user').map(({ content }) => content))
    .join('\n'),
  tools: tools.map(({ name, description = '', parameters }) => ({
    name,
    description,
    parameters: toJsonSchema(parameters) as object,
  })),
  calls: answer.ground_truth.flatMap((call, n) =>
    Object.entries(call).map(([name, values]) => ({ name, json: write(chooseValues(values), at + n) })),
  ),
})

const typeNames: Readonly<Record<string, string>> = { dict: 'object', float: 'number', tuple: 'array', any: 'string' }

/** BFCL names types as Python does. */
export function toJsonSchema(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(toJsonSchema)
  if (typeof schema !== 'object' || schema === null) return schema
  return Object.fromEntries(
    Object.entries(schema).map(([key, value]) => [
      key,
      key === 'type' && typeof value === 'string' ? (typeNames[value] ?? value) : toJsonSchema(value),
    ]),
  )
}

const chooseValues = (values: Readonly<Record<string, readonly unknown[]>>): object =>
  Object.fromEntries(
    Object.entries(values).flatMap(([name, [first]]) => (first === '' || first === undefined ? [] : [[name, first]])),
  )

/** Models write JSON with and without spaces and lines, with escapes, and numbers with a point. */
function write(value: object, way: number): string {
  if (way % 4 === 0) return JSON.stringify(value)
  if (way % 4 === 1) return JSON.stringify(value, undefined, 2)
  if (way % 4 === 2) return writeAsPython(value)
  return writeAsPython(value).replace(
    /[\u0080-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

function writeAsPython(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(writeAsPython).join(', ')}]`
  if (typeof value === 'number' && Number.isInteger(value)) return `${value}.0`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  return `{${Object.entries(value)
    .map(([key, one]) => `${JSON.stringify(key)}: ${writeAsPython(one)}`)
    .join(', ')}}`
}
