/** Deletes a temporary chat when another one is opened. A reload keeps it, and closing the tab leaves it to the server. */

import { api, path } from '../../api/client.ts'
import type { Session } from '../../model/types.ts'
import { temporarySource } from '../sessions/sessions.ts'

const storageKey = 'talaria.temporary'

export function keepTemporary({ id, source }: Session): void {
  if (source === temporarySource) sessionStorage.setItem(storageKey, id)
}

/** `id`: the session that is opened. */
export function leaveTemporary(id: string): void {
  const left = sessionStorage.getItem(storageKey)
  if (left === null || left === id) return
  sessionStorage.removeItem(storageKey)
  // Without a network the server deletes it after a day.
  api('DELETE', path`/api/sessions/${left}`).catch(() => undefined)
}
