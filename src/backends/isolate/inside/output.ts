/** Collects the output of a program: its head and tail, with a note about the omitted middle. */

import type { OmittedOutput } from '#agent/core/backend.ts'
import { countLineEnds, describeOmitted } from '../../omitted-output.ts'

export type ProgramOutput = {
  readonly print: (values: readonly unknown[]) => void
  /** Returns the part of the head that was printed since the last call. */
  readonly readNew: () => string
  readonly readAll: () => string
  /** The size that `readAll` cuts. */
  readonly omitted: () => OmittedOutput | undefined
}

const headShare = 0.4

/** `onPrint` receives each printed text. */
export function createOutput(maxChars: number, onPrint: (text: string) => void): ProgramOutput {
  const maxHeadChars = Math.floor(maxChars * headShare)
  const maxTailChars = maxChars - maxHeadChars
  let head = ''
  let tail = ''
  const dropped = { bytes: 0, lines: 0 }
  let readChars = 0
  const shortenTail = () => {
    const bytes = new TextEncoder().encode(tail.slice(0, -maxTailChars))
    dropped.bytes += bytes.byteLength
    dropped.lines += countLineEnds(bytes)
    tail = tail.slice(-maxTailChars)
  }
  return {
    print(values) {
      let text = `${values.map((value) => formatValue(value)).join(' ')}\n`
      onPrint(text)
      if (head.length < maxHeadChars) {
        const part = text.slice(0, maxHeadChars - head.length)
        head += part
        text = text.slice(part.length)
      }
      tail += text
      // Truncated only now and then, for speed.
      if (tail.length > maxTailChars * 2) shortenTail()
    },
    readNew() {
      const from = readChars
      readChars = head.length
      return head.slice(from)
    },
    readAll() {
      if (tail.length > maxTailChars) shortenTail()
      return dropped.bytes ? `${head}\n${describeOmitted(dropped)}\n${tail}` : head + tail
    },
    omitted: () => (dropped.bytes ? { ...dropped } : undefined),
  }
}

/** Formats a value: a string as it is, an object as JSON. */
export function formatValue(value: unknown): string {
  if (typeof value === 'string') return value
  if (value instanceof Error) return value.stack === undefined ? String(value) : formatError(value)
  if (typeof value === 'function') return `[function ${value.name}]`
  if (typeof value !== 'object' || value === null || value instanceof RegExp) return String(value)
  return asJson(value)
}

function asJson(value: object): string {
  const above: unknown[] = []
  try {
    return JSON.stringify(value, function (this: unknown, _key, item: unknown) {
      while (above.length && above.at(-1) !== this) above.pop()
      if (typeof item === 'object' && item !== null) {
        if (above.includes(item)) return '[circular]'
        above.push(item)
      }
      return plain(item)
    })
  } catch (error) {
    return `[not printable: ${String(error)}]`
  }
}

function plain(item: unknown): unknown {
  if (typeof item === 'bigint') return `${item}n`
  if (typeof item === 'function') return `[function ${item.name}]`
  if (item instanceof Error) return formatError(item)
  if (item instanceof RegExp) return String(item)
  if (item instanceof Map) return { map: [...item] }
  if (item instanceof Set) return { set: [...item] }
  if (ArrayBuffer.isView(item) && !(item instanceof DataView)) return [...(item as Uint8Array)]
  return item
}

const stackLine = /^\s*at (?:async )?(?:(.*) \()?[^\s()]*program\.js:(\d+):\d+\)?$/

/** Formats an error with the stack lines of the program, without those of the runner. */
export function formatError(error: unknown): string {
  if (!(error instanceof Error)) return `Uncaught ${formatValue(error)}`
  const lines = (error.stack ?? '').split('\n').flatMap((line) => {
    const [, name, at] = stackLine.exec(line) ?? []
    return at === undefined ? [] : [`    at ${name && !name.endsWith('default') ? `${name} ` : ''}line ${at}`]
  })
  const cause = error.cause === undefined ? '' : `\n  caused by ${formatError(error.cause)}`
  return [`${error.name}: ${error.message}`, ...lines.slice(0, 10)].join('\n') + cause
}
