/** Finds the command or the file that is written at the caret, and completes it. */

export type Trigger = {
  readonly kind: 'command' | 'file'
  readonly query: string
  /** The word begins here, with `/` or `@`. */
  readonly from: number
  readonly to: number
}

const blanks = [' ', '\n', '\t']

/** Commands are the first word of a message. Files are named in any. */
export function findTrigger(text: string, caret: number): Trigger | undefined {
  const from = caret && Math.max(...blanks.map((blank) => text.lastIndexOf(blank, caret - 1))) + 1
  const query = text.slice(from + 1, caret)
  if (from >= caret) return undefined
  if (text[from] === '@') return { kind: 'file', query: query.replace(/^file:"?/, ''), from, to: caret }
  return text[from] === '/' && from === 0 && !query.includes('/')
    ? { kind: 'command', query, from, to: caret }
    : undefined
}

export type Written = { readonly text: string; readonly caret: number }

/** Replaces the word by the chosen one, and a space after it. */
export function complete(text: string, { kind, from, to }: Trigger, chosen: string): Written {
  const word = kind === 'command' ? `/${chosen}` : refer(chosen)
  const rest = text.slice(to)
  const before = `${text.slice(0, from)}${word} `
  return { text: before + (rest.startsWith(' ') ? rest.slice(1) : rest), caret: before.length }
}

/** Replaces the word by a text, behind which the caret stands. */
export function replace(text: string, { from, to }: Trigger, chosen: string): Written {
  const before = text.slice(0, from) + chosen
  return { text: before + text.slice(to), caret: before.length }
}

/** Refers to a file: the agent reads it before it answers. */
export const refer = (path: string): string => (/\s/.test(path) ? `@file:"${path}"` : `@file:${path}`)

/** Names a file that the agent may read. */
export const mention = (path: string): string => (/\s/.test(path) ? `@"${path}"` : `@${path}`)

/** Inserts words, separated from those before and after them. */
export function insert(text: string, words: string, at: number): Written {
  const [before, after] = [text.slice(0, at), text.slice(at)]
  const head = before + (before && !/\s$/.test(before) ? ' ' : '') + words
  return { text: head + (after && !/^\s/.test(after) ? ' ' : '') + after, caret: head.length }
}
