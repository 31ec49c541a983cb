/**
 * Keeps messages until the server has taken them: over a reload, and while there is no network. Each is sent with the
 * idempotency key that it got when it was written, so a lost answer does not say it twice.
 */

import { signal } from '@preact/signals'
import { api, ApiError, path } from '../../api/client.ts'
import { showError } from '../../parts/toast.ts'
import type { Draft } from './draft.ts'

type Waiting = Draft & { readonly key: string; readonly session: string }
type Accepted = { readonly run_id: string; readonly status: string }

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

/** Returns undefined when there is no network: the message then waits. Throws what the server refuses. */
export async function post(message: Waiting): Promise<Accepted | undefined> {
  kept.set(message.key, message)
  write()
  try {
    const accepted = await api<Accepted>('POST', path`/api/sessions/${message.session}/chat`, {
      headers: { 'idempotency-key': message.key },
      body: toBody(message),
    })
    forgetWaiting(message.key)
    return accepted
  } catch (error) {
    if (error instanceof ApiError && error.code === 'offline') {
      if (!waiting.value.some(({ key }) => key === message.key)) waiting.value = [...waiting.value, message]
      return undefined
    }
    forgetWaiting(message.key)
    throw error
  }
}

/** The same bytes each time: another body with the same key is a conflict. */
function toBody({ text, attachments, mode, model }: Waiting): object {
  const sent = attachments.map((one) => (one.type === 'image' ? { type: 'image', url: one.url } : one))
  return {
    input: text,
    wait: false,
    ...(sent.length && { attachments: sent }),
    ...(mode && { mode }),
    ...(model && { model }),
  }
}

let isSending = false

/** Sends what waits, oldest first. */
async function flush(): Promise<void> {
  if (isSending || !waiting.value.length) return
  isSending = true
  try {
    for (const message of waiting.value) if (!(await post(message))) return
  } catch (error) {
    showError(error)
  } finally {
    isSending = false
  }
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
