/** Expands braces in the raw text of a word, which the shell does before any other expansion. */

const maxWords = 64
/** Each brace is searched for its end. */
const maxSearchedChars = 100_000

/** Returns the resulting words, or undefined when there are too many. */
export function expandBraces(text: string): readonly string[] | undefined {
  const expanded: string[] = []
  const pending = [text]
  let searched = 0
  while (pending.length > 0) {
    const word = pending.shift() ?? ''
    searched += (word.split('{').length - 1) * word.length
    if (searched > maxSearchedChars) return undefined
    const group = findFirstGroup(word)
    if (!group) expanded.push(word)
    else pending.unshift(...group.choices.map((choice) => word.slice(0, group.from) + choice + word.slice(group.to)))
    if (expanded.length + pending.length > maxWords) return undefined
  }
  return expanded
}

type BraceGroup = { readonly from: number; readonly to: number; readonly choices: readonly string[] }

function findFirstGroup(text: string): BraceGroup | undefined {
  for (let i = 0; i < text.length; i++) {
    const skipped = skipQuoted(text, i)
    if (skipped > i) i = skipped - 1
    else if (text[i] === '{') {
      const group = parseGroup(text, i)
      if (group) return group
    }
  }
  return undefined
}

/** Returns the position after the quotation, escape or expansion that begins here. */
function skipQuoted(text: string, from: number): number {
  const char = text[from]
  if (char === '\\') return from + 2
  if (char === "'" || char === '"' || char === '`') return skipToQuote(text, from + 1, char)
  if (char === '$' && text[from + 1] === '{') return skipToClose(text, from + 2, '{', '}')
  if (char === '$' && text[from + 1] === '(') return skipToClose(text, from + 2, '(', ')')
  return from
}

function skipToQuote(text: string, from: number, quote: string): number {
  for (let i = from; i < text.length; i++) {
    if (text[i] === '\\' && quote !== "'") i++
    else if (text[i] === quote) return i + 1
  }
  return text.length
}

function skipToClose(text: string, from: number, pending: string, close: string): number {
  let depth = 1
  for (let i = from; i < text.length; i++) {
    if (text[i] === '\\') i++
    else if (text[i] === pending) depth++
    else if (text[i] === close && --depth === 0) return i + 1
  }
  return text.length
}

function parseGroup(text: string, from: number): BraceGroup | undefined {
  let depth = 0
  let start = from + 1
  const choices: string[] = []
  for (let i = from + 1; i < text.length; i++) {
    const skipped = skipQuoted(text, i)
    if (skipped > i) i = skipped - 1
    else if (text[i] === '{') depth++
    else if (text[i] === ',' && depth === 0) {
      choices.push(text.slice(start, i))
      start = i + 1
    } else if (text[i] === '}' && depth-- === 0) {
      const last = text.slice(start, i)
      const all = choices.length > 0 ? [...choices, last] : expandRange(last)
      return all && { from, to: i + 1, choices: all }
    }
  }
  return undefined
}

function expandRange(text: string): readonly string[] | undefined {
  const [, first = '', last = '', step = '1'] =
    /^(-?\d{1,6}|[A-Za-z])\.\.(-?\d{1,6}|[A-Za-z])(?:\.\.(-?\d{1,4}))?$/.exec(text) ?? []
  if (first === '') return undefined
  const letters = /[A-Za-z]/.test(first)
  const number = (word: string): number => (letters ? word.charCodeAt(0) : Number(word))
  const [from, to] = [number(first), number(last)]
  const stride = Math.abs(Number(step)) || 1
  const count = Math.min(Math.floor(Math.abs(to - from) / stride), maxWords) + 1
  return Array.from({ length: count }, (_, i) => {
    const value = from + Math.sign(to - from) * stride * i
    return letters ? String.fromCharCode(value) : String(value)
  })
}
