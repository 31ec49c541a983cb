/** Chooses light, dark or high contrast. The choice is kept in the browser. */

import { signal } from '@preact/signals'

export const themes = ['system', 'light', 'dark', 'contrast'] as const
export type Theme = (typeof themes)[number]
const storageKey = 'talaria.theme'

const isTheme = (name: string | null): name is Theme => themes.some((theme) => theme === name)
const stored = localStorage.getItem(storageKey)
export const theme = signal<Theme>(isTheme(stored) ? stored : 'system')

export function applyTheme(name: Theme = theme.value): void {
  theme.value = name
  localStorage.setItem(storageKey, name)
  document.documentElement.dataset['theme'] = name
}
