/**
 * Finds words and addresses in what a turn has read. Words of the person and of public texts carry nothing private, and
 * neither does an address that stands somewhere word for word.
 */

import { isPublic, type Marks, noMarks } from '#agent/core/marks.ts'
import { type Message, textIn } from '#agent/core/message.ts'
import { marksOfMessage } from '#agent/untrusted/result-marks.ts'
import { typedIn } from '#agent/untrusted/typed-text.ts'
import { openTypedTimes } from './typed-times.ts'

export type KnownTexts = {
  /** The person has typed the address, or a host with nothing behind it. */
  readonly hasTyped: (url: URL) => boolean
  /** The person has typed the text in one piece, or the date or time that it is in another form. */
  readonly hasTypedText: (text: string) => boolean
  /** A result of a tool contains the address, whoever composed it. */
  readonly hasShown: (url: URL) => boolean
  /** A text that was not written with foreign and private data in sight contains the address. */
  readonly hasRead: (url: URL) => boolean
  /** The words are those of the person, of public texts in few pieces, and those of every search. */
  readonly isPublicQuery: (query: string) => boolean
}

/** A longer beginning of each text is not looked at. */
const maxTextChars = 400_000
/** A query of more pieces could spell something out. */
const maxPieces = 3
const maxPublicWords = 12
const maxQueryWords = 40

export function collectTexts(messages: readonly Message[]): KnownTexts {
  const typed = messages.map(typedIn).filter(Boolean).join('\n')
  const [shown, own] = [isPublic, isOwn].map((isWanted) =>
    messages
      .filter((message) => isWanted(marksOfRead(message)))
      .map((message) => textIn(message).slice(0, maxTextChars))
      .join('\n'),
  ) as [string, string]
  const words = new Set(splitWords(typed))
  const hasTypedTime = openTypedTimes(typed)
  let results: string | undefined
  let paddedShown: string | undefined
  const pieces = () => (paddedShown ??= ` ${splitWords(shown).join(' ')} `)
  return {
    hasTyped: (url) => hasAddress(typed, url),
    hasTypedText: (text) =>
      text === '' || (text.trim() !== '' && hasWhole(typed, text.trim(), false)) || hasTypedTime(text),
    hasShown: (url) => hasAddress((results ??= joinResults(messages)), url),
    hasRead: (url) => hasAddress(shown, url) || hasAddress(own, url),
    isPublicQuery: (query) => isMadeOf(splitWords(query), words, pieces),
  }
}

const joinResults = (messages: readonly Message[]): string =>
  messages
    .filter(({ role }) => role === 'tool')
    .map((message) => textIn(message).slice(0, maxTextChars))
    .join('\n')

/**
 * Of results, of what another model has written for this one, and of messages with words of others. What goes along with a
 * message is not in its text. None: the text is not read, but typed or written here.
 */
function marksOfRead(message: Message): Marks {
  if (message.role === 'tool') return marksOfMessage(message)
  if (message.role !== 'user') return noMarks
  if (message.source === 'subagent' || message.source === 'job') return marksOfMessage(message)
  return message.marks?.isForeign ? message.marks : noMarks
}

/** Private text that nobody outside could have dictated: it was written before anything foreign was read. */
const isOwn = ({ isForeign, isPrivate }: ReturnType<typeof marksOfMessage>): boolean =>
  isPrivate === true && isForeign !== true

// --- words

/** Words that say nothing by themselves. */
const commonWords: ReadonlySet<string> = new Set(
  `a about after all an and any are as at be been before best better between buy by can cheap compare comparison cost
  current date difference do docs documentation does download error example examples explained for from get guide has have
  help how i if in info information install into is it its latest like list long make meaning more most my near new news
  next not now of official on online open or other our out overview page price prices reference release report review
  reviews search show site should some source stats statistics status summary than that the their them then there these
  they this time to today tutorial under until up update use used using versus vs was we were what when where which who
  why will wiki wikipedia with without year you your
  aber als am an auf aus bei das dem den der des die ein eine einen einer es für im ist mit nach nicht oder über um und
  von vom vor was wie wo zu zum zur de des du en et la le les pour sur un une el los las y o para por con del`
    .split(/\s+/)
    .filter(Boolean),
)

/** Signs of scripts without blanks are words of their own. */
const wordPattern = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]|[\p{L}\p{N}\p{M}]+/gu

const splitWords = (text: string): readonly string[] => text.normalize('NFKC').toLowerCase().match(wordPattern) ?? []

function isMadeOf(query: readonly string[], typed: ReadonlySet<string>, pieces: () => string): boolean {
  if (query.length > maxQueryWords) return false
  let [used, words, at] = [0, 0, 0]
  while (at < query.length) {
    const word = query[at] ?? ''
    if (commonWords.has(word) || hasForm(typed, word)) {
      at++
      continue
    }
    const length = longestPiece(query.slice(at), pieces())
    if (length === 0) return false
    used++
    words += length
    at += length
  }
  return used <= maxPieces && words <= maxPublicWords
}

/** The singular and the plural are one word. Signs of scripts without blanks are too few to be words of somebody. */
const hasForm = (typed: ReadonlySet<string>, word: string): boolean =>
  typed.has(word) || typed.has(`${word}s`) || (word.endsWith('s') && typed.has(word.slice(0, -1)))

/** How many of the words stand next to each other in the text, in this order. */
function longestPiece(words: readonly string[], padded: string): number {
  let length = 0
  while (length < words.length && padded.includes(` ${words.slice(0, length + 1).join(' ')} `)) length++
  return length
}

// --- addresses

function hasAddress(text: string, url: URL): boolean {
  if (url.username || url.password || !text) return false
  if (isBare(url)) return hasWhole(text, url.host, true)
  return formsOf(url).some((form) => hasWhole(text, form, false))
}

/** Nothing but a host can hold what somebody would want to send. */
const isBare = ({ pathname, search, hash }: URL): boolean => pathname === '/' && !search && !hash

function formsOf(url: URL): readonly string[] {
  const rest = `${url.host}${url.pathname}${url.search}`
  const short = rest.endsWith('/') ? rest.slice(0, -1) : `${rest}/`
  // Programs of a page read the fragment.
  const forms = url.hash ? [`${rest}${url.hash}`] : [rest, short]
  // The text may have it with other escapes.
  return [...new Set([...forms, ...forms.map(decode), ...forms.map((form) => form.replaceAll('&', '&amp;'))])]
}

function decode(text: string): string {
  try {
    return decodeURI(text)
  } catch {
    return text
  }
}

/** Whether the text has the form, and what stands around it does not belong to the same address. */
function hasWhole(text: string, form: string, isHost: boolean): boolean {
  for (let at = text.indexOf(form); at >= 0; at = text.indexOf(form, at + 1)) {
    const before = text.slice(Math.max(0, at - 1), at)
    const after = text.slice(at + form.length, at + form.length + 2)
    const ends = isHost ? !/^(?:[\w@-]|\.\w|:\d)/.test(after) : !/^(?:[\w/?#&=%+~$*@-]|[.,;:!'][\w/])/.test(after)
    if (ends && !/[\w.@%-]/.test(before)) return true
  }
  return false
}
