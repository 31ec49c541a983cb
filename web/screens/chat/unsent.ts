/** Keeps messages that the server has refused or that no run has taken, over a reload, until they are sent again or removed. */

import type { UserBlock } from '../../model/blocks.ts'

const storageKey = 'talaria.unsent'
type Kept = Readonly<Record<string, readonly UserBlock[]>>

/** As this tab has last seen it: while an answer streams it is compared for every frame. */
let known: Kept = {}

function read(): Kept {
  try {
    return JSON.parse(localStorage.getItem(storageKey) ?? '{}') as Kept
  } catch {
    return {} // Something else has written there.
  }
}

export function listUnsent(session: string): readonly UserBlock[] {
  known = read()
  return known[session] ?? []
}

export function keepUnsent(session: string, blocks: readonly UserBlock[]): void {
  const before = known[session] ?? []
  if (before.length === blocks.length && before.every((block, at) => block === blocks[at])) return
  const { [session]: _, ...others } = read()
  known = blocks.length ? { ...others, [session]: blocks } : others
  try {
    localStorage.setItem(storageKey, JSON.stringify(known))
  } catch {
    // Large pictures do not fit. The message stays in this tab.
  }
}

export function forgetUnsent(): void {
  known = {}
  localStorage.removeItem(storageKey)
}
