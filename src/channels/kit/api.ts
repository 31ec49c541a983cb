/**
 * Calls the API of a platform, and classifies its answers by an ordered table of outcomes that the platform states.
 * Ambiguity, sizes and the rule that no error text contains a secret are the same for all platforms.
 */

import { isJsonObject, type JsonObject } from '#agent/core/parse-json.ts'
import type { SendOutcome } from '#agent/core/delivery.ts'
import {
  type ApiAnswer,
  type ApiRequest,
  busyWaitMs,
  callApi,
  classifyStatus,
  type FailedOutcome,
  joinUrl,
} from '../call-api.ts'
import type { ChannelConnection, FetchedMedia, ResolvedTarget } from '../channel.ts'

/** The platform's own code and words for a failure. */
export type Failure = {
  readonly code?: string | number | undefined
  readonly message?: string | undefined
  /** Further text that rules may read, and that is not shown. */
  readonly details?: string | undefined
  /** The pause that the body of a 429 names. */
  readonly waitSeconds?: unknown
}

/** Applies when everything that it names is so. `busy`: retry after the pause that the answer names. */
export type OutcomeRule = {
  readonly status?: number
  /** `any`: the platform named one. */
  readonly codes?: readonly (string | number)[] | 'any'
  readonly words?: RegExp
  readonly is: Exclude<FailedOutcome['kind'], 'moved'> | 'busy'
  /** Shown in place of the platform's words. */
  readonly detail?: string
}

export type ApiResult =
  | { readonly kind: 'done'; readonly result: JsonObject }
  | {
      readonly kind: 'failed'
      readonly outcome: FailedOutcome
      /** Undefined: there was no answer. */
      readonly status?: number
      readonly code?: string | number
    }

export type PlatformRequest = {
  readonly method: ApiRequest['method']
  readonly path: string
  /** An object is sent as JSON, a `Blob` as its bytes. */
  readonly body?: object | FormData | URLSearchParams | Blob
  readonly headers?: Readonly<Record<string, string>>
  /** The address has a token of its own: the connection's secrets are not sent. */
  readonly isAnonymous?: true
  /** Another address than the connection's `apiBase`. */
  readonly base?: string
}

export type PlatformApi = {
  /** Stands between the address and the path. */
  readonly prefix?: (connection: ChannelConnection) => string
  readonly headers: (connection: ChannelConnection) => Readonly<Record<string, string>>
  /** Headers that do not prove who calls. */
  readonly commonHeaders?: Readonly<Record<string, string>>
  readonly readFailure: (body: JsonObject) => Failure
  /** An answer with this status counts whatever its body is. */
  readonly doneStatus?: number
  /** Absent: any 2xx with an object, and 204. */
  readonly isDone?: (body: JsonObject) => boolean
  /** For refusals: 4xx, or 2xx with a failure in the body. The first rule that applies counts, else the status. */
  readonly outcomes: readonly OutcomeRule[]
}

export type PlatformCall = (connection: ChannelConnection, request: PlatformRequest) => Promise<ApiResult>

