/** Loads the lexer after the page has been drawn, because the composer works without it. */

import { signal } from '@preact/signals'
import type { readMore } from './stream.ts'

export const reader = signal<typeof readMore | undefined>(undefined)

export async function loadReader(): Promise<void> {
  reader.value = (await import('./stream.ts')).readMore
}
