/** Keeps what is being written: of each session in this tab, and across reloads. */

import { signal } from '@preact/signals'

export type Draft = {
  readonly text: string
  readonly attachments: readonly Attachment[]
  readonly mode?: 'queue' | 'steer' | 'interrupt'
  readonly model?: string
}
export type Attachment =
  | { readonly type: 'image'; readonly url: string; readonly name: string }
  | { readonly type: 'file'; readonly name: string; readonly data: string }

const prefix = 'talaria.draft.'
export const suggestion = signal<string | undefined>(undefined)

/** Puts words into the composer, which the person may change before they are sent. */
export const suggest = (text: string): void => void (suggestion.value = text)

export const readDraft = (id: string): string => sessionStorage.getItem(prefix + id) ?? ''
export function keepDraft(id: string, text: string): void {
  if (text) sessionStorage.setItem(prefix + id, text)
  else sessionStorage.removeItem(prefix + id)
}
