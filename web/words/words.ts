/** Chooses the words of the page: English, or the language of the browser when there is a table of it. */

import { signal } from '@preact/signals'
import { en } from './en.ts'
import type { SettingWords } from './settings-en.ts'

export type Words = Readonly<Record<keyof typeof en, string>>
export type Word = keyof typeof en

const table = signal<Words>(en)
export const language = signal('en')

const tables: Readonly<Record<string, () => Promise<Words>>> = { de: async () => (await import('./de.ts')).de }
const storageKey = 'talaria.language'

/** Replaces `{name}` by the value of that name. */
export const t = (word: Word, values: Readonly<Record<string, string | number>> = {}): string =>
  table.value[word].replace(/\{(\w{1,20})\}/g, (_, name: string) => String(values[name] ?? ''))

export async function loadWords(): Promise<void> {
  const wished = localStorage.getItem(storageKey) ?? navigator.language
  const [name = 'en'] = wished.toLowerCase().split('-')
  const load = Object.hasOwn(tables, name) ? tables[name] : undefined
  table.value = load ? await load() : en
  language.value = load ? name : 'en'
  document.documentElement.lang = language.value
}

/** The words of the settings, which only their screen needs. */
export const loadSettingWords = async (): Promise<SettingWords> =>
  language.value === 'de'
    ? (await import('./settings-de.ts')).settingsInGerman
    : (await import('./settings-en.ts')).settingsInEnglish

export function chooseLanguage(name: string): Promise<void> {
  if (name) localStorage.setItem(storageKey, name)
  else localStorage.removeItem(storageKey)
  return loadWords()
}
export const chosenLanguage = (): string => localStorage.getItem(storageKey) ?? ''
