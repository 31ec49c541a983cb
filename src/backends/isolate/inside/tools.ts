/** Creates the functions with which a program calls the tools of the session. */

import type { Callable, CallAnswer } from '../protocol.ts'
import { formatValue } from './output.ts'

export type CallTool = (name: string, input: unknown) => Promise<CallAnswer>

/** The error of a failed tool call, with the result for programs that catch it. */
class ToolError extends Error {
  override readonly name = 'ToolError'
  readonly result: unknown
  constructor(message: string, result: unknown) {
    super(message)
    this.result = result
  }
}

/**
 * The session refuses calls above a lower number. Each refusal is a message between isolates, and ten thousand of them at
 * once would hold up the sessions of all where they share a thread.
 */
const maxSentCalls = 200

export function createToolFunctions(tools: readonly Callable[], call: CallTool): Readonly<Record<string, unknown>> {
  let sent = 0
  const functions = Object.fromEntries(
    tools.map(({ name, parameters, signature }) => {
      const invoke = async (...args: readonly unknown[]): Promise<unknown> => {
        if (++sent > maxSentCalls) throw new ToolError(`${name}: a program makes at most 50 calls`, undefined)
        const answer = await call(name, getInput(args, parameters))
        if ('ok' in answer) return answer.ok
        throw new ToolError(`${name}: ${answer.error}`, answer.result)
      }
      const shown = signature !== undefined && { toString: { value: () => signature } }
      return [name, Object.defineProperties(invoke, { name: { value: name }, ...shown })]
    }),
  )
  return Object.freeze(functions)
}

/** Converts arguments to the input object of the tool; positional arguments follow the order of the parameters. */
function getInput(args: readonly unknown[], parameters: readonly string[]): unknown {
  const [first] = args
  const isInput = typeof first === 'object' && first !== null && !Array.isArray(first)
  const input = isInput
    ? first
    : Object.fromEntries(args.map((value, i) => [parameters[i] ?? `argument ${i + 1}`, value]))
  return copyAsJson(input)
}

/** Copies the input as JSON, because only plain data can be sent. */
function copyAsJson(input: object): unknown {
  try {
    return JSON.parse(JSON.stringify(input))
  } catch {
    throw new TypeError(`The input of a tool must be plain data, not ${formatValue(input)}.`)
  }
}
