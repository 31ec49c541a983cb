/**
 * Parses messages that begin with a slash. `/name words` is a command. `//`, `/etc/hosts`, `/1` and every other text
 * whose name is not followed by a space or the end is an ordinary message.
 */

export type ParsedCommand = {
  /** In lower case, with `-` for `_`: some platforms allow no hyphens in the names of commands. */
  readonly name: string
  /** Everything behind the name, trimmed. */
  readonly text: string
  /** The bot that the command names behind an `@`, as groups write it. */
  readonly bot?: string
}

const maxNameChars = 64
const pattern = new RegExp(`^/([a-z][a-z0-9_-]{0,${maxNameChars - 1}})(?:@([A-Za-z0-9_]{1,64}))?(?=\\s|$)`, 'i')

/** Undefined for an ordinary message. */
export function parseCommand(message: string): ParsedCommand | undefined {
  const trimmed = message.trim()
  const [head, name, bot] = pattern.exec(trimmed) ?? []
  if (head === undefined || name === undefined) return undefined
  return {
    name: name.toLowerCase().replaceAll('_', '-'),
    text: trimmed.slice(head.length).trim(),
    ...(bot !== undefined && { bot }),
  }
}

/** Folders of the root directory. A sentence may begin with one: "/tmp is full". */
const rootFolders: ReadonlySet<string> = new Set(
  'bin boot dev etc home lib lib64 media mnt opt proc root run sbin srv sys tmp usr var workspace'.split(' '),
)

/** Whether an unknown name is more likely a path than a misspelled command. */
export const isPathName = (name: string): boolean => rootFolders.has(name)

/**
 * Splits the text behind a name into words. `"…"` and `'…'` keep spaces, and a backslash keeps the next character,
 * except between `'…'`. A quotation mark within a word or without an end is an ordinary character.
 */
export function splitWords(text: string): readonly string[] {
  const words: string[] = []
  let at = 0
  while (at < text.length) {
    if (/\s/.test(text[at] ?? '')) {
      at++
      continue
    }
    const quoted = readQuoted(text, at)
    const { word, end } = quoted ?? readPlain(text, at)
    words.push(word)
    at = end
  }
  return words
}

type CommandWord = { readonly word: string; readonly end: number }

/** Undefined without a closing mark that ends the word. */
function readQuoted(text: string, from: number): CommandWord | undefined {
  const mark = text[from]
  if (mark !== '"' && mark !== "'") return undefined
  let word = ''
  for (let at = from + 1; at < text.length; at++) {
    const letter = text[at] ?? ''
    if (letter === mark) return /^$|\s/.test(text[at + 1] ?? '') ? { word, end: at + 1 } : undefined
    if (letter === '\\' && mark === '"') at++
    word += text[at] ?? ''
  }
  return undefined
}

function readPlain(text: string, from: number): CommandWord {
  let word = ''
  let at = from
  for (; at < text.length && !/\s/.test(text[at] ?? ''); at++) {
    if (text[at] === '\\' && at + 1 < text.length) at++
    word += text[at] ?? ''
  }
  return { word, end: at }
}
