/** Holds the state that an interface of AG-UI shares with the agent, which changes it by JSON Patch (RFC 6902). */

import { isJsonObject, type JsonObject } from '#agent/core/parse-json.ts'
import type { ToolSchema } from '#agent/core/request/tool-schema.ts'

export const stateTool = 'update_state'
const maxOperations = 100
const maxStateChars = 100_000
const maxDepth = 40

export const stateToolSchema: ToolSchema = {
  name: stateTool,
  description:
    'Changes the state that the interface of the user shows. Its present value is in the instructions. Paths are JSON pointers; "-" appends to a list.',
  inputSchema: {
    type: 'object',
    properties: {
      patch: {
        type: 'array',
        items: {
          type: 'object',
          properties: { op: { enum: ['add', 'replace', 'remove'] }, path: { type: 'string' }, value: {} },
          required: ['op', 'path'],
        },
      },
    },
    required: ['patch'],
  },
}

type Operation = {
  readonly op: 'add' | 'replace' | 'remove'
  readonly path: readonly string[]
  readonly value: unknown
}
export type StateChange = { readonly delta: readonly JsonObject[] } | { readonly error: string }

export class SharedState {
  #value: unknown

  constructor(value: unknown) {
    this.#value = value
  }

  get value(): unknown {
    return this.#value
  }

  /** Applies all operations or none. */
  change(input: unknown): StateChange {
    const patch = isJsonObject(input) ? input['patch'] : undefined
    if (!Array.isArray(patch) || !patch.length || patch.length > maxOperations)
      return { error: `patch must be a list of 1 to ${maxOperations} operations.` }
    try {
      const operations = patch.map(readOperation)
      const changed = operations.reduce((value, operation) => apply(value, operation, 0), this.#value)
      if (JSON.stringify(changed).length > maxStateChars)
        return { error: `The state may have ${maxStateChars} characters of JSON.` }
      this.#value = changed
      return {
        delta: operations.map(({ op, path, value }) => ({
          op,
          path: path.map((key) => `/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`).join(''),
          ...(op !== 'remove' && { value }),
        })),
      }
    } catch (error) {
      if (error instanceof InvalidPatch) return { error: error.message }
      throw error
    }
  }
}

class InvalidPatch extends Error {
  override readonly name = 'InvalidPatch'
}

/** Clients that apply a patch to plain objects would change what all objects inherit. */
const forbiddenKeys: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype'])

function readOperation(given: unknown): Operation {
  const { op, path, value } = isJsonObject(given) ? given : {}
  if (op !== 'add' && op !== 'replace' && op !== 'remove') throw new InvalidPatch('op must be add, replace or remove.')
  const keys = readPointer(path)
  if (op !== 'remove' && value === undefined) throw new InvalidPatch(`${op} needs a value.`)
  if (op === 'remove' && !keys.length) throw new InvalidPatch('The whole state cannot be removed. Replace it.')
  return { op, path: keys, value }
}

function readPointer(path: unknown): readonly string[] {
  if (typeof path !== 'string' || (path !== '' && !path.startsWith('/')))
    throw new InvalidPatch('path must be a JSON pointer such as /items/0.')
  const parts = path.split('/').slice(1)
  const keys = parts.map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'))
  if (keys.length > maxDepth || keys.some((key) => forbiddenKeys.has(key)))
    throw new InvalidPatch(`The path ${path.slice(0, 100)} is not allowed.`)
  return keys
}

/** Returns a changed copy. */
function apply(target: unknown, operation: Operation, depth: number): unknown {
  const { op, path, value } = operation
  const key = path[depth]
  if (key === undefined) return value
  const isLast = depth === path.length - 1
  if (Array.isArray(target)) return applyToList(target, key, operation, depth)
  if (!isJsonObject(target)) throw new InvalidPatch(`There is no ${describe(path)}.`)
  const isThere = Object.hasOwn(target, key)
  if (!isThere && !(isLast && op === 'add')) throw new InvalidPatch(`There is no ${describe(path)}.`)
  if (!isLast) return { ...target, [key]: apply(target[key], operation, depth + 1) }
  if (op !== 'remove') return { ...target, [key]: value }
  const { [key]: _, ...rest } = target
  return rest
}

function applyToList(list: readonly unknown[], key: string, operation: Operation, depth: number): unknown {
  const { op, path, value } = operation
  const isLast = depth === path.length - 1
  const mayAppend = isLast && op === 'add'
  const at = key === '-' && mayAppend ? list.length : Number(/^(?:0|[1-9]\d{0,8})$/.test(key) ? key : -1)
  if (at < 0 || at >= list.length + (mayAppend ? 1 : 0)) throw new InvalidPatch(`There is no ${describe(path)}.`)
  if (!isLast) return list.with(at, apply(list[at], operation, depth + 1))
  if (op === 'add') return list.toSpliced(at, 0, value)
  return op === 'remove' ? list.toSpliced(at, 1) : list.with(at, value)
}

const describe = (path: readonly string[]): string => `/${path.join('/')}`.slice(0, 100)
