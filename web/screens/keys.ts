/**
 * Keys of the whole page: `g` and a letter open a screen, Ctrl or ⌘ K the palette, `?` shows them all. Fields keep their
 * letters.
 */

import { signal } from '@preact/signals'
import { goTo } from '../parts/route.ts'
import { pressListKey } from './sessions/list-keys.ts'

export const screenKeys: Readonly<Record<string, string>> = {
  c: 'chat',
  i: 'inbox',
  l: 'sessions',
  r: 'projects',
  m: 'models',
  s: 'settings',
  u: 'usage',
  j: 'jobs',
  b: 'batches',
  e: 'evals',
  y: 'memory',
  k: 'skills',
  h: 'channels',
  t: 'tools',
  p: 'plugins',
  x: 'secrets',
  o: 'owner',
  a: 'account',
}

export const isPaletteOpen = signal(false)

const waitMs = 1_500
let goneAt = -Infinity

export function watchKeys(): () => void {
  const onKey = (event: KeyboardEvent) => {
    const isCommand = (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey
    if (isCommand && event.key === 'k' && !event.isComposing) {
      event.preventDefault()
      isPaletteOpen.value = !isPaletteOpen.value
    } else if (!event.ctrlKey && !event.metaKey && !event.altKey && !event.isComposing && !isField(event.target))
      press(event)
  }
  addEventListener('keydown', onKey)
  return () => removeEventListener('keydown', onKey)
}

function press(event: KeyboardEvent): void {
  const screen = event.timeStamp - goneAt < waitMs ? screenKeys[event.key] : undefined
  goneAt = event.key === 'g' ? event.timeStamp : -Infinity
  if (event.key === '?') goTo('keys')
  else if (screen) goTo(screen)
  else if (!pressListKey(event.key)) return
  event.preventDefault()
}

const isField = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && target.closest('input, textarea, select, dialog, [contenteditable]') !== null
