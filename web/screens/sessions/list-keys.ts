/** Keys of lists of sessions: `j` and `k` move, `e` archives, `#` deletes. They act on the entry that has the focus. */

import { can } from '../../api/me.ts'
import { showError } from '../../parts/toast.ts'
import { changeSession, confirmDelete } from './sessions.ts'

/** The list of the open screen comes before the one beside the chat. */
const listEntries = (): readonly HTMLElement[] => {
  const inMain = document.querySelectorAll<HTMLElement>('main [data-session]')
  return [...(inMain.length ? inMain : document.querySelectorAll<HTMLElement>('.sessions [data-session]'))]
}

/** Returns whether the key was used. */
export function pressListKey(key: string): boolean {
  const entries = listEntries()
  const at = entries.findIndex((one) => one === document.activeElement)
  if (key === 'j') return moveFocus(entries, at + 1)
  if (key === 'k') return moveFocus(entries, at < 0 ? Infinity : at - 1)
  const id = entries[at]?.dataset['session']
  if (id === undefined || !can('write') || !['e', '#'].includes(key)) return false
  const title = entries[at]?.innerText ?? null
  const act = key === 'e' ? changeSession(id, { archived: true }) : confirmDelete({ id, title })
  act.catch(showError)
  return true
}

function moveFocus(entries: readonly HTMLElement[], to: number): boolean {
  entries[Math.min(Math.max(to, 0), entries.length - 1)]?.focus()
  return entries.length > 0
}
