/** Names the tab: how many things wait for the person, and the open session or screen. */

import { effect, signal } from '@preact/signals'
import { place } from '../parts/route.ts'
import { en } from '../words/en.ts'
import { t, type Word } from '../words/words.ts'
import { sessions, waitingCount } from './sessions/sessions.ts'

/** The last event of the open session while the tab is hidden. The title is all that such a tab shows. */
export const hiddenEvent = signal<'needsYou' | 'done' | undefined>(undefined)

const marks = { needsYou: '●', done: '✓' } as const

export function watchTitle(): () => void {
  const forget = () => document.hidden || void (hiddenEvent.value = undefined)
  document.addEventListener('visibilitychange', forget)
  const stop = effect(() => void (document.title = titleOf()))
  return () => {
    document.removeEventListener('visibilitychange', forget)
    stop()
  }
}

function titleOf(): string {
  if (hiddenEvent.value) return `${marks[hiddenEvent.value]} ${t(hiddenEvent.value)}`
  const { screen, id } = place.value
  const session = id ? sessions.value.find((one) => one.id === id)?.title : undefined
  const name = session ?? (screen === 'chat' ? '' : nameOf(screen))
  const count = waitingCount.value ? `(${waitingCount.value}) ` : ''
  return count + (name ? `${name} – Talaria` : 'Talaria')
}

/** An address that a person has typed may name no screen. */
const nameOf = (screen: string): string => (Object.hasOwn(en, screen) ? t(screen as Word) : '')
