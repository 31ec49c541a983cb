/** Keeps the open session: loads its history, follows its events, and sends what the person does. */

import { signal } from '@preact/signals'
import { api, get, type Page, path } from '../../api/client.ts'
import { type Connection, listen, type Listening } from '../../api/listen.ts'
import {
  addMessages,
  addSent,
  confirmSent,
  dropBlock,
  emptyTimeline,
  failSent,
  reduce,
  type Timeline,
} from '../../model/timeline.ts'
import type { Approval, Message, Question, Session, SessionEvent } from '../../model/types.ts'
import { t } from '../../words/words.ts'
import { say, showError } from '../../parts/toast.ts'
import { suggest } from './draft.ts'
import { touchSession } from '../sessions/sessions.ts'

export const session = signal<Session | undefined>(undefined)
export const timeline = signal<Timeline>(emptyTimeline)
export const connection = signal<Connection>('connecting')
export const loadError = signal<unknown>(undefined)

const pageSize = 50
let listening: Listening | undefined
let openId = ''
/** Events wait for the next frame, or until the tab is visible: a hidden one draws nothing. */
let pending: SessionEvent[] = []
let frame = 0

export function closeSession(): void {
  openId = ''
  listening?.close()
  listening = undefined
  pending = []
  session.value = undefined
  timeline.value = emptyTimeline
  loadError.value = undefined
}

export async function openSession(id: string): Promise<void> {
  if (openId === id) return
  closeSession()
  openId = id
  try {
    const [found, page] = await Promise.all([get<Session>(path`/api/sessions/${id}`), loadPage(id)])
    if (openId !== id) return
    session.value = found
    timeline.value = {
      ...addMessages(timeline.value, page.data),
      older: page.next_cursor,
      run: found.run?.run_id,
      queued: (found.queued ?? []).map(({ run_id: runId, input = '' }) => ({ runId, text: input })),
    }
    follow(id, found)
    if (found.status === 'waiting') await loadPending(id)
  } catch (error) {
    if (openId === id) loadError.value = error
  }
}

const loadPage = (id: string, cursor?: string): Promise<Page<Message>> =>
  get(`${path`/api/sessions/${id}/messages`}?limit=${pageSize}${cursor ? `&cursor=${encodeURIComponent(cursor)}` : ''}`)

/** The words of an answer that has begun come again as events, from its first one. */
function follow(id: string, found: Session): void {
  listening = listen<SessionEvent>({
    url: path`/api/sessions/${id}/events`,
    after: found.event_seq,
    onEvent: receive,
    onState: (state) => void (connection.value = state),
  })
}

async function loadPending(id: string): Promise<void> {
  const [approvals, questions] = await Promise.all([
    get<Page<Approval>>('/api/approvals'),
    get<Page<Question>>('/api/questions'),
  ])
  const isHere = (one: { readonly session_id: string }) => one.session_id === id
  if (openId !== id) return
  timeline.value = {
    ...timeline.value,
    approvals: approvals.data.filter(isHere),
    questions: questions.data.filter(isHere),
  }
}

export async function loadOlder(): Promise<void> {
  const { older } = timeline.value
  const id = openId
  if (!older || isLoadingOlder) return
  isLoadingOlder = true
  try {
    const page = await loadPage(id, older)
    if (openId === id) timeline.value = { ...addMessages(timeline.value, page.data), older: page.next_cursor }
  } finally {
    isLoadingOlder = false
  }
}
let isLoadingOlder = false

function receive(event: SessionEvent): void {
  pending.push(event)
  if (document.hidden) announceHidden(event)
  else frame ||= requestAnimationFrame(apply)
}

function apply(): void {
  frame = 0
  const events = pending
  pending = []
  timeline.value = events.reduce(reduce, timeline.value)
  for (const event of events) react(event)
}

document.addEventListener('visibilitychange', () => {
  if (document.hidden) return
  document.title = 'Talaria'
  if (pending.length) apply()
})

const isEnd = ({ type }: SessionEvent): boolean =>
  type === 'run.completed' || type === 'run.failed' || type === 'run.cancelled'

/** Titles are all that a hidden tab shows. */
function announceHidden({ type }: SessionEvent): void {
  if (type === 'approval.request' || type === 'question.request') document.title = `● ${t('needsYou')}`
  else if (type === 'run.completed') document.title = `✓ ${t('done')}`
}

