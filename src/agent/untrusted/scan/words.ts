/**
 * Splits text into words for the rules of directives. Spellings that only hide a word are undone: letters of other
 * scripts that look the same, digits in place of letters, spaces between letters, accents.
 */

export type ScannedWord = {
  readonly text: string
  readonly line: number
  /** Counts the sentences and items of the text. A directive stands within one. */
  readonly sentence: number
  /** Whether a clause begins with this word: after a comma, a colon, a bracket or a quotation mark. */
  readonly startsClause: boolean
  /** Whether the word stands within quotation marks or backticks of its line. */
  readonly isQuoted: boolean
}

/** Letters of Cyrillic, Armenian and Greek, and Latin ones with a stroke, each with the plain letter it looks like. */
const lookAlikes = new Map(
  [...'аaеeоoрpсcуyхxіiјjѕsԁdһhոnӏlαaεeοoρpυuιiκkνvτtχxıiłlđdøo'].flatMap((sign, index, all) =>
    index % 2 ? [] : [[sign, all[index + 1] ?? sign] as const],
  ),
)
const digitLetters = new Map(
  [...'0o1i3e4a5s7t$s'].flatMap((sign, index, all) => (index % 2 ? [] : [[sign, all[index + 1] ?? sign] as const])),
)

/** Words, ends of sentences, and other marks. A dot within a name, as in `AGENTS.md`, ends nothing. */
const pieces = /[\p{L}\p{M}\p{N}@$_’']+|[.!?;](?=[\s"'”’)\]*_`]|$)|[。！？…؟।]|[,:，：、،؛"“”„«»‹›`()[\]{}<>|*#•·—–]/gu
const wordStart = /^[\p{L}\p{M}\p{N}@$_’']/u
const sentenceEnd = /^[.!?;。！？…؟।]/
const quotationMark = /^["“”„«»‹›`]/
const lineEnds = /\r\n?|[\u0085\u2028\u2029]/g
/** An empty line, an item, a heading or a row of a table. */
const newBlock = /^\s*(?:$|[-*+•#>|]|\d{1,3}[.)])/
/** Marks around a single word: `**ignore**`. */
const emphasis = /(\*{1,2}|_{1,2}|`)([\p{L}\p{N}'’-]{1,40})\1/gu
/** Letters with spaces, dots or dashes between them: `i g n o r e`. */
const spacedLetters = /(?<![\p{L}\p{N}])\p{L}(?:[ .\-_*]\p{L}(?![\p{L}\p{N}])){3,40}/gu
const plainWord = /^[a-z]+$/

export const listLines = (text: string): readonly string[] => text.replace(lineEnds, '\n').split('\n')

/**
 * Lists the words of lines without invisible characters, in Unicode's form NFKC. A line below a heading or an item may go on
 * with it, or begin something else: `beginsBelow` says how it is read.
 */
export function listWords(lines: readonly string[], { beginsBelow = false } = {}): readonly ScannedWord[] {
  const words: ScannedWord[] = []
  let sentence = 0
  let isBelowBlock = false
  for (const [index, line] of lines.entries()) {
    const isBlock = newBlock.test(line)
    if (isBlock) sentence++
    const plain = joinSpacedLetters(line.toLowerCase().replace(emphasis, '$2'))
    const startsClause = beginsBelow && isBelowBlock
    sentence = addWords(words, { line: plain, number: index + 1, sentence, startsClause })
    isBelowBlock = isBlock
  }
  return words
}

/** Returns the number of the sentence that the line ends in. */
function addWords(
  words: ScannedWord[],
  { line, number, sentence: first, startsClause: isClause }: NumberedLine,
): number {
  let sentence = first
  let isQuoted = false
  let startsClause = isClause
  for (const [piece] of line.matchAll(pieces)) {
    const text = isWord(piece) ? normaliseWord(piece) : ''
    if (text) {
      const isNew = words.at(-1)?.sentence !== sentence
      words.push({ text, line: number, sentence, startsClause: startsClause || isNew, isQuoted })
      startsClause = false
    } else {
      if (quotationMark.test(piece)) isQuoted = !isQuoted
      if (sentenceEnd.test(piece)) sentence++
      startsClause = true
    }
  }
  return sentence
}

/** Most pieces are plain words: the first test spares them the long pattern. */
const isWord = (piece: string): boolean => plainWord.test(piece) || wordStart.test(piece)

type NumberedLine = {
  readonly line: string
  readonly number: number
  readonly sentence: number
  readonly startsClause: boolean
}

const joinSpacedLetters = (line: string): string =>
  line.replace(spacedLetters, (letters) => letters.replace(/[ .\-_*]/g, ''))

function normaliseWord(word: string): string {
  if (plainWord.test(word)) return word
  let text = word
    .replaceAll('’', "'")
    .replace(/^['_$@]{1,20}/, '')
    .replace(/(?<!['_$@])['_$@]{1,20}$/, '')
  if (!/\p{Script=Latin}/u.test(text)) return text
  text = text.replace(/[\u0370-\u05ffıłđø]/g, (sign) => lookAlikes.get(sign) ?? sign)
  if (!/^\d/.test(text) || /^\d[a-z]/.test(text))
    text = text.replace(/[013457$](?=[a-z\d$]{0,20}[a-z])/g, (sign) => digitLetters.get(sign) ?? sign)
  // Accents of Latin letters are often left out. Marks of other scripts belong to their letters.
  return text.normalize('NFD').replace(/[\u0300-\u036f]/g, '')
}

/** The words as one text: a line for each sentence, and a comma where a clause begins. */
export type Sentences = {
  readonly text: string
  /** Returns the number of the word that stands at this place. */
  readonly wordAt: (at: number) => number
}

/** Renders the sentences that have one of the words; without them, no phrase can match. */
export function renderSentences(words: readonly ScannedWord[], needed: ReadonlySet<string>): Sentences {
  const starts: number[] = []
  const numbers: number[] = []
  const parts: string[] = []
  let length = 0
  for (const [first, end] of listSentences(words, needed))
    for (let index = first; index < end; index++) {
      const { text = '', startsClause } = words[index] ?? {}
      const lead = index === first ? '\n' : startsClause ? ' , ' : ' '
      starts.push(length + lead.length)
      numbers.push(index)
      parts.push(lead, text)
      length += lead.length + text.length
    }
  return { text: parts.join(''), wordAt: (at) => numbers[findLast(starts, at)] ?? 0 }
}

/** Yields the first word of each needed sentence, and the word after its last. */
function* listSentences(
  words: readonly ScannedWord[],
  needed: ReadonlySet<string>,
): Generator<readonly [number, number]> {
  let first = 0
  let isNeeded = false
  for (const [index, { text, sentence }] of words.entries()) {
    if (sentence !== words[first]?.sentence) {
      if (isNeeded) yield [first, index]
      first = index
      isNeeded = false
    }
    isNeeded ||= needed.has(text)
  }
  if (isNeeded) yield [first, words.length]
}

/** Returns the index of the last number that is not above the limit. */
function findLast(numbers: readonly number[], limit: number): number {
  let low = 0
  let high = numbers.length - 1
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if ((numbers[middle] ?? 0) <= limit) low = middle
    else high = middle - 1
  }
  return low
}
