/**
 * Calls Telegram's Bot API and classifies its answers. The address contains the token, so no error text may contain the
 * address.
 */

import type { SendOutcome } from '#agent/core/delivery.ts'
import { type ApiAnswer, busyWaitMs, callApi, classifyStatus, joinUrl } from '../call-api.ts'
import type { ChannelConnection } from '../channel.ts'

type BotAnswer = {
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

const tokenOf = ({ secrets }: ChannelConnection) => secrets['bot_token'] ?? ''

/** `body`: an object becomes JSON, a form is sent as it is. */
export async function callBotApi(
  connection: ChannelConnection,
  method: string,
  body: object | FormData,
): Promise<BotApiResult> {
  const content =
    body instanceof FormData
      ? { body }
      : { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
  const url = joinUrl(connection.apiBase, `bot${tokenOf(connection)}/${method}`)
  const answer = await callApi(url, { method: 'POST', ...content })
  if (answer.kind === 'ambiguous') return answer
  const parsed = (answer.body ?? {}) as BotAnswer
  return parsed.ok === true ? { kind: 'done', result: parsed.result } : classifyFailure(answer, parsed)
}

/** The address of a file, from the path that `getFile` has returned. */
export const fileUrl = (connection: ChannelConnection, path: string): string =>
  joinUrl(connection.apiBase, `file/bot${tokenOf(connection)}/${path}`)

function classifyFailure(answer: ApiAnswer, { description = '', parameters }: BotAnswer): BotApiResult {
  const { status } = answer
  const byStatus = classifyStatus(answer, description)
  if (status === 429) return { ...byStatus, kind: 'retry', waitMs: busyWaitMs(answer, parameters?.retry_after) }
  const movedTo = parameters?.migrate_to_chat_id
  if (Number.isSafeInteger(movedTo)) return { kind: 'moved', to: String(movedTo), detail: byStatus.detail }
  return status < 400 || status >= 500 ? byStatus : classifyRefusal(status, description, byStatus.detail)
}

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
