/**
 * Reduces words of languages other than English to a base form, and guesses the language of a text by its function words.
 * The index stems English itself. Base forms are added to a text when it is indexed, and to each word of a query.
 */

import { countFunctionWords, type Language } from './function-words.ts'

/** Begins the base forms in the index, so that they match only each other: "listen" is no form of an English "list". */
const marker = 'zq'
const minStem = 3
const minWord = 5
/** The language is guessed from the beginning of a text. */
const guessChars = 2_000
const maxFormsPerText = 400

type Stem = (word: string) => string

const stripFirst = (word: string, endings: RegExp): string => {
  const stem = word.replace(endings, '')
  return stem.length < minStem ? word : stem
}

const stems: Readonly<Record<Exclude<Language, 'en'>, Stem>> = {
  de: (word) => {
    const isParticiple = word.length > 6 && /^ge.*(?:t|en)$/.test(word)
    const base = stripFirst(isParticiple ? word.slice(2) : word, /(?:ern|en|er|es|em|te|e|n)$/)
    return stripFirst(stripFirst(base, /s$/), /t$/)
  },
  fr: (word) => {
    const singular = stripFirst(word.replace(/aux$/, 'al'), /[sx]$/)
    return stripFirst(singular, /(?:ement|ation|euse|able|aient|ante|ant|ent|ait|ai|ive|ee|er|ez|ir|e|i)$/)
  },
  es: (word) => {
    const singular = stripFirst(word, /s$/)
    return stripFirst(
      singular,
      /(?:amente|mente|acione|acion|iendo|ieron|ando|aron|aban|aba|amo|emo|imo|ado|ada|ido|ida|ar|er|ir|a|o|e)$/,
    )
  },
  ru: (word) =>
    stripFirst(
      stripFirst(word.replaceAll('ё', 'е'), /(?:ся|сь)$/u),
      /(?:иями|ейте|ями|ами|иях|ого|его|ому|ему|ыми|ими|ешь|ишь|ете|ите|ала|ила|ыла|али|или|ыли|ях|ах|ую|юю|ая|яя|ое|ее|ые|ие|ый|ий|ой|ей|ов|ев|ем|им|ым|ом|их|ых|ам|ям|ия|ию|ии|ья|ью|ать|ить|еть|ал|ил|ел|ть|ла|ло|ли|ет|ит|ут|ют|ат|ят|[аеиоуыьюяй])$/u,
    ),
}

const latinLanguages = ['de', 'fr', 'es'] as const
const latinWord = /^[a-z]+$/
const cyrillicWord = /^[а-яё]+$/u
const wordPattern = /[\p{L}\p{M}]+/gu

const foldWord = (word: string): string => {
  const lower = word.toLowerCase()
  return cyrillicWord.test(lower) ? lower : lower.normalize('NFD').replace(/\p{M}/gu, '').replaceAll('ß', 'ss')
}

/** The base forms of a word in these languages, without a marker. */
function stemsOf(word: string, languages: readonly Language[]): readonly string[] {
  const folded = foldWord(word)
  if (folded.length < minWord) return cyrillicWord.test(folded) || latinWord.test(folded) ? [folded] : []
  if (cyrillicWord.test(folded)) return [stems.ru(folded)]
  if (!latinWord.test(folded)) return []
  return latinLanguages.filter((language) => languages.includes(language)).map((language) => stems[language](folded))
}

/** Returns the base forms of the words of a text, as words of the index. Empty for English and scripts without forms. */
export function renderBaseForms(text: string): string {
  const language = guessLanguage(text.slice(0, guessChars))
  const isCyrillic = /[а-яё]/iu.test(text)
  if (!isCyrillic && (language === undefined || language === 'en')) return ''
  const forms = new Set<string>()
  for (const [word] of text.matchAll(wordPattern)) {
    for (const stem of stemsOf(word, language ? [language] : [])) forms.add(marker + stem)
    if (forms.size >= maxFormsPerText) break
  }
  return [...forms].join(' ')
}

/** Returns the words of the index that a word of a query may be a form of. */
export const baseFormsOf = (word: string, query: string): readonly string[] => {
  const language = guessLanguage(query)
  if (language === 'en' && latinWord.test(foldWord(word))) return []
  const stemmed = stemsOf(word, language ? [language] : latinLanguages)
  return [...new Set(stemmed)].map((stem) => marker + stem)
}

/** The stem of a base form, to find it in the text itself. */
export const stemIn = (form: string): string => form.slice(marker.length)

/** The language with the most function words. Undefined when there are none, or when two have as many. */
function guessLanguage(text: string): Language | undefined {
  const counts = countFunctionWords([...text.matchAll(wordPattern)].map(([word]) => word))
  const [first, second] = [...counts].toSorted(([, one], [, other]) => other - one)
  return first && first[1] > (second?.[1] ?? 0) ? first[0] : undefined
}
