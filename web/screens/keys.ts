/** Keys of the whole page: `g` and a letter open a screen, `?` shows them all. Fields keep their letters. */

import { goTo } from '../parts/route.ts'

export const screenKeys: Readonly<Record<string, string>> = {
  c: 'chat',
  i: 'inbox',
  m: 'models',
  s: 'settings',
  u: 'usage',
  j: 'jobs',
  y: 'memory',
  k: 'skills',
  h: 'channels',
}

const waitMs = 1_500
let goneAt = -Infinity

export function watchKeys(): () => void {
  const onKey = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || isField(event.target)) return
    if (event.key === '?') goTo('keys')
    const screen = event.timeStamp - goneAt < waitMs ? screenKeys[event.key] : undefined
    if (screen) goTo(screen)
    goneAt = event.key === 'g' ? event.timeStamp : -Infinity
  }
  addEventListener('keydown', onKey)
  return () => removeEventListener('keydown', onKey)
}

const isField = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && target.closest('input, textarea, select, dialog, [contenteditable]') !== null
