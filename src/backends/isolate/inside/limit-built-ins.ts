/**
 * How much one program may take of memory. An isolate that takes all of it ends the whole local runtime; in production it
 * is ended alone, at 128 MB. What is given back is not seen: large things and an estimate of small ones are added up.
 */

import { hasCatastrophicBacktracking } from '../compile/catastrophic-backtracking.ts'
import { slowPatternMessage } from '../compile/messages.ts'

/** One thing. */
const MOST_BYTES = 128 * 1024 * 1024
/** All of them together: the local runtime ends near 1.4 GB. */
const MOST_IN_ALL = 900 * 1024 * 1024
/** What is smaller is estimated by the loops (instrument.ts). */
const LARGE = 1024

let taken = 0

export function countMemory(bytes: number): void {
  if (!(bytes >= LARGE)) return
  taken += bytes
  if (bytes > MOST_BYTES || taken > MOST_IN_ALL)
    throw new RangeError('Out of memory: this would take too much of it. Work in smaller pieces.')
}

const cells = (count: unknown): void => countMemory(Number(count) * 8)

type Method = (this: unknown, ...args: unknown[]) => unknown

const put = (owner: object, name: string, value: unknown): void =>
  void Object.defineProperty(owner, name, { value, writable: true, configurable: true })

/** Puts a look at the arguments before a method. */
function before(owner: object, name: string, look: (self: unknown, args: readonly unknown[]) => void): void {
  const original = Reflect.get(owner, name) as Method
  const guarded = {
    [name](this: unknown, ...args: unknown[]): unknown {
      look(this, args)
      return Reflect.apply(original, this, args)
    },
  }[name]
  put(owner, name, guarded)
}

/** Counts what is spread into an array. */
export function countSpread<T>(items: T): T {
  cells(lengthOf(items) || Number((items as { size?: unknown } | null)?.size ?? 0))
  return items
}

const lengthOf = (value: unknown): number => Number((value as { length?: unknown } | null)?.length ?? 0)

function boundArrays(): void {
  const checked = new Proxy(Array, {
    construct(target, args: unknown[], made) {
      if (args.length === 1 && typeof args[0] === 'number') cells(args[0])
      return Reflect.construct(target, args, made) as object
    },
    apply(target, self, args: unknown[]) {
      if (args.length === 1 && typeof args[0] === 'number') cells(args[0])
      return Reflect.apply(target, self, args) as unknown
    },
  })
  before(Array, 'from', (_, [from]) => cells(lengthOf(from)))
  before(Array.prototype, 'fill', (self) => cells(lengthOf(self)))
  before(Array.prototype, 'concat', (self, more) =>
    cells(more.reduce<number>((sum, one) => sum + (Array.isArray(one) ? one.length : 1), lengthOf(self))),
  )
  before(Array.prototype, 'join', (self, [by]) => countMemory(lengthOf(self) * String(by ?? ',').length))
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
    before(Array.prototype, name, (self) => cells(lengthOf(self)))
  put(Array.prototype, 'constructor', checked)
  put(globalThis, 'Array', checked)
}

function boundText(): void {
  before(String.prototype, 'repeat', (self, [times]) => countMemory(lengthOf(self) * Number(times)))
  for (const name of ['padStart', 'padEnd']) before(String.prototype, name, (_, [length]) => countMemory(Number(length)))
  before(String.prototype, 'split', (self, [by]) => countMemory(lengthOf(self) * (by === '' ? 16 : 2)))
  before(JSON, 'parse', (_, [text]) => countMemory(lengthOf(text) * 4))
}

function boundBytes(): void {
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
    put(original.prototype, 'constructor', checked)
    put(globalThis, name, checked)
  }
}

function boundExpressions(): void {
  const look = ([pattern, given]: readonly unknown[]): void => {
    const [source, usual] = pattern instanceof RegExp ? [pattern.source, pattern.flags] : [String(pattern), '']
    if (hasCatastrophicBacktracking(source, String(given ?? usual).includes('i'))) throw new SyntaxError(slowPatternMessage(source))
  }
  const checked = new Proxy(RegExp, {
    construct(target, args: unknown[], made) {
      look(args)
      return Reflect.construct(target, args, made) as object
    },
    apply(target, self, args: unknown[]) {
      look(args)
      return Reflect.apply(target, self, args) as unknown
    },
  })
  put(RegExp.prototype, 'constructor', checked)
  put(globalThis, 'RegExp', checked)
  // A text becomes an expression here.
  for (const name of ['match', 'matchAll', 'search'])
    before(String.prototype, name, (_, args) => typeof args[0] === 'string' && look(args))
}

/** What is of no use to a program and could harm others. */
const REMOVED = ['caches', 'WebAssembly', 'SharedArrayBuffer', 'Atomics']

export function limitBuiltIns(): void {
  for (const name of REMOVED) Object.defineProperty(globalThis, name, { value: undefined, configurable: false })
  boundArrays()
  boundText()
  boundBytes()
  boundExpressions()
}
