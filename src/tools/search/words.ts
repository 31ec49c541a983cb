/** Splits names and texts of tools into words, and finds the words that mean the same. */

import { meanings, products } from './word-groups.ts'

const shortWords = new Set(
  `a about after all also am an and any are as at be been before being but by can could did do does doing done during each
  else ever every for from get gets had has have having he her here him his how i if im in into is it its ive just kind
  know let make may me might more most much must my need needs no not now of off on one only onto or other our out
  over own please put really right s should show so some someone something sort such take tell than that the their them
  then there these they thing things this those through to too under up us use used user using very via want wants was
  way we well were what when where whether which while who whose why will with within without would yet you your
  today tomorrow yesterday week month year now yet still since ago last next new old soon always never everyday many people
  person somebody someone anything everything nothing`
    .split(/\s+/)
    .filter(Boolean),
)

const stems = new Map<string, string>()
const maxStems = 50_000

/** Removes the common endings of English words. Equal stems are all that counts, not that they are words. */
function stem(word: string): string {
  const known = stems.get(word)
  if (known !== undefined) return known
  if (stems.size > maxStems) stems.clear()
  const found = cutEnding(word)
  stems.set(word, found)
  return found
}

/** The longest ending that leaves enough of the word is replaced. */
const endings: readonly (readonly [ending: RegExp, replacement: string, minChars: number])[] = [
  [/(?:ations?|ators?|ating|ated|ates?)$/, 'at', 6],
  [/(?:izations?|izing|ized|izes?|isations?|ising|ised|ises?)$/, 'iz', 5],
  [/(?:itions?)$/, 'it', 6],
  [/(?:ctions?)$/, 'ct', 5],
  [/(?:ssions?)$/, 'ss', 6],
  [/(?:ments?)$/, '', 7],
  [/(?:nesses|ness)$/, '', 6],
  [/(?:ities|ity)$/, '', 6],
  [/(?:ies|ied)$/, 'y', 5],
  [/(?:sses|sss?)$/, 'ss', 4],
  [/(?:[xz]es|[cs]hes)$/, '', 5],
  [/ings?$/, '', 6],
  [/(?:ers?|ors?)$/, '', 6],
  [/ed$/, '', 5],
  [/ly$/, '', 5],
  [/(?<![sui])s$/, '', 4],
]

/** Their stems would be those of other words. */
const whole = new Set(['plane', 'news', 'site', 'letter'])

function cutEnding(word: string): string {
  if (word.length < 4 || /\d/.test(word) || whole.has(word)) return word
  let cut = word
  for (const [ending, replacement, minChars] of endings) {
    if (cut.length < minChars || !ending.test(cut)) continue
    const kept = ending.source.startsWith('(?:[xz]') ? cut.replace(/es$/, '') : cut.replace(ending, replacement)
    if (kept.length >= 3) cut = kept
    break
  }
  // "planned" and "plan", "note" and "noted".
  return cut
    .replace(/([bdfgklmnprt])\1$/, '$1')
    .replace(/(?<=..)e$/, '')
    .replace(/(?<=..)y$/, 'i')
}

const isAscii = /^[\0-\x7f]*$/
const scripts = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]+/gu

/** The stems of a text in their order. Scripts without spaces give pairs of letters. */
export function listWords(text: string): readonly string[] {
  const spaced = text.replace(/([a-z0-9])([A-Z])/g, '$1 $2').replace(/([A-Z])([A-Z][a-z])/g, '$1 $2')
  if (isAscii.test(spaced)) return (spaced.toLowerCase().match(/[a-z0-9]+/g) ?? []).filter(isWord).map(stem)
  const plain = spaced
    .normalize('NFKD')
    .replace(/\p{Mn}/gu, '')
    .toLowerCase()
  const words = plain.replace(scripts, ' ').match(/[\p{L}\p{N}]+/gu) ?? []
  const pairs = (plain.match(scripts) ?? []).flatMap((run) =>
    run.length === 1 ? [run] : Array.from({ length: run.length - 1 }, (_, at) => run.slice(at, at + 2)),
  )
  return [...words.filter(isWord).map(stem), ...pairs]
}

/** Words of a request that say nothing about what is asked for. */
const requestPhrases =
  /\bhelp (?:me|us)\b|\b(?:would|'d) like\b|\blooking (?:for|to)\b|\bgoing to\b|\bdetails? (?:of|about|on)\b|\binformation (?:on|about)\b/gi

/** The stems of a question without its phrases of a request. */
export const listAskedWords = (question: string): readonly string[] => listWords(question.replace(requestPhrases, ' '))

const generalVerbs = new Set('find search look see check view display give provide help list'.split(' ').map(stem))

/** Verbs that many questions have, whatever they ask for. */
export const isGeneralVerb = (word: string): boolean => generalVerbs.has(word)

/** Single letters mean nothing by themselves. */
const isWord = (word: string): boolean => !shortWords.has(word) && (word.length > 1 || word > 'z')

/** Whether a text has letters of the Latin script, in which nearly all tools are described. */
export const hasLatin = (text: string): boolean => /\p{Script=Latin}{2,}/u.test(text)

const productWords: ReadonlyMap<string, readonly string[]> = new Map(
  products
    .trim()
    .split('\n')
    .map((line) => {
      const [product = '', ...words] = line.split(' ').map(stem)
      return [product, words]
    }),
)

/** The words that a product is known for. */
export const listProductWords = (word: string): readonly string[] => productWords.get(word) ?? []

/** By stem, the numbers of the lines that have it. */
const lines: ReadonlyMap<string, readonly number[]> = readLines()

function readLines(): ReadonlyMap<string, readonly number[]> {
  const found = new Map<string, number[]>()
  for (const [at, line] of meanings.trim().split('\n').entries())
    for (const word of new Set(line.split(' ').map(stem))) {
      const numbers = found.get(word)
      if (numbers) numbers.push(at)
      else found.set(word, [at])
    }
  return found
}

/** Names of the meanings of a stem. */
export const listMeanings = (word: string): readonly number[] => lines.get(word) ?? []
