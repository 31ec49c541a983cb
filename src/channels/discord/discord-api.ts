/** Calls Discord's REST API and classifies its answers. */

import {
  type ApiAnswer,
  type ApiRequest,
  busyWaitMs,
  callApi,
  classifyStatus,
  type FailedOutcome,
  joinUrl,
} from '../call-api.ts'
import type { ChannelConnection } from '../channel.ts'

export type DiscordResult =
  | { readonly kind: 'done'; readonly result: Readonly<Record<string, unknown>> }
  | {
      readonly kind: 'failed'
      readonly outcome: FailedOutcome
      /** Undefined: there was no answer. */
      readonly status?: number
      readonly code?: number
    }

export type DiscordRequest = {
  readonly method: ApiRequest['method']
  readonly path: string
  readonly body?: object | FormData
  /** The address contains the token of an interaction, so the bot's own token is not needed. */
  readonly isAnonymous?: true
}

export async function callDiscord(
  { apiBase, secrets }: ChannelConnection,
  { method, path, body, isAnonymous }: DiscordRequest,
): Promise<DiscordResult> {
  const content = body instanceof FormData || body === undefined ? body : JSON.stringify(body)
  const answer = await callApi(joinUrl(apiBase, path), {
    method,
    headers: {
      'user-agent': 'DiscordBot (https://github.com/talaria, 1)',
      ...(!isAnonymous && { authorization: `Bot ${secrets['bot_token'] ?? ''}` }),
      ...(typeof content === 'string' && { 'content-type': 'application/json' }),
    },
    ...(content !== undefined && { body: content }),
  })
  if (answer.kind === 'ambiguous') return { kind: 'failed', outcome: answer }
  return classifyAnswer(answer)
}

type DiscordFailure = {
  readonly code?: number
  readonly message?: string
  readonly retry_after?: number
  readonly errors?: unknown
}

function classifyAnswer(answer: ApiAnswer): DiscordResult {
  const { status } = answer
  const isEmpty = status === 204 && answer.body === undefined
  if (status >= 200 && status < 300 && (isEmpty || isObject(answer.body)))
    return { kind: 'done', result: isObject(answer.body) ? answer.body : {} }
  const failure: DiscordFailure = isObject(answer.body) ? answer.body : {}
  const outcome = classifyFailure(answer, failure)
  return { kind: 'failed', outcome, status, ...(failure.code !== undefined && { code: failure.code }) }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const unknownMessage = 10_008
const invalidForm = 50_035
const fileTooLarge = 40_005

function classifyFailure(
  answer: ApiAnswer,
  { code, message = '', retry_after: seconds, errors }: DiscordFailure,
): FailedOutcome {
  const { status } = answer
  const byStatus = classifyStatus(answer, message)
  if (status === 429 && byStatus.kind === 'retry') return { ...byStatus, waitMs: busyWaitMs(answer, seconds) }
  if (status < 400 || status >= 500) return byStatus
  const { detail } = byStatus
  if (code === unknownMessage) return { kind: 'gone', detail }
  if (code === fileTooLarge) return { kind: 'too_long', detail }
  if (code === invalidForm && /BASE_TYPE_MAX_LENGTH/.test(JSON.stringify(errors ?? '')))
    return { kind: 'too_long', detail }
  return byStatus
}
