/** Loads the reader of Markdown after the page has been drawn, because the composer works without it. */

import { signal } from '@preact/signals'
import type { FunctionComponent } from 'preact'
import { loadLateStyle } from '../parts/late-style.ts'

export const reader = signal<FunctionComponent<{ readonly text: string }> | undefined>(undefined)

export async function loadReader(): Promise<void> {
  const [{ Growing }] = await Promise.all([import('./growing.tsx'), loadLateStyle()])
  reader.value = Growing
}
