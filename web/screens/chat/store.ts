/** Keeps the open session: loads its history, follows its events, and sends what the person does. */

import { effect, signal } from '@preact/signals'
import { api, get, type Page, path } from '../../api/client.ts'
import { type Connection, listen, type Listening } from '../../api/listen.ts'
import {
  addCommand,
  addMessages,
  addSent,
  confirmSent,
  dropSending,
  dropBlock,
  emptyTimeline,
  failSent,
  isUnread,
  isUnsent,
  reduce,
  restoreUnread,
  type Timeline,
} from '../../model/timeline.ts'
import type { UserBlock } from '../../model/blocks.ts'
import { splitAttached } from '../../model/workspace-files.ts'
import type { Approval, Message, Question, Session, SessionEvent } from '../../model/types.ts'
import { t } from '../../words/words.ts'
import { place, replacePlace } from '../../parts/route.ts'
import { say, showError } from '../../parts/toast.ts'
import { type Draft, suggest } from './draft.ts'
import { hiddenEvent } from '../page-title.ts'
import { whenCreated } from './new-session.ts'
import { post } from './outbox.ts'
import { keepUnsent, listUnsent } from './unsent.ts'
import { keepTemporary, leaveTemporary } from './temporary.ts'
import { touchSession } from '../sessions/sessions.ts'

export const session = signal<Session | undefined>(undefined)
export const timeline = signal<Timeline>(emptyTimeline)
export const connection = signal<Connection>('connecting')
export const loadError = signal<unknown>(undefined)
/** The number of the message that the list shows and marks: a hit of the search. */
export const marked = signal<number | undefined>(undefined)

const pageSize = 50
let listening: Listening | undefined
/** Empty: a new chat, whose session does not exist yet. */
let openId: string | undefined
/** Events wait for the next frame, or until the tab is visible: a hidden one draws nothing. */
let pending: SessionEvent[] = []

export function closeSession(): void {
  openId = undefined
  listening?.close()
  listening = undefined
  pending = []
  session.value = undefined
  timeline.value = emptyTimeline
  loadError.value = undefined
  marked.value = undefined
}

export function openNewChat(): void {
  leaveTemporary('')
  closeSession()
  openId = ''
  timeline.value = restoreUnread(emptyTimeline, listUnsent(''))
}

/** The new chat that is open becomes the created session. It is empty, so its events are all of it. */
whenCreated((created) => {
  if (openId !== '' || place.value.screen !== 'chat') return
  keepUnsent('', [])
  openId = created.id
  session.value = created
  keepTemporary(created)
  follow(created.id, created.event_seq ?? 0)
  replacePlace('chat', created.id)
})

effect(() => {
  const unread = timeline.value.live.filter(isUnread)
  if (openId !== undefined) keepUnsent(openId, unread)
})

/** Opens a session at its end, or at a message. */
export async function openSession(id: string, at?: number): Promise<void> {
  if (openId === id) return at === marked.value ? undefined : await reloadMessages(at).catch(showError)
  leaveTemporary(id)
  closeSession()
  openId = id
  try {
    const [found, page] = await Promise.all([get<Session>(path`/api/sessions/${id}`), loadPage(id, { around: at })])
    if (openId !== id) return
    session.value = found
    const opened = {
      ...addMessages(timeline.value, page.data),
      older: page.next_cursor,
      newer: page.newer_cursor,
      run: found.run?.run_id,
      queued: (found.queued ?? []).map(({ run_id: runId, input = '' }) => ({ runId, text: splitAttached(input).text })),
    }
    timeline.value = restoreUnread(opened, listUnsent(id))
    marked.value = at
    follow(id, found.event_seq)
    if (found.status === 'waiting') await loadPending(id)
  } catch (error) {
    if (openId === id) loadError.value = error
  }
}

type MessagePage = Page<Message> & { readonly newer_cursor: string | null }
type From = { readonly [name in 'cursor' | 'after' | 'around']?: string | number | undefined }

