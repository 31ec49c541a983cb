/** Keeps errors and confirmations that are shown, and the sentence for screen readers. */

import { signal } from '@preact/signals'
import { ApiError } from '../api/client.ts'
import { language, t } from '../words/words.ts'

type Action = { readonly label: string; readonly run: () => void }
type Toast = { readonly id: number; readonly text: string; readonly isError: boolean; readonly action?: Action }
export const toasts = signal<readonly Toast[]>([])
export const spoken = signal('')
let count = 0
const shownMs = 6_000

export const dismiss = (id: number): void => void (toasts.value = toasts.value.filter((one) => one.id !== id))

/** Errors belong to the screen on which they happened. */
export const dismissErrors = (): void => void (toasts.value = toasts.value.filter(({ isError }) => !isError))

function show(text: string, isError: boolean, action?: Action): void {
  const id = ++count
  // A screen that lacks three parts says it once.
  const others = toasts.value.filter((one) => !isError || one.text !== text)
  toasts.value = [...others.slice(-3), { id, text, isError, ...(action && { action }) }]
  if (!isError) setTimeout(dismiss, shownMs, id)
}

export const showDone = (text: string): void => show(text, false)

/** Stays until it is closed. */
export const offer = (text: string, action: Action): void =>
  void (toasts.value = [...toasts.value.slice(-3), { id: ++count, text, isError: false, action }])

export function showError(error: unknown): void {
  if (error instanceof Error && error.name === 'AbortError') return
  if (isMissingPart(error)) show(explain(error), true, reloading())
  else if (error instanceof ApiError) void loadErrorWords().then(() => show(explain(error), true))
  else show(explain(error), true)
}

/**
 * Whether a file of the page did not come: after a new version its name is gone. Browsers have no name for it but their
 * sentence, and ask for it only once.
 */
export const isMissingPart = (error: unknown): boolean =>
  error instanceof TypeError && /imported module|module script/i.test(error.message)

export const reloading = (): Action => ({ label: t('reload'), run: () => location.reload() })

type ErrorWords = {
  readonly explainError: (error: ApiError, language: string) => string
  readonly explainFailure: (notice: string, language: string) => string
  readonly explainReason: (reason: string, language: string) => string | undefined
}
const errorWords = signal<ErrorWords | undefined>(undefined)

/** Without a network the server's own words are better than none. */
const asSaid: ErrorWords = {
  explainError: ({ message }) => message,
  explainFailure: (text) => text,
  explainReason: (text) => text,
}
const loadErrorWords = async (): Promise<ErrorWords> =>
  (errorWords.value ??= await import('../words/errors.ts').catch(() => asSaid))

/** Translates what the API says to its clients into the words of the page. Empty for a moment while these are loaded. */
export function explain(error: unknown): string {
  if (isMissingPart(error)) return t('missingPart')
  if (!(error instanceof ApiError)) return error instanceof Error ? error.message : String(error)
  if (error.code === 'offline') return t('offline')
  if (!errorWords.value) void loadErrorWords()
  return errorWords.value?.explainError(error, language.value) ?? ''
}

/** The same for a text that is built once. */
export async function explainNow(error: unknown): Promise<string> {
  await loadErrorWords()
  return explain(error)
}

/** Explains why a run has failed in the words of the page. */
export function explainFailure(notice: string): string {
  if (!errorWords.value) void loadErrorWords()
  return errorWords.value?.explainFailure(notice, language.value) ?? ''
}

/** Explains why a call waits for an approval. Undefined: its own words are all that there is. */
export function explainReason(reason: string): string | undefined {
  if (!errorWords.value) void loadErrorWords()
  return errorWords.value?.explainReason(reason, language.value)
}

/** Announces a sentence politely to screen readers. */
export const say = (text: string): void => void (spoken.value = text)
