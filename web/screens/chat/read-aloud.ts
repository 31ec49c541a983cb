/** Reads an answer aloud with a voice of the browser. One at a time; a second press stops. */

import { signal } from '@preact/signals'
import { splitSentences, toPlainText } from '../../model/plain-text.ts'
import { language } from '../../words/words.ts'

/** The key of the answer that is being read. */
export const isReading = signal<string | undefined>(undefined)

export const canReadAloud = 'speechSynthesis' in globalThis

export function readAloud(key: string, markdown: string): void {
  const wasRead = isReading.value
  stopReading()
  if (wasRead === key) return
  const parts = splitSentences(toPlainText(markdown))
  isReading.value = parts.length ? key : undefined
  for (const [at, part] of parts.entries()) {
    const said = new SpeechSynthesisUtterance(part)
    said.lang = language.value
    const isLast = at === parts.length - 1
    const end = () => void (isReading.value === key && (isReading.value = undefined))
    if (isLast) said.addEventListener('end', end)
    said.addEventListener('error', end)
    speechSynthesis.speak(said)
  }
}

export function stopReading(): void {
  if (!canReadAloud) return
  isReading.value = undefined
  speechSynthesis.cancel()
}
