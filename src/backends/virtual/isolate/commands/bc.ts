/** Implements bc for expressions: + - * / % ^, comparison, parentheses, variables, scale, sqrt(). No loops or functions. */

import { add, compare, type Decimal, decimal, divide, maxScale, multiply, negate } from './decimal.ts'
import { power, remainder, rescale, formatDecimal, squareRoot } from './decimal.ts'
import { type Command, command, parse, readText, textResult } from './io.ts'

type BcState = { scale: number; readonly variables: Map<string, Decimal> }
type BcOperator = (a: Decimal, b: Decimal, scale: number) => Decimal

const truth = (value: boolean): Decimal => ({ digits: value ? 1n : 0n, scale: 0 })

/** Lowest precedence first. */
const operatorLevels: readonly Readonly<Record<string, BcOperator>>[] = [
  {
    '==': (a, b) => truth(compare(a, b) === 0),
    '!=': (a, b) => truth(compare(a, b) !== 0),
    '<=': (a, b) => truth(compare(a, b) <= 0),
    '>=': (a, b) => truth(compare(a, b) >= 0),
    '<': (a, b) => truth(compare(a, b) < 0),
    '>': (a, b) => truth(compare(a, b) > 0),
  },
  { '+': (a, b) => add(a, b), '-': (a, b) => add(a, negate(b)) },
  { '*': multiply, '/': divide, '%': remainder },
]

const tokenPattern = /\s*(\d+\.?\d*|\.\d+|[a-z]\w*|[<>=!]=|[-+*/%^()<>=])/y

function tokens(statement: string): string[] {
  const found: string[] = []
  tokenPattern.lastIndex = 0
  while (tokenPattern.lastIndex < statement.trimEnd().length) {
    const match = tokenPattern.exec(statement)
    if (!match) throw new Error('syntax error')
    found.push(match[1] ?? '')
  }
  return found
}

function evaluate(state: BcState, queue: string[]): Decimal {
  const level = (depth: number): Decimal => {
    const operators = operatorLevels[depth]
    if (!operators) return signed()
    let left = level(depth + 1)
    for (let apply = operators[queue[0] ?? '']; apply; apply = operators[queue[0] ?? '']) {
      queue.shift()
      left = apply(left, level(depth + 1), state.scale)
    }
    return left
  }
  const signed = (): Decimal => {
    if (queue[0] !== '-') return raised()
    queue.shift()
    return negate(signed())
  }
  const raised = (): Decimal => {
    const base = atom(state, queue, () => level(0))
    if (queue[0] !== '^') return base
    queue.shift()
    return power(base, signed(), state.scale)
  }
  return level(0)
}

function atom(state: BcState, queue: string[], expression: () => Decimal): Decimal {
  const token = queue.shift() ?? ''
  if (/^[\d.]/.test(token)) return decimal(token)
  if (token === 'sqrt' && queue[0] === '(') return squareRoot(atom(state, queue, expression), state.scale)
  if (token === 'scale') return { digits: BigInt(state.scale), scale: 0 }
  if (/^[a-z]/.test(token)) return state.variables.get(token) ?? decimal('0')
  if (token !== '(') throw new Error('syntax error')
  const inner = expression()
  if (queue.shift() !== ')') throw new Error('syntax error')
  return inner
}

/** Returns the line to print, or '' after an assignment. */
function execute(state: BcState, statement: string): string {
  const queue = tokens(statement)
  if (queue.length === 0 || queue[0] === 'quit') return ''
  const name = queue[1] === '=' && /^[a-z]/.test(queue[0] ?? '') ? queue[0] : undefined
  if (name !== undefined) queue.splice(0, 2)
  const value = evaluate(state, queue)
  if (queue.length > 0) throw new Error('syntax error')
  if (name === undefined) return `${formatDecimal(value)}\n`
  if (name === 'scale') state.scale = Math.min(Number(rescale(value, 0).digits), maxScale)
  else state.variables.set(name, value)
  return ''
}

export const bc: Command = command('bc', async (args, context) => {
  const { flags, rest } = parse(args, '')
  const state: BcState = { scale: flags.has('l') ? 20 : 0, variables: new Map() }
  const source = await readText(context, rest[0] ?? '-')
  let output = ''
  try {
    for (const statement of source.replace(/\/\*.*?\*\/|#.*/gs, '').split(/[\n;]/)) output += execute(state, statement)
  } catch (error) {
    return textResult(output, 1, `(standard_in) 1: ${error instanceof Error ? error.message : String(error)}\n`)
  }
  return textResult(output)
})
