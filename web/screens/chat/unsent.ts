/** Keeps messages that the server has refused or that no run has taken, over a reload, until they are sent again or removed. */

import type { UserBlock } from '../../model/blocks.ts'

const storageKey = 'talaria.unsent'
type Kept = Readonly<Record<string, readonly UserBlock[]>>

function read(): Kept {
  try {
    return JSON.parse(localStorage.getItem(storageKey) ?? '{}') as Kept
  } catch {
    return {} // Something else has written there.
  }
}

export const listUnsent = (session: string): readonly UserBlock[] => read()[session] ?? []

export function keepUnsent(session: string, blocks: readonly UserBlock[]): void {
  const { [session]: before, ...others } = read()
  if (JSON.stringify(before ?? []) === JSON.stringify(blocks)) return
  try {
    localStorage.setItem(storageKey, JSON.stringify(blocks.length ? { ...others, [session]: blocks } : others))
  } catch {
    // Large pictures do not fit. The message stays in this tab.
  }
}

export const forgetUnsent = (): void => localStorage.removeItem(storageKey)