function react(event: SessionEvent): void {
  if (event.type === 'run.started') {
    say(t('answering'))
    touchSession(event.session_id, 'running')
  }
  if (event.type === 'approval.request' || event.type === 'question.request') {
    say(t('needsYou'))
    touchSession(event.session_id, 'waiting')
  }
  if (event.type === 'approval.responded' || event.type === 'question.answered')
    touchSession(event.session_id, 'running')
  if (!isEnd(event)) return
  say(t('done'))
  touchSession(event.session_id, 'idle')
  finish(event.session_id, event.run_id).catch(showError)
}

/** Fetches what the run has stored, which takes the place of the words that were streamed. */
async function finish(id: string, runId: string): Promise<void> {
  const [found, added] = await Promise.all([get<Session>(path`/api/sessions/${id}`), loadNewer(id)])
  if (openId !== id) return
  session.value = found
  timeline.value = addMessages(timeline.value, added, runId)
}

/** All messages behind the newest one that is shown. */
async function loadNewer(id: string): Promise<readonly Message[]> {
  const found: Message[] = []
  let after = timeline.value.messages.at(-1)?.seq ?? 0
  for (;;) {
    const page = await get<Newer>(`${path`/api/sessions/${id}/messages`}?limit=200&after=${after}`)
    found.push(...page.data)
    const last = page.data.at(-1)
    if (!page.newer_cursor || !last) return found
    after = last.seq
  }
}
type Newer = Page<Message> & { readonly newer_cursor: string | null }

export async function refresh(): Promise<void> {
  const id = openId
  openId = ''
  await openSession(id)
}

export type Draft = {
  readonly text: string
  readonly attachments: readonly Attachment[]
  readonly mode?: 'queue' | 'steer' | 'interrupt'
  readonly model?: string
}
export type Attachment =
  | { readonly type: 'image'; readonly url: string; readonly name: string }
  | { readonly type: 'file'; readonly name: string; readonly data: string }

type Accepted = { readonly run_id: string; readonly status: string }

/** Sends a message. The key makes a repeated request the same message. */
export async function sendMessage({ text, attachments, mode, model }: Draft): Promise<void> {
  const id = openId
  const key = crypto.randomUUID()
  const images = attachments.flatMap((one) => (one.type === 'image' ? [one.url] : []))
  timeline.value = addSent(timeline.value, { key, text, images })
  const sent = attachments.map((one) => (one.type === 'image' ? { type: 'image', url: one.url } : one))
  try {
    const { run_id: runId, status } = await api<Accepted>('POST', path`/api/sessions/${id}/chat`, {
      headers: { 'idempotency-key': key },
      body: {
        input: text,
        wait: false,
        ...(sent.length && { attachments: sent }),
        ...(mode && timeline.value.run !== undefined && { mode }),
        ...(model && { model }),
      },
    })
    if (openId === id) timeline.value = confirmSent(timeline.value, key, { runId, isJoined: status === 'joined' })
  } catch (error) {
    if (openId === id) timeline.value = failSent(timeline.value, key)
    // Without the list nobody sees the message, so its words go back into the field.
    if (loadError.value !== undefined) suggest(text)
    showError(error)
  }
}

export const forgetSent = (key: string): void => void (timeline.value = dropBlock(timeline.value, key))

export async function stop(): Promise<void> {
  timeline.value = { ...timeline.value, stopping: true }
  await api('POST', path`/api/sessions/${openId}/stop`, { body: {} })
}

export async function retry(): Promise<void> {
  await api('POST', path`/api/sessions/${openId}/retry`, { body: {} })
  await reloadMessages()
}

/** Takes the last turn back and returns its words. */
export async function undo(): Promise<void> {
  await api('POST', path`/api/sessions/${openId}/undo`, { body: {} })
  await reloadMessages()
}

/** After turns were taken back, their messages are not only old but gone. */
export async function reloadMessages(): Promise<void> {
  const id = openId
  const page = await loadPage(id)
  if (openId !== id) return
  const { live, ...rest } = timeline.value
  const running = live.filter(({ runId }) => runId === rest.run)
  timeline.value = { ...addMessages({ ...rest, live: running, messages: [] }, page.data), older: page.next_cursor }
}

export const fork = (runId?: string): Promise<Session> =>
  api('POST', path`/api/sessions/${openId}/fork`, { body: runId === undefined ? {} : { through: runId } })

export async function takeBack(runId: string): Promise<void> {
  await api('DELETE', path`/api/sessions/${openId}/runs/${runId}`)
  timeline.value = { ...timeline.value, queued: timeline.value.queued.filter((one) => one.runId !== runId) }
}
