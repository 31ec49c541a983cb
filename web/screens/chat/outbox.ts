/**
 * Keeps messages until the server has accepted or refused them: over a reload, and while it cannot do either. Each is sent with the
 * idempotency key that it got when it was written, so a lost answer does not say it twice.
 */

import { signal } from '@preact/signals'
import { api, ApiError, path } from '../../api/client.ts'
import { whenLeft } from '../../api/me.ts'
import { isDefiniteRefusal } from '../../model/delivery.ts'
import { place } from '../../parts/route.ts'
import { showError } from '../../parts/toast.ts'
import { type Draft, forgetDrafts, keepDraft, readDraft, suggest } from './draft.ts'
import { createOnce, whenCreated } from './new-session.ts'
import { forgetUnsent } from './unsent.ts'

/** Without a session it is the message of a new chat, whose session is created when the message can be sent. */
type Waiting = Draft & { readonly key: string; readonly session: string }
type Accepted = { readonly run_id: string; readonly session_id: string; readonly status: string }

const storageKey = 'talaria.outbox'
const retryMs = 15_000

/** Messages that could not be sent yet. Those that are on their way are kept, but not shown. */
export const waiting = signal<readonly Waiting[]>([])
const kept = new Map<string, Waiting>(read().map((one) => [one.key, one]))

function read(): readonly Waiting[] {
  try {
    return JSON.parse(localStorage.getItem(storageKey) ?? '[]') as readonly Waiting[]
  } catch {
    return [] // Something else has written there.
  }
}

function write(): void {
  try {
    localStorage.setItem(storageKey, JSON.stringify([...kept.values()]))
  } catch {
    // Large attachments do not fit. The message stays in this tab.
  }
}

export function forgetWaiting(key: string): void {
  kept.delete(key)
  waiting.value = waiting.value.filter((one) => one.key !== key)
  write()
}

whenLeft(() => {
  kept.clear()
  waiting.value = []
  localStorage.removeItem(storageKey)
  forgetUnsent()
  forgetDrafts()
})

/** The last request of each session: its messages arrive in the order in which they were written. */
const requests = new Map<string, Promise<unknown>>()

function sendInOrder<T>(session: string, send: () => Promise<T>): Promise<T> {
  const sent = (requests.get(session) ?? Promise.resolve()).then(send)
  requests.set(
    session,
    sent.catch(() => undefined),
  )
  return sent
}

whenCreated(({ id }) => {
  const last = requests.get('')
  if (last) requests.set(id, last)
  requests.delete('')
  const assign = (one: Waiting): Waiting => (one.session ? one : { ...one, session: id })
  for (const one of kept.values()) kept.set(one.key, assign(one))
  waiting.value = waiting.value.map(assign)
  write()
})

/** Returns undefined when the message waits, for example because there is no network. Throws what the server refuses. */
export async function post(message: Waiting): Promise<Accepted | undefined> {
  kept.set(message.key, message)
  write()
  try {
    return await deliver(message)
  } catch (error) {
    if (!isPassing(error)) throw error
    showOnce(message, error)
    return undefined
  }
}

const deliver = (message: Waiting): Promise<Accepted> => sendInOrder(message.session, () => request(message))

async function request(message: Waiting): Promise<Accepted> {
  try {
    // The message before may have created the session.
    const session = (kept.get(message.key) ?? message).session || (await createOnce(message)).id
    const accepted = await api<Accepted>('POST', path`/api/sessions/${session}/chat`, {
      headers: { 'idempotency-key': message.key },
      body: toBody(message),
    })
    forgetWaiting(message.key)
    return accepted
  } catch (error) {
    if (!isPassing(error)) forgetWaiting(message.key)
    // The person may have left meanwhile.
    else if (kept.has(message.key) && !waiting.value.some(({ key }) => key === message.key))
      waiting.value = [...waiting.value, kept.get(message.key) ?? message]
    throw error
  }
}

const isPassing = (error: unknown): error is ApiError => error instanceof ApiError && !isDefiniteRefusal(error.status)

let shown = ''

/** The label says that a message waits. Another reason than the network is said once, although it is tried again. */
function showOnce({ key }: Waiting, error: ApiError): void {
  const cause = `${key} ${error.code}`
  if (error.code !== 'offline' && shown !== cause) showError(error)
  shown = cause
}

/** The same bytes each time: another body with the same key is a conflict. */
function toBody({ text, attachments, mode, model, effort }: Waiting): object {
  const sent = attachments.map((one) => (one.type === 'image' ? { type: 'image', url: one.url } : one))
  return {
    input: text,
    wait: false,
    ...(sent.length && { attachments: sent }),
    ...(mode && { mode }),
    ...(model && { model }),
    ...(effort && { reasoning_effort: effort }),
  }
}

let isSending = false

/** Sends what waits, oldest first. The messages of a session keep their order. */
async function flush(): Promise<void> {
  if (isSending) return
  isSending = true
  try {
    await deliverAll(waiting.value)
  } finally {
    isSending = false
  }
}

async function deliverAll(messages: readonly Waiting[]): Promise<void> {
  const held = new Set<string>()
  for (const { key } of messages) {
    // The message before may have created its session.
    const message = kept.get(key)
    if (!message || held.has(message.session)) continue
    const error = await deliver(message).then(
      () => undefined,
      (failure: unknown) => failure,
    )
    if (isPassing(error)) {
      if (error.status === 0 || error.status === 401) return
      held.add(message.session)
      showOnce(message, error)
    } else if (error !== undefined) offerAgain(message, error)
  }
}

/** Inserts the words of a refused message before what is being written in its session. */
function offerAgain({ session, text }: Waiting, error: unknown): void {
  showError(error)
  const words = [text, readDraft(session)].filter(Boolean).join('\n\n')
  if (place.value.id === session) suggest(words)
  else keepDraft(session, words)
}

/** Shows and sends what a reload has interrupted, and tries again when there may be a network. */
export function watchOutbox(): () => void {
  waiting.value = [...kept.values()]
  const retry = () => void (document.hidden || flush())
  const timer = setInterval(retry, retryMs)
  addEventListener('online', retry)
  document.addEventListener('visibilitychange', retry)
  retry()
  return () => {
    clearInterval(timer)
    removeEventListener('online', retry)
    document.removeEventListener('visibilitychange', retry)
  }
}
