/** Keeps errors and confirmations that are shown, and the sentence for screen readers. */

import { signal } from '@preact/signals'
import { ApiError } from '../api/client.ts'
import { en } from '../words/en.ts'
import { t, type Word } from '../words/words.ts'

type Action = { readonly label: string; readonly run: () => void }
type Toast = { readonly id: number; readonly text: string; readonly isError: boolean; readonly action?: Action }
export const toasts = signal<readonly Toast[]>([])
export const spoken = signal('')
let count = 0
const shownMs = 6_000

export const dismiss = (id: number): void => void (toasts.value = toasts.value.filter((one) => one.id !== id))

/** Errors belong to the screen on which they happened. */
export const dismissErrors = (): void => void (toasts.value = toasts.value.filter(({ isError }) => !isError))

function show(text: string, isError: boolean): void {
  const id = ++count
  toasts.value = [...toasts.value.slice(-3), { id, text, isError }]
  if (!isError) setTimeout(dismiss, shownMs, id)
}

export const showDone = (text: string): void => show(text, false)

/** Stays until it is closed. */
export const offer = (text: string, action: Action): void =>
  void (toasts.value = [...toasts.value.slice(-3), { id: ++count, text, isError: false, action }])

export function showError(error: unknown): void {
  if (error instanceof Error && error.name === 'AbortError') return
  show(explain(error), true)
}

/** Puts what the API says to its clients about keys and requests into the words of the page. */
export function explain(error: unknown): string {
  if (!(error instanceof ApiError)) return error instanceof Error ? error.message : String(error)
  if (error.code === 'offline') return t('offline')
  const word = `why_${error.code}`
  const text = Object.hasOwn(en, word) ? t(word as Word) : error.message
  return error.param ? `${text} (${error.param})` : text
}

/** Says a sentence politely to screen readers. */
export const say = (text: string): void => void (spoken.value = text)
