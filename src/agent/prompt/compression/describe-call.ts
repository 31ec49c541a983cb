/** Describes a tool call in one line, by the argument that says most about it. */

import { toLine } from './truncate.ts'

const maxArgumentChars = 160

/** Arguments in the order in which they identify a call. */
const mainArguments = [
  'command',
  'path',
  'url',
  'urls',
  'query',
  'pattern',
  'action',
  'name',
  'goal',
  'question',
  'code',
]

/** For example `terminal {"command":"npm test"}`. */
export function describeCall(name: string, input: unknown): string {
  const argument = mainArgument(input)
  return argument === undefined ? name : `${name} ${toLine(JSON.stringify(argument), maxArgumentChars)}`
}

function mainArgument(input: unknown): object | undefined {
  if (typeof input !== 'object' || input === null || !Object.keys(input).length) return undefined
  const fields = input as Record<string, unknown>
  const main = mainArguments.find((key) => fields[key] !== undefined)
  return main === undefined || main === 'action' ? input : { [main]: fields[main] }
}
