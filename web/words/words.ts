/** Chooses the words of the page: English, or the language of the browser when there is a table of it. */

import { signal } from '@preact/signals'
import { en } from './en.ts'
import type { SettingWords } from './settings-en.ts'
import { languageKey, wishedLanguage } from './wished-language.ts'

export type Words = Readonly<Record<keyof typeof en, string>>
export type Word = keyof typeof en

const table = signal<Words>(en)
export const language = signal('en')

const tables: Readonly<Record<string, () => Promise<Words>>> = { de: async () => (await import('./de.ts')).de }

type Values = Readonly<Record<string, string | number>>

/** Replaces `{name}` by the value of that name. */
const fill = (text: string, values: Values): string =>
  text.replace(/\{(\w{1,20})\}/g, (_, name: string) => String(values[name] ?? ''))

export const t = (word: Word, values: Values = {}): string => fill(table.value[word], values)

/** The words of one screen, which are loaded with it, in all languages. */
export function wordsOf<Name extends string>(
  english: Readonly<Record<Name, string>>,
  german: Readonly<Record<NoInfer<Name>, string>>,
) {
  const read = (): Readonly<Record<Name, string>> => (language.value === 'de' ? german : english)
  return {
    say: (word: Name, values: Values = {}): string => fill(read()[word], values),
    /** The word `kind_name` for a name of the API. A name that is newer than the page is shown as it is. */
    nameOf: (kind: string, name: string): string => {
      const words: Readonly<Record<string, string>> = read()
      const word = `${kind}_${name.replaceAll('-', '_')}`
      return (Object.hasOwn(words, word) ? words[word] : undefined) ?? name
    },
  }
}

export async function loadWords(): Promise<void> {
  const name = wishedLanguage()
  const load = Object.hasOwn(tables, name) ? tables[name] : undefined
  // English words are better than no page.
  const loaded = await load?.().catch(() => undefined)
  table.value = loaded ?? en
  language.value = loaded ? name : 'en'
  document.documentElement.lang = language.value
}

/** The words of the settings, which only their screen needs. */
export const loadSettingWords = async (): Promise<SettingWords> =>
  language.value === 'de'
    ? (await import('./settings-de.ts')).settingsInGerman
    : (await import('./settings-en.ts')).settingsInEnglish

export function chooseLanguage(name: string): Promise<void> {
  if (name) localStorage.setItem(languageKey, name)
  else localStorage.removeItem(languageKey)
  return loadWords()
}
export const chosenLanguage = (): string => localStorage.getItem(languageKey) ?? ''
