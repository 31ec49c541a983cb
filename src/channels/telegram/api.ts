/** Calls of Telegram's Bot API, and what their answers mean. The token stands in the address, so no address is ever told. */

import type { Outcome } from '../../agent/model/delivery.ts'
import type { Line } from '../channel.ts'

type Answer = {
  readonly ok?: boolean
  readonly result?: unknown
  readonly description?: string
  readonly parameters?: { readonly retry_after?: number }
}

export type Called =
  | { readonly of: 'done'; readonly result: unknown }
  | Exclude<Outcome, { of: 'sent' }>
  /** The topic is gone; the chat is there. */
  | { readonly of: 'no-thread'; readonly detail: string }

const patienceMs = 30_000

export async function call({ apiBase, secrets }: Line, method: string, body: object): Promise<Called> {
  let status: number
  let answer: Answer
  const silence = new AbortController()
  const timer = setTimeout(() => silence.abort(), patienceMs)
  try {
    const response = await fetch(`${apiBase.replace(/\/+$/, '')}/bot${secrets['bot_token'] ?? ''}/${method}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
      redirect: 'manual',
      signal: silence.signal,
    })
    status = response.status
    answer = (await response.json().catch(() => ({}))) as Answer
  } catch {
    // What is thrown may tell the address.
    const detail = silence.signal.aborted ? 'the platform did not answer' : 'the connection to the platform broke'
    return { of: 'lost', detail }
  } finally {
    clearTimeout(timer)
  }
  if (answer.ok === true) return { of: 'done', result: answer.result }
  return failureOf(status, answer)
}

function failureOf(status: number, { description, parameters }: Answer): Called {
  const detail = `HTTP ${status}${description ? `: ${description.slice(0, 300)}` : ''}`
  if (status === 429) {
    const seconds = parameters?.retry_after
    return { of: 'busy', detail, ...(typeof seconds === 'number' && seconds >= 0 && { waitMs: seconds * 1_000 }) }
  }
  // An answer that cannot be read came from something in between: what is behind it may have taken the message.
  if (status >= 200 && status < 300) return { of: 'lost', detail: 'the platform gave an answer that cannot be read' }
  if (status >= 500 || status < 400) return { of: 'failed', detail }
  return refusalOf(status, description ?? '', detail)
}

function refusalOf(status: number, description: string, detail: string): Called {
  if (/message is not modified/i.test(description)) return { of: 'done', result: undefined }
  if (/thread not found|TOPIC_(DELETED|CLOSED)/i.test(description)) return { of: 'no-thread', detail }
  if (/message to edit not found|can't be edited|MESSAGE_ID_INVALID/i.test(description)) return { of: 'gone', detail }
  if (/parse entities|entit(y|ies)/i.test(description)) return { of: 'format', detail }
  const isAboutChat =
    status !== 400 || /chat not found|peer_id|kicked|upgraded to a supergroup|not enough rights/i.test(description)
  return { of: 'refused', scope: isAboutChat ? 'chat' : 'message', detail }
}