function loadPage(id: string, from: From = {}): Promise<MessagePage> {
  const parameters = new URLSearchParams({ limit: `${pageSize}` })
  for (const [name, value] of Object.entries(from)) if (value !== undefined) parameters.set(name, `${value}`)
  return get(`${path`/api/sessions/${id}/messages`}?${parameters}`)
}

/** The words of an answer that has begun come again as events, from its first one. */
function follow(id: string, after: number | undefined): void {
  listening = listen<SessionEvent>({
    url: path`/api/sessions/${id}/events`,
    after,
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
  if (!id || !older || isLoadingOlder) return
  isLoadingOlder = true
  try {
    const page = await loadPage(id, { cursor: older })
    if (openId === id) timeline.value = { ...addMessages(timeline.value, page.data), older: page.next_cursor }
  } finally {
    isLoadingOlder = false
  }
}
let isLoadingOlder = false

/** Loads the next page behind a place in the midst of the session. */
export async function loadNextPage(): Promise<void> {
  const { newer } = timeline.value
  const id = openId
  if (!id || !newer || isLoadingNewer) return
  isLoadingNewer = true
  try {
    const page = await loadPage(id, { after: newer })
    if (openId !== id || timeline.value.newer !== newer) return
    const next = addMessages(timeline.value, page.data)
    const live = page.newer_cursor === null ? ofNoStored(next) : next.live
    timeline.value = { ...next, live, newer: page.newer_cursor }
  } finally {
    isLoadingNewer = false
  }
}
let isLoadingNewer = false

function receive(event: SessionEvent): void {
  pending.push(event)
  if (document.hidden) return announceHidden(event)
  if (isDrawingNext) return
  isDrawingNext = true
  const restMs = restUntil - performance.now()
  if (restMs > 0) setTimeout(requestAnimationFrame, restMs, draw)
  else requestAnimationFrame(draw)
}

/** On a slow device a frame of a long answer takes longer than a key may wait, so keys get two thirds of the time. */
const [fastFrameMs, maxRestMs] = [8, 200]
let isDrawingNext = false
let restUntil = 0

function draw(): void {
  isDrawingNext = false
  const began = performance.now()
  apply()
  const { port1, port2 } = new MessageChannel()
  // A message arrives after the frame is drawn.
  port1.addEventListener('message', () => {
    const now = performance.now()
    const workMs = now - began
    restUntil = workMs > fastFrameMs ? now + Math.min(maxRestMs, 2 * workMs) : 0
    port1.close()
  })
  port1.start()
  port2.postMessage(0)
}

function apply(): void {
  const events = pending
  pending = []
  timeline.value = events.reduce(reduce, timeline.value)
  for (const event of events) react(event)
}

document.addEventListener('visibilitychange', () => {
  if (!document.hidden && pending.length) apply()
})

const isEnd = ({ type }: SessionEvent): boolean =>
  type === 'run.completed' || type === 'run.failed' || type === 'run.cancelled'

function announceHidden({ type }: SessionEvent): void {
  if (type === 'approval.request' || type === 'question.request') hiddenEvent.value = 'needsYou'
  else if (type === 'run.completed') hiddenEvent.value = 'done'
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
  // In the midst of the session they would leave a gap.
  if (timeline.value.newer === null) timeline.value = addMessages(timeline.value, added, runId)
}

/** All messages behind the newest one that is shown. */
async function loadNewer(id: string): Promise<readonly Message[]> {
  const found: Message[] = []
  if (timeline.value.newer !== null) return found
  let after = timeline.value.messages.at(-1)?.seq ?? 0
  for (;;) {
    const page = await loadPage(id, { after })
    found.push(...page.data)
    const last = page.data.at(-1)
    if (!page.newer_cursor || !last) return found
    after = last.seq
  }
}

export async function refresh(): Promise<void> {
  const id = openId
  openId = undefined
  if (id) await openSession(id)
}

/** Sends a message, or lets it wait for the network (outbox.ts). In a new chat it creates the session. */
export async function sendMessage({ mode, ...draft }: Draft): Promise<void> {
  const id = openId ?? place.value.id
  // The message stands at the end.
  if (timeline.value.newer !== null) await reloadMessages().catch(showError)
  const key = crypto.randomUUID()
  const { attachments } = draft
  const named = splitAttached(draft.text)
  const images = attachments.flatMap((one) => (one.type === 'image' ? [one.url] : []))
  const files = [...named.files, ...attachments.flatMap((one) => (one.type === 'file' ? [one] : []))]
  const sent = { key, text: named.text, images, files }
  timeline.value = addSent(timeline.value, sent)
  const message = { ...draft, ...(mode && timeline.value.run !== undefined && { mode }), key, session: id }
  try {
    const accepted = await post(message)
    if (!accepted) timeline.value = dropSending(timeline.value, key)
    else if (openId === accepted.session_id) {
      const { run_id: runId, status } = accepted
      timeline.value = confirmSent(timeline.value, key, { runId, isJoined: status === 'joined' })
      if (status === 'ended') await showCommand(openId, runId, draft.text)
    }
  } catch (error) {
    keepFailed(id, { kind: 'user', runId: key, ...sent, state: 'failed' })
    // Without the list nobody sees the message, so its words go back into the field.
    if (loadError.value !== undefined) suggest(draft.text)
    showError(error)
  }
}

/** Another session may be open by then. */
function keepFailed(id: string, failed: UserBlock): void {
  if (timeline.value.live.some(({ key }) => key === failed.key)) timeline.value = failSent(timeline.value, failed.key)
  else keepUnsent(id, [...listUnsent(id), failed])
}

/** A command is answered at once. It may have changed the conversation, which is loaded again first. */
async function showCommand(id: string, runId: string, text: string): Promise<void> {
  const [run, found] = await Promise.all([
    get<{ readonly output: string | null }>(path`/v1/runs/${runId}`),
    get<Session>(path`/api/sessions/${id}`),
    reloadMessages(),
  ])
  if (openId !== id) return
  session.value = found
  timeline.value = addCommand(timeline.value, { runId, text, answer: run.output ?? '' })
}

export const forgetSent = (key: string): void => void (timeline.value = dropBlock(timeline.value, key))

export async function stop(): Promise<void> {
  const id = openId ?? ''
  timeline.value = { ...timeline.value, stopping: true }
  try {
    await api('POST', path`/api/sessions/${id}/stop`, { body: {} })
  } catch (error) {
    if (openId === id) timeline.value = { ...timeline.value, stopping: false }
    throw error
  }
}

export async function retry(): Promise<void> {
  await api('POST', path`/api/sessions/${openId ?? ''}/retry`, { body: {} })
  await reloadMessages()
}

/** Takes a turn and all behind it out of the conversation. They stay as an older version. */
export async function replaceFrom(runId: string): Promise<void> {
  await api('POST', path`/api/sessions/${openId ?? ''}/undo`, { body: { run_id: runId, replaced: true } })
  await reloadMessages()
}

/** Loads the end, or the place of a message. After turns were taken back, their messages are not only old but gone. */
export async function reloadMessages(at?: number): Promise<void> {
  const id = openId ?? ''
  const page = await loadPage(id, { around: at })
  if (openId !== id) return
  const { live, ...rest } = timeline.value
  const kept = page.newer_cursor === null ? ofNoStored(timeline.value) : live
  const { next_cursor: older, newer_cursor: newer } = page
  timeline.value = { ...addMessages({ ...rest, live: kept, messages: [] }, page.data), older, newer }
  marked.value = at
}

const ofNoStored = ({ live, run }: Timeline): Timeline['live'] =>
  live.filter((block) => block.runId === run || isUnsent(block))

export const fork = (runId?: string): Promise<Session> =>
  api('POST', path`/api/sessions/${openId ?? ''}/fork`, { body: runId === undefined ? {} : { through: runId } })

export async function takeBack(runId: string): Promise<void> {
  await api('DELETE', path`/api/sessions/${openId ?? ''}/runs/${runId}`)
  timeline.value = { ...timeline.value, queued: timeline.value.queued.filter((one) => one.runId !== runId) }
}