export const defineApi =
  (api: PlatformApi): PlatformCall =>
  async (connection, { method, path, body, headers, isAnonymous, base = connection.apiBase }) => {
    const isSentAsIs = body instanceof FormData || body instanceof URLSearchParams || body instanceof Blob
    const content = isSentAsIs || body === undefined ? body : JSON.stringify(body)
    const prefix = api.prefix?.(connection) ?? ''
    const request = {
      method,
      headers: {
        ...api.commonHeaders,
        ...(!isAnonymous && api.headers(connection)),
        ...(typeof content === 'string' && { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(content !== undefined && { body: content }),
    }
    const answer = await callApi(joinUrl(base, prefix + path), request, connection.fetchApi)
    return answer.kind === 'ambiguous' ? { kind: 'failed', outcome: answer } : readAnswer(api, answer)
  }

function readAnswer(api: PlatformApi, answer: ApiAnswer): ApiResult {
  const { status, body } = answer
  const object = isJsonObject(body) ? body : undefined
  if (isDone(api, answer, object)) return { kind: 'done', result: object ?? {} }
  const failure = object ? api.readFailure(object) : {}
  const { code, message } = failure
  const isRefused = status < 300 ? code !== undefined : status >= 400 && status < 500
  const outcome = isRefused ? classifyRefusal(api.outcomes, failure, answer) : classifyStatus(answer, message)
  return { kind: 'failed', outcome, status, ...(code !== undefined && { code }) }
}

function isDone(api: PlatformApi, { status, body }: ApiAnswer, object: JsonObject | undefined): boolean {
  if (status === api.doneStatus) return true
  if (status < 200 || status >= 300) return false
  return object ? (api.isDone?.(object) ?? true) : status === 204 && body === undefined
}

function classifyRefusal(rules: readonly OutcomeRule[], failure: Failure, answer: ApiAnswer): FailedOutcome {
  const byStatus = classifyStatus(answer, failure.message)
  const waitMs = busyWaitMs(answer, failure.waitSeconds)
  const isBusy = answer.status === 429
  // Only a rule for 429 itself says more than the status.
  const rule = rules.find(
    (one) => (isBusy ? one.status : (one.status ?? answer.status)) === answer.status && applies(one, failure),
  )
  if (isBusy && !rule) return { kind: 'retry', waitMs, detail: byStatus.detail }
  const words = answer.status < 300 ? (failure.message ?? byStatus.detail) : byStatus.detail
  return rule ? outcomeOf(rule, words, waitMs) : byStatus
}

const applies = ({ codes, words }: OutcomeRule, { code, message = '', details = '' }: Failure): boolean =>
  (!codes || (code !== undefined && (codes === 'any' || codes.includes(code)))) &&
  (!words || words.test(`${message}\n${details}`))

function outcomeOf({ is, detail: shown }: OutcomeRule, words: string, waitMs: number): FailedOutcome {
  const detail = shown ?? words
  return is === 'busy' ? { kind: 'retry', waitMs, detail } : { kind: is, detail }
}

/** Classifies a failure that a platform reports later, without an answer to a call. */
export function classifyReport(rules: readonly OutcomeRule[], failure: Failure, detail: string): FailedOutcome {
  const rule = rules.find((one) => one.status === undefined && applies(one, failure))
  // The message was accepted once: another attempt would be a new one.
  if (!rule || rule.is === 'busy' || rule.is === 'retry' || rule.is === 'ambiguous') return { kind: 'fatal', detail }
  return { kind: rule.is, detail: rule.detail ?? detail }
}

/** The failure of a call that shows nothing to anybody, such as an upload: without an answer it is repeated. */
export const repeatable = (outcome: FailedOutcome): FailedOutcome =>
  outcome.kind === 'ambiguous' ? { kind: 'retry', detail: outcome.detail } : outcome

/** The outcome of an edit of a message. A platform that names no code for it answers 404. */
export function editedOutcome(answer: ApiResult, id: string): SendOutcome {
  const isGone = answer.kind === 'failed' && answer.status === 404
  return isGone ? { kind: 'gone', detail: answer.outcome.detail } : sentOutcome(answer, () => id)
}

/** The outcome of a call that sends. `idOf` finds the id of the message. */
export function sentOutcome(answer: ApiResult, idOf?: (result: JsonObject) => unknown): SendOutcome {
  if (answer.kind === 'failed') return answer.outcome
  const id = idOf?.(answer.result)
  return { kind: 'sent', ...(typeof id === 'string' && id && { id }) }
}

/** A chat that a call has asked for. */
export function resolveBy(
  answer: ApiResult,
  found: Omit<Extract<ResolvedTarget, { kind: 'found' }>, 'kind'>,
): ResolvedTarget {
  if (answer.kind === 'done') return { kind: 'found', ...found }
  const { kind, detail } = answer.outcome
  return kind === 'retry' || kind === 'ambiguous'
    ? { kind: 'unavailable', detail, isGroup: found.isGroup }
    : { kind: 'unknown', detail: `The platform does not know this chat, or the bot cannot write there: ${detail}` }
}

/** Why a file cannot be read: the call for its address failed. */
export const failedMedia = ({ kind, detail }: FailedOutcome): FetchedMedia => ({
  kind: 'failed',
  detail,
  canRetry: kind === 'retry' || kind === 'ambiguous',
})
