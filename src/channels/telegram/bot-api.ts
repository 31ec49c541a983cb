/**
 * Calls Telegram's Bot API and classifies its answers. The address contains the token, so no error text may contain the
 * address.
 */

import type { SendOutcome } from '../../agent/model/delivery.ts'
import type { ChannelConnection } from '../channel.ts'

type Answer = {
  readonly ok?: boolean
  readonly result?: unknown
  readonly description?: string
  readonly parameters?: { readonly retry_after?: number }
}

export type BotApiResult =
  | { readonly of: 'done'; readonly result: unknown }
  | Exclude<SendOutcome, { of: 'sent' }>
  /** The topic does not exist any more; the chat does. */
  | { readonly of: 'no-thread'; readonly detail: string }

const timeoutMs = 30_000

export async function callBotApi(
  { apiBase, secrets }: ChannelConnection,
  method: string,
  body: object,
): Promise<BotApiResult> {
  let status: number
  let answer: Answer
  const timeout = new AbortController()
  const timer = setTimeout(() => timeout.abort(), timeoutMs)
  try {
    const response = await fetch(`${apiBase.replace(/\/+$/, '')}/bot${secrets['bot_token'] ?? ''}/${method}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
      redirect: 'manual',
      signal: timeout.signal,
    })
    status = response.status
    answer = (await response.json().catch(() => ({}))) as Answer
  } catch {
    // The thrown error may contain the address.
    const detail = timeout.signal.aborted ? 'the platform did not answer' : 'the connection to the platform broke'
    return { of: 'lost', detail }
  } finally {
    clearTimeout(timer)
  }
  if (answer.ok === true) return { of: 'done', result: answer.result }
  return classifyFailure(status, answer)
}

function classifyFailure(status: number, { description, parameters }: Answer): BotApiResult {
  const detail = `HTTP ${status}${description ? `: ${description.slice(0, 300)}` : ''}`
  if (status === 429) {
    const seconds = parameters?.retry_after
    return { of: 'busy', detail, ...(typeof seconds === 'number' && seconds >= 0 && { waitMs: seconds * 1_000 }) }
  }
  // An unreadable 2xx comes from a proxy in between: Telegram may have accepted the message.
  if (status >= 200 && status < 300) return { of: 'lost', detail: 'the platform gave an answer that cannot be read' }
  if (status >= 500 || status < 400) return { of: 'failed', detail }
  return classifyRefusal(status, description ?? '', detail)
}

function classifyRefusal(status: number, description: string, detail: string): BotApiResult {
  if (/message is not modified/i.test(description)) return { of: 'done', result: undefined }
  if (/thread not found|TOPIC_(DELETED|CLOSED)/i.test(description)) return { of: 'no-thread', detail }
  if (/message to edit not found|can't be edited|MESSAGE_ID_INVALID/i.test(description)) return { of: 'gone', detail }
  if (/parse entities|entit(y|ies)/i.test(description)) return { of: 'format', detail }
  const isWholeChat =
    status !== 400 || /chat not found|peer_id|kicked|upgraded to a supergroup|not enough rights/i.test(description)
  return { of: 'refused', scope: isWholeChat ? 'chat' : 'message', detail }
}
