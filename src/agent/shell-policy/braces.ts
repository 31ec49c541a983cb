/** Brace expansion, which the shell does on the raw text of a word before anything else. */

const MAX_WORDS = 64

/** The words that a raw word becomes; undefined when there are too many. */
export function expandBraces(text: string): readonly string[] | undefined {
  const done: string[] = []
  const open = [text]
  while (open.length > 0) {
    const word = open.shift() ?? ''
    const group = firstGroup(word)
    if (!group) done.push(word)
    else open.unshift(...group.choices.map((choice) => word.slice(0, group.from) + choice + word.slice(group.to)))
    if (done.length + open.length > MAX_WORDS) return undefined
  }
  return done
}

type Group = { readonly from: number; readonly to: number; readonly choices: readonly string[] }

function firstGroup(text: string): Group | undefined {
  for (let i = 0; i < text.length; i++) {
    const skipped = skipQuoted(text, i)
    if (skipped > i) i = skipped - 1
    else if (text[i] === '{') {
      const group = groupAt(text, i)
      if (group) return group
    }
  }
  return undefined
}

/** Behind the quotation, escape or expansion that begins here. */
function skipQuoted(text: string, from: number): number {
  const char = text[from]
  if (char === '\\') return from + 2
  if (char === "'" || char === '"' || char === '`') return closing(text, from + 1, char)
  if (char === '$' && text[from + 1] === '{') return matching(text, from + 2, '{', '}')
  if (char === '$' && text[from + 1] === '(') return matching(text, from + 2, '(', ')')
  return from
}

function closing(text: string, from: number, quote: string): number {
  for (let i = from; i < text.length; i++) {
    if (text[i] === '\\' && quote !== "'") i++
    else if (text[i] === quote) return i + 1
  }
  return text.length
}

function matching(text: string, from: number, open: string, close: string): number {
  let depth = 1
  for (let i = from; i < text.length; i++) {
    if (text[i] === '\\') i++
    else if (text[i] === open) depth++
    else if (text[i] === close && --depth === 0) return i + 1
  }
  return text.length
}

function groupAt(text: string, from: number): Group | undefined {
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
      const all = choices.length > 0 ? [...choices, last] : rangeOf(last)
      return all && { from, to: i + 1, choices: all }
    }
  }
  return undefined
}

function rangeOf(text: string): readonly string[] | undefined {
  const [, first = '', last = '', step = '1'] =
    /^(-?\d{1,6}|[A-Za-z])\.\.(-?\d{1,6}|[A-Za-z])(?:\.\.(-?\d{1,4}))?$/.exec(text) ?? []
  if (first === '') return undefined
  const letters = /[A-Za-z]/.test(first)
  const number = (word: string): number => (letters ? word.charCodeAt(0) : Number(word))
  const [from, to] = [number(first), number(last)]
  const stride = Math.abs(Number(step)) || 1
  const count = Math.min(Math.floor(Math.abs(to - from) / stride), MAX_WORDS) + 1
  return Array.from({ length: count }, (_, i) => {
    const value = from + Math.sign(to - from) * stride * i
    return letters ? String.fromCharCode(value) : String(value)
  })
}
