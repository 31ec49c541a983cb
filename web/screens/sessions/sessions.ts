/** Keeps the list of sessions beside the chat, and how many things wait for the person. */

import { signal } from '@preact/signals'
import { api, get, type Page, path } from '../../api/client.ts'
import type { Approval, Question, Session } from '../../model/types.ts'

export const sessions = signal<readonly Session[]>([])
export const nextCursor = signal<string | null>(null)
export const isLoaded = signal(false)
export const query = signal('')
export const waitingCount = signal(0)

const pollMs = 20_000

export async function loadSessions(cursor?: string): Promise<void> {
  const parameters = new URLSearchParams({ limit: '50' })
  if (query.value) parameters.set('q', query.value)
  if (cursor) parameters.set('cursor', cursor)
  const page = await get<Page<Session>>(`/api/sessions?${parameters}`)
  sessions.value = cursor ? [...sessions.value, ...page.data] : page.data
  nextCursor.value = page.next_cursor
  isLoaded.value = true
}

/** Asked again while the tab is visible, because sessions begin in chats and jobs too. */
export function watchSessions(): () => void {
  const poll = () => {
    if (document.hidden) return
    Promise.all([nextCursor.value && sessions.value.length > 50 ? undefined : loadSessions(), countWaiting()]).catch(
      () => undefined, // The next poll tries again, and the open screen shows why it fails.
    )
  }
  poll()
  const timer = setInterval(poll, pollMs)
  document.addEventListener('visibilitychange', poll)
  return () => {
    clearInterval(timer)
    document.removeEventListener('visibilitychange', poll)
  }
}

export async function countWaiting(): Promise<void> {
  const [approvals, questions] = await Promise.all([
    get<Page<Approval>>('/api/approvals'),
    get<Page<Question>>('/api/questions'),
  ])
  waitingCount.value = approvals.data.length + questions.data.length
}

/** Shows a change before the list is asked for again. */
export function touchSession(id: string, status: Session['status']): void {
  const found = sessions.value.find((one) => one.id === id)
  if (found) replaceSession({ ...found, status })
  else void loadSessions().catch(() => undefined) // The next poll tries again.
  if (status !== 'idle') void countWaiting().catch(() => undefined) // As above.
}

const replaceSession = (changed: Session): void =>
  void (sessions.value = sessions.value.map((one) => (one.id === changed.id ? { ...one, ...changed } : one)))

export async function createSession(model?: string): Promise<Session> {
  const created = await api<Session>('POST', '/api/sessions', { body: model ? { model } : {} })
  sessions.value = [created, ...sessions.value]
  return created
}

export async function changeSession(id: string, change: object): Promise<Session> {
  const changed = await api<Session>('PATCH', path`/api/sessions/${id}`, { body: change })
  replaceSession(changed)
  return changed
}

export async function deleteSession(id: string): Promise<void> {
  await api('DELETE', path`/api/sessions/${id}`)
  sessions.value = sessions.value.filter((one) => one.id !== id)
}
