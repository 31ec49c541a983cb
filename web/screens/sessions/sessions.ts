/** Keeps the list of sessions beside the chat, and how many things wait for the person. */

import { signal } from '@preact/signals'
import { api, get, type Page, path } from '../../api/client.ts'
import { listen } from '../../api/listen.ts'
import type { Approval, Project, Question, Session } from '../../model/types.ts'
import { ask } from '../../parts/dialog.tsx'
import { goTo, place } from '../../parts/route.ts'
import { t } from '../../words/words.ts'

export const sessions = signal<readonly Session[]>([])
export const nextCursor = signal<string | null>(null)
export const isLoaded = signal(false)
export const query = signal('')
export const waitingCount = signal(0)
/** Those of which the key is a member. Empty until they are loaded, behind the list. */
export const projects = signal<readonly Project[]>([])
/** Whether events of the tenant arrive. */
export const isLive = signal(true)

export async function loadSessions(cursor?: string): Promise<void> {
  const parameters = new URLSearchParams({ limit: '50' })
  if (query.value) parameters.set('q', query.value)
  if (cursor) parameters.set('cursor', cursor)
  const page = await get<Page<Session>>(`/api/sessions?${parameters}`)
  sessions.value = cursor ? [...sessions.value, ...page.data] : page.data
  nextCursor.value = page.next_cursor
  isLoaded.value = true
}

type Listed = Pick<Session, 'id' | 'title' | 'status' | 'source' | 'updated_at'>
type TenantEvent =
  | ({ readonly type: 'session.changed' } & Listed)
  | { readonly type: 'session.removed'; readonly id: string }
  | { readonly type: 'run.ended' }
  | { readonly type: 'approval.request' | 'approval.responded' | 'question.request' | 'question.answered' }

/** Of chats that are in no list. */
export const temporarySource = 'temporary'

/** A hidden tab notes that its lists are old, and counts only what waits for the person. */
let isOld = false

const loadAll = (): Promise<unknown> => Promise.all([loadSessions(), countWaiting()])

function apply(event: TenantEvent): void {
  if (document.hidden) isOld = true
  if (isRequest(event)) countWaiting().catch(() => (isOld = true))
  else if (document.hidden) return
  else if (event.type === 'session.changed') showChanged(event)
  else if (event.type === 'session.removed') sessions.value = sessions.value.filter(({ id }) => id !== event.id)
}

/** They change the title, which a hidden tab shows too. */
const isRequest = ({ type }: TenantEvent): boolean => type.startsWith('approval.') || type.startsWith('question.')

function showChanged({ id, title, status, source, updated_at }: Listed): void {
  const changed = { id, title, status, source, updated_at }
  const known = sessions.value.find((one) => one.id === id)
  // A new one may not match the search, and has more fields.
  if (!known && source === temporarySource) return
  if (!known) loadSessions().catch(() => (isOld = true))
  else if (known.updated_at === updated_at) replaceSession({ ...known, ...changed })
  else sessions.value = [{ ...known, ...changed }, ...sessions.value.filter((one) => one.id !== id)]
}

/** Without a connection the lists come all the same. */
const connectMs = 1_000

/** Follows what changes in all sessions: they begin in chats and jobs too. */
export function watchSessions(): () => void {
  const reload = () => {
    clearTimeout(timer)
    isOld = document.hidden
    if (!isOld) loadAll().catch(() => (isOld = true))
  }
  const timer = setTimeout(reload, connectMs)
  const onVisible = () => isOld && reload()
  const listening = listen<TenantEvent>({
    url: '/api/events',
    onEvent: apply,
    // Changes before it, and while the connection was closed, are in the lists alone.
    onState: (state) => {
      isLive.value = state !== 'closed'
      if (state === 'open') reload()
    },
  })
  document.addEventListener('visibilitychange', onVisible)
  return () => {
    clearTimeout(timer)
    listening.close()
    document.removeEventListener('visibilitychange', onVisible)
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
}

const replaceSession = (changed: Session): void =>
  void (sessions.value = sessions.value.map((one) => (one.id === changed.id ? { ...one, ...changed } : one)))

export type NewSession = {
  readonly model?: string | undefined
  readonly key?: string | undefined
  readonly project?: string | undefined
  readonly isTemporary?: boolean
}

/** With the same key the same session comes again. */
export async function createSession({ model, key, project, isTemporary = false }: NewSession): Promise<Session> {
  const headers = key === undefined ? {} : { 'idempotency-key': key }
  const created = await api<Session>('POST', '/api/sessions', {
    body: {
      source: 'web',
      ...(model && { model }),
      ...(isTemporary ? { temporary: true } : project && { project_id: project }),
    },
    headers,
  })
  if (!isTemporary) sessions.value = [created, ...sessions.value.filter(({ id }) => id !== created.id)]
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

type Named = Pick<Session, 'id' | 'title'>

export async function confirmDelete({ id, title }: Named): Promise<void> {
  const text = t('deleteSession', { title: title ?? t('untitled') })
  if ((await ask({ title: t('delete'), text, action: t('delete'), isDangerous: true })) === undefined) return
  await deleteSession(id)
  if (place.value.id === id) goTo('chat')
}

/** Comes from a server that may be older than the page. */
export const describeFacets = ({ summary, tags, message_count: count }: Partial<Session>): string =>
  [summary, count ? t('messageCount', { count }) : '', tags?.map((tag) => `#${tag}`).join(' ')]
    .filter(Boolean)
    .join('\n')

/** Tags are separated by commas, also those of other scripts. */
export async function editTags({ id, tags = [] }: Pick<Session, 'id' | 'tags'>): Promise<void> {
  const field = tags.join(', ')
  const text = await ask({ title: t('editTags'), text: t('tagsHint'), action: t('save'), field })
  if (text === undefined) return
  const changed = text.split(/[,，、]/u).map((tag) => tag.trim())
  await changeSession(id, { tags: changed.filter(Boolean) })
}

export async function renameSession({ id, title }: Named): Promise<void> {
  const name = await ask({ title: t('rename'), action: t('save'), field: title ?? '' })
  if (name !== undefined) await changeSession(id, { title: name.trim() || null })
}
