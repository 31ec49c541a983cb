/** What a program prints: the head and the tail are kept, and how much is missing between them is said. */

export type Output = {
  readonly print: (values: readonly unknown[]) => void
  /** What was printed since the last time. */
  readonly readNew: () => string
  readonly readAll: () => string
}

const HEAD = 0.4

export function createOutput(most: number): Output {
  const headMost = Math.floor(most * HEAD)
  const tailMost = most - headMost
  let head = ''
  let tail = ''
  let dropped = 0
  let told = 0
  return {
    print(values) {
      let text = `${values.map((value) => formatValue(value)).join(' ')}\n`
      if (head.length < headMost) {
        const taken = text.slice(0, headMost - head.length)
        head += taken
        text = text.slice(taken.length)
      }
      tail += text
      // Cut now and then, not with every line.
      if (tail.length > tailMost * 2) {
        dropped += tail.length - tailMost
        tail = tail.slice(-tailMost)
      }
    },
    readNew() {
      const from = told
      told = head.length
      return head.slice(from)
    },
    readAll() {
      const missing = dropped + Math.max(0, tail.length - tailMost)
      return missing ? `${head}\n[… ${missing} characters left out …]\n${tail.slice(-tailMost)}` : head + tail
    },
  }
}

/** Texts as they are, everything else as JSON where JSON can say it. */
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

const PLACE = /^\s*at (?:async )?(?:(.*) \()?[^\s()]*program\.js:(\d+):\d+\)?$/

/** Lines of the program only: where it went wrong inside of us helps nobody. */
export function formatError(error: unknown): string {
  if (!(error instanceof Error)) return `Uncaught ${formatValue(error)}`
  const lines = (error.stack ?? '').split('\n').flatMap((line) => {
    const [, name, at] = PLACE.exec(line) ?? []
    return at === undefined ? [] : [`    at ${name && !name.endsWith('default') ? `${name} ` : ''}line ${at}`]
  })
  const cause = error.cause === undefined ? '' : `\n  caused by ${formatError(error.cause)}`
  return [`${error.name}: ${error.message}`, ...lines.slice(0, 10)].join('\n') + cause
}
