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
  readonly parameters?: { readonly retry_after?: number; readonly migrate_to_chat_id?: number }
}

export type BotApiResult =
  | { readonly kind: 'done'; readonly result: unknown }
  | Exclude<SendOutcome, { kind: 'sent' }>
  /** The topic does not exist any more; the chat does. */
  | { readonly kind: 'no-thread'; readonly detail: string }
  /** The file is no image that Telegram shows. */
  | { readonly kind: 'no-photo'; readonly detail: string }

const timeoutMs = 30_000
/** Uploads and downloads of up to 50 MB. */
const fileTimeoutMs = 120_000
/** The pause when Telegram is busy and does not name one. */
const defaultBusyMs = 5_000

const baseOf = ({ apiBase }: ChannelConnection) => apiBase.replace(/\/+$/, '')
const tokenOf = ({ secrets }: ChannelConnection) => secrets['bot_token'] ?? ''

/** `body`: an object becomes JSON, a form is sent as it is. */
export async function callBotApi(
  connection: ChannelConnection,
  method: string,
  body: object | FormData,
): Promise<BotApiResult> {
  const isForm = body instanceof FormData
  const init: RequestInit = isForm
    ? { method: 'POST', body }
    : { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
  const url = `${baseOf(connection)}/bot${tokenOf(connection)}/${method}`
  const answered = await request(url, init, isForm ? fileTimeoutMs : timeoutMs, async (response) => ({
    status: response.status,
    answer: (await response.json().catch(() => ({}))) as Answer,
  }))
  if ('lost' in answered) return { kind: 'ambiguous', detail: answered.lost }
  const { status, answer } = answered
  return answer.ok === true ? { kind: 'done', result: answer.result } : classifyFailure(status, answer)
}

export type Download =
  | { readonly kind: 'done'; readonly bytes: Uint8Array<ArrayBuffer> }
  | { readonly kind: 'failed'; readonly detail: string; readonly canRetry: boolean }

/** Reads a file whose path `getFile` has returned. */
export async function downloadFile(connection: ChannelConnection, path: string, maxBytes: number): Promise<Download> {
  const url = `${baseOf(connection)}/file/bot${tokenOf(connection)}/${path}`
  const answered = await request(url, {}, fileTimeoutMs, async (response): Promise<Download> => {
    const { status, ok } = response
    if (!ok) return { kind: 'failed', detail: `HTTP ${status}`, canRetry: status >= 500 || status === 429 }
    const bytes = await readUpTo(response, maxBytes)
    return bytes ? { kind: 'done', bytes } : { kind: 'failed', detail: 'the file is too large', canRetry: false }
  })
  return 'lost' in answered ? { kind: 'failed', detail: answered.lost, canRetry: true } : answered
}

async function readUpTo(response: Response, maxBytes: number): Promise<Uint8Array<ArrayBuffer> | undefined> {
  const parts: Uint8Array[] = []
  let size = 0
  for await (const part of response.body ?? []) {
    size += part.length
    if (size > maxBytes) return undefined
    parts.push(part)
  }
  const whole = new Uint8Array(size)
  let at = 0
  for (const part of parts) {
    whole.set(part, at)
    at += part.length
  }
  return whole
}

/** Sends a request with a time limit that includes the body of the answer. Never rejects. */
async function request<T extends object>(
  url: string,
  init: RequestInit,
  limitMs: number,
  read: (response: Response) => Promise<T>,
): Promise<T | { readonly lost: string }> {
  const timeout = new AbortController()
  const timer = setTimeout(() => timeout.abort(), limitMs)
  try {
    return await read(await fetch(url, { ...init, redirect: 'manual', signal: timeout.signal }))
  } catch {
    // The thrown error may contain the address.
    return {
      lost: timeout.signal.aborted ? 'the platform did not answer' : 'the connection to the platform broke',
    }
  } finally {
    clearTimeout(timer)
  }
}

function classifyFailure(status: number, { description, parameters }: Answer): BotApiResult {
  const detail = `HTTP ${status}${description ? `: ${description.slice(0, 300)}` : ''}`
  if (status === 429) {
    const seconds = parameters?.retry_after
    return { kind: 'retry', detail, waitMs: isCount(seconds) ? seconds * 1_000 : defaultBusyMs }
  }
  const movedTo = parameters?.migrate_to_chat_id
  if (Number.isSafeInteger(movedTo)) return { kind: 'moved', to: String(movedTo), detail }
  // An unreadable 2xx comes from a proxy in between: Telegram may have accepted the message.
  if (status >= 200 && status < 300) return { kind: 'ambiguous', detail: 'the platform gave an unreadable answer' }
  if (status >= 500 || status < 400) return { kind: 'retry', detail }
  return classifyRefusal(status, description ?? '', detail)
}

const isCount = (value: unknown): value is number => typeof value === 'number' && value >= 0

const refusals: readonly (readonly [
  RegExp,
  'no-thread' | 'gone' | 'too_long' | 'no-photo' | 'format' | 'forbidden',
])[] = [
  [/thread not found|TOPIC_(DELETED|CLOSED)/i, 'no-thread'],
  [/message to edit not found|can't be edited|MESSAGE_ID_INVALID/i, 'gone'],
  [/is too (?:long|big)|MESSAGE_TOO_LONG|too large/i, 'too_long'],
  [/PHOTO_|IMAGE_PROCESS_FAILED|wrong type of the web page/i, 'no-photo'],
  [/parse entities|entit(y|ies)/i, 'format'],
  [/chat not found|peer_id|kicked|upgraded to a supergroup|not enough rights|have no rights/i, 'forbidden'],
]

function classifyRefusal(status: number, description: string, detail: string): BotApiResult {
  if (/message is not modified/i.test(description)) return { kind: 'done', result: undefined }
  if (status === 413) return { kind: 'too_long', detail }
  const [, kind] = refusals.find(([pattern]) => pattern.test(description)) ?? []
  return { kind: kind ?? (status === 400 ? 'fatal' : 'forbidden'), detail }
}
