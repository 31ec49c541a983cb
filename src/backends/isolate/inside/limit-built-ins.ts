/**
 * Limits the memory of a program by replacing built-ins that allocate. Out of memory would end the whole local runtime
 * (a deployed isolate ends alone, at 128 MB). Freed memory is unknown: large allocations and estimates of small ones add up.
 */

import { hasCatastrophicBacktracking } from '../compile/catastrophic-backtracking.ts'
import { slowPatternMessage } from '../compile/messages.ts'

/** Limit of one allocation. */
const maxAllocationBytes = 128 * 1024 * 1024
/** Limit of all allocations together: the local runtime ends near 1.4 GB. */
const maxTotalBytes = 900 * 1024 * 1024
/** Smaller allocations are estimated by the loops (instrument.ts). */
const minCountedBytes = 1024

let totalBytes = 0
let maxBytes = maxTotalBytes
let maxBytesAtOnce = maxAllocationBytes

export function countMemory(bytes: number): void {
  if (!(bytes >= minCountedBytes)) return
  totalBytes += bytes
  if (bytes > maxBytesAtOnce || totalBytes > maxBytes)
    throw new RangeError('Out of memory: the program allocates too much. Work in smaller pieces.')
}

/** Begins the count anew, for an isolate that runs one call after another. `most`: for all allocations together. */
export function resetMemory(most: number, mostAtOnce: number): void {
  totalBytes = 0
  maxBytes = most
  maxBytesAtOnce = mostAtOnce
}

const countCells = (count: unknown): void => countMemory(Number(count) * 8)

type BuiltInMethod = (this: unknown, ...args: unknown[]) => unknown

const defineValue = (owner: object, name: string, value: unknown): void =>
  void Object.defineProperty(owner, name, { value, writable: true, configurable: true })

/** Wraps a method with a check of its arguments. */
function addCheck(owner: object, name: string, check: (self: unknown, args: readonly unknown[]) => void): void {
  const original = Reflect.get(owner, name) as BuiltInMethod
  const guarded = {
    [name](this: unknown, ...args: unknown[]): unknown {
      check(this, args)
      return Reflect.apply(original, this, args)
    },
  }[name]
  defineValue(owner, name, guarded)
}

/** Counts the elements that are spread into an array. */
export function countSpread<T>(items: T): T {
  countCells(lengthOf(items) || Number((items as { size?: unknown } | null)?.size ?? 0))
  return items
}

const lengthOf = (value: unknown): number => Number((value as { length?: unknown } | null)?.length ?? 0)

function limitArrays(): void {
  const checked = new Proxy(Array, {
    construct(target, args: unknown[], made) {
      if (args.length === 1 && typeof args[0] === 'number') countCells(args[0])
      return Reflect.construct(target, args, made) as object
    },
    apply(target, self, args: unknown[]) {
      if (args.length === 1 && typeof args[0] === 'number') countCells(args[0])
      return Reflect.apply(target, self, args) as unknown
    },
  })
  addCheck(Array, 'from', (_, [from]) => countCells(lengthOf(from)))
  addCheck(Array.prototype, 'fill', (self) => countCells(lengthOf(self)))
  addCheck(Array.prototype, 'concat', (self, more) =>
    countCells(more.reduce<number>((sum, one) => sum + (Array.isArray(one) ? one.length : 1), lengthOf(self))),
  )
  addCheck(Array.prototype, 'join', (self, [by]) => countMemory(lengthOf(self) * String(by ?? ',').length))
  for (const name of [
    'map',
    'slice',
    'filter',
    'flat',
    'keys',
    'values',
    'entries',
    'toSorted',
    'toReversed',
    'with',
    'toSpliced',
  ])
    addCheck(Array.prototype, name, (self) => countCells(lengthOf(self)))
  defineValue(Array.prototype, 'constructor', checked)
  defineValue(globalThis, 'Array', checked)
}

function limitStrings(): void {
  addCheck(String.prototype, 'repeat', (self, [times]) => countMemory(lengthOf(self) * Number(times)))
  for (const name of ['padStart', 'padEnd'])
    addCheck(String.prototype, name, (_, [length]) => countMemory(Number(length)))
  addCheck(String.prototype, 'split', (self, [by]) => countMemory(lengthOf(self) * (by === '' ? 16 : 2)))
  addCheck(JSON, 'parse', (_, [text]) => countMemory(lengthOf(text) * 4))
}

function limitBuffers(): void {
  const names = [
    'ArrayBuffer',
    'Int8Array',
    'Uint8Array',
    'Uint8ClampedArray',
    'Int16Array',
    'Uint16Array',
    'Int32Array',
    'Uint32Array',
    'Float32Array',
    'Float64Array',
    'BigInt64Array',
    'BigUint64Array',
  ]
  for (const name of names) {
    const original = Reflect.get(globalThis, name) as { new (...args: unknown[]): object; BYTES_PER_ELEMENT?: number }
    const bytes = original.BYTES_PER_ELEMENT ?? 1
    const checked = new Proxy(original, {
      construct(target, args: unknown[], made) {
        countMemory((typeof args[0] === 'number' ? args[0] : lengthOf(args[0])) * bytes)
        return Reflect.construct(target, args, made) as object
      },
    })
    defineValue(original.prototype, 'constructor', checked)
    defineValue(globalThis, name, checked)
  }
}

function limitRegExps(): void {
  const checkPattern = ([pattern, flags]: readonly unknown[]): void => {
    const [source, ownFlags] = pattern instanceof RegExp ? [pattern.source, pattern.flags] : [String(pattern), '']
    if (hasCatastrophicBacktracking(source, String(flags ?? ownFlags).includes('i')))
      throw new SyntaxError(slowPatternMessage(source))
  }
  const checked = new Proxy(RegExp, {
    construct(target, args: unknown[], made) {
      checkPattern(args)
      return Reflect.construct(target, args, made) as object
    },
    apply(target, self, args: unknown[]) {
      checkPattern(args)
      return Reflect.apply(target, self, args) as unknown
    },
  })
  defineValue(RegExp.prototype, 'constructor', checked)
  defineValue(globalThis, 'RegExp', checked)
  // These methods convert a string to a regular expression.
  for (const name of ['match', 'matchAll', 'search'])
    addCheck(String.prototype, name, (_, args) => typeof args[0] === 'string' && checkPattern(args))
}

/** Globals that a program does not need and that could harm other sessions. */
const removedGlobals = ['caches', 'WebAssembly', 'SharedArrayBuffer', 'Atomics']

export function limitBuiltIns(): void {
  for (const name of removedGlobals) Object.defineProperty(globalThis, name, { value: undefined, configurable: false })
  limitArrays()
  limitStrings()
  limitBuffers()
  limitRegExps()
}
