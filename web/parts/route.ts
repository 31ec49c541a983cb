/** Parses which screen the address names: `#/screen/id/part`. Fragments need no route of the server. */

import { computed, signal } from '@preact/signals'

/** A sign-in link is no place. */
const read = (): string => (location.hash.startsWith('#in=') ? '' : location.hash)
const hash = signal(read())
addEventListener('hashchange', () => void (hash.value = read()))

export type Place = { readonly screen: string; readonly id: string; readonly part: string }

export const place = computed((): Place => {
  const [screen = '', id = '', part = ''] = hash.value.replace(/^#\/?/, '').split('/').map(decode)
  return { screen: screen || 'chat', id, part }
})

export const addressOf = (screen: string, id = '', part = ''): string =>
  `#/${[screen, id, part].filter(Boolean).map(encodeURIComponent).join('/')}`

export function goTo(screen: string, id = '', part = ''): void {
  location.hash = addressOf(screen, id, part)
  hash.value = location.hash
}

/** Replaces the current entry of the history. */
export function replacePlace(screen: string, id = '', part = ''): void {
  history.replaceState(null, '', addressOf(screen, id, part))
  hash.value = location.hash
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    // An address that a person has typed.
    return text
  }
}
