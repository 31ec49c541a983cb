/** Finds directives in the words of a text: phrases in English and some others, cancelled instructions in twenty languages. */

import type { FindingKind } from './finding.ts'
import { type Language, languages } from './languages.ts'
import { phrases, phraseWords } from './phrases.ts'
import { renderSentences, type Word } from './words.ts'

export type WordRange = { readonly kind: FindingKind; readonly first: number; readonly last: number }

const negation =
  /(?:^|[\s,])(?:not|never|don't|dont|doesn't|didn't|won't|can't|cannot|mustn't|shouldn't|avoid|without|against|refuse to|nor)(?: (?:ever|just|simply|blindly|silently|accidentally|to|to ever))? ?,? ?$/

export function findPhrases(words: readonly Word[]): readonly WordRange[] {
  const { text, wordAt } = renderSentences(words, phraseWords)
  const found: WordRange[] = []
  for (const { kind, pattern, canBeNegated } of phrases)
    for (const { 0: match, index } of text.matchAll(pattern)) {
      if (canBeNegated && negation.test(text.slice(Math.max(0, index - 30), index))) continue
      found.push({ kind, first: wordAt(index), last: wordAt(index + match.length - 1) })
    }
  return found
}

type Role = 'verb' | 'earlier' | 'instructions' | 'negation'
type Meaning = { readonly language: Language; readonly role: Role }

const meanings = new Map<string, Meaning[]>()
for (const language of languages) {
  const roles = { verb: language.verbs, earlier: language.earlier, instructions: language.instructions } as const
  for (const [role, list] of Object.entries(roles) as [Role, readonly string[]][])
    for (const word of list) meanings.set(word, [...(meanings.get(word) ?? []), { language, role }])
}

/** A directive has its object within this many words. */
const reach = 6

/** Finds verbs of cancelling with `earlier` and `instructions` near them, in one sentence and one language. */
export function findCancellations(words: readonly Word[]): readonly WordRange[] {
  const found: WordRange[] = []
  for (const [at, { text }] of words.entries())
    for (const { language, role } of meanings.get(text) ?? []) {
      if (role !== 'verb') continue
      const range = findObject(words, at, language)
      if (range && !isNegated(words, at, language)) found.push({ kind: 'instruction-override', ...range })
    }
  return found
}

function findObject(words: readonly Word[], at: number, language: Language) {
  const sentence = words[at]?.sentence
  const isHere = (index: number) => words[index]?.sentence === sentence
  const find = (role: Role, step: 1 | -1) => {
    for (let index = at + step; Math.abs(index - at) <= reach && isHere(index); index += step)
      if (meanings.get(words[index]?.text ?? '')?.some((one) => one.language === language && one.role === role))
        return index
    return undefined
  }
  for (const step of language.verbLast ? ([1, -1] as const) : ([1] as const)) {
    const earlier = find('earlier', step)
    const instructions = find('instructions', step)
    if (earlier !== undefined && instructions !== undefined && Math.abs(earlier - instructions) <= 3)
      return { first: Math.min(at, earlier, instructions), last: Math.max(at, earlier, instructions) }
  }
  return undefined
}

function isNegated(words: readonly Word[], at: number, { negations }: Language): boolean {
  // French joins the negation: `n'oublie pas`.
  if (words[at]?.text.startsWith("n'")) return true
  return [-2, -1, 1, 2].some((offset) => {
    const word = words[at + offset]
    return word !== undefined && word.sentence === words[at]?.sentence && negations.includes(word.text)
  })
}
