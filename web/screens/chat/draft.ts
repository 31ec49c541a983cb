/** Keeps the message that is being written in each session, until it is sent or somebody signs out. */

import { signal } from '@preact/signals'

export type Draft = {
  readonly text: string
  readonly attachments: readonly Attachment[]
  readonly mode?: 'queue' | 'steer' | 'interrupt'
  readonly model?: string
  readonly effort?: string
}
export type Attachment =
  | { readonly type: 'image'; readonly url: string; readonly name: string }
  | { readonly type: 'file'; readonly name: string; readonly data: string }

const prefix = 'talaria.draft.'
export const suggestion = signal<string | undefined>(undefined)

/** Inserts words into the composer, which the person may change before they are sent. */
export const suggest = (text: string): void => void (suggestion.value = text)

export const readDraft = (id: string): string => localStorage.getItem(prefix + id) ?? ''
export function keepDraft(id: string, text: string): void {
  if (!text) return localStorage.removeItem(prefix + id)
  try {
    localStorage.setItem(prefix + id, text)
  } catch {
    // The storage is full. The text stays in the field.
  }
}

export function forgetDrafts(): void {
  for (const name of Object.keys(localStorage)) if (name.startsWith(prefix)) localStorage.removeItem(name)
}
