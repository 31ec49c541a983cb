/** Maps a failed run to the status, code and text of an error of OpenAI's API. */

import type { RunEnded, SessionEvent } from '#agent/core/event.ts'
import { type FailureKind, failureNoticeOpening, failureReasons } from '#agent/core/failure.ts'
import { createErrorBody, type ErrorBody } from './error-body.ts'

export type FailureCode =
  | 'provider_error'
  | 'provider_key_rejected'
  | 'insufficient_quota'
  | 'rate_limit_exceeded'
  | 'limit_exceeded'
  | 'context_length_exceeded'
  | 'model_not_found'
  | 'not_configured'
  | 'unavailable'
  | 'unsupported'
  | 'invalid_request'
  | 'invalid_output'

export type RunFailure = {
  readonly status: number
  readonly code: FailureCode
  readonly message: string
  /** Seconds. */
  readonly retryAfter?: number
}

/** Seconds. Clients expect the header with these two statuses. */
const defaultRetryAfter = 30

type FailureStatus = readonly [status: number, code: FailureCode]

const providerError: FailureStatus = [502, 'provider_error']
const unsupported: FailureStatus = [400, 'unsupported']
const tooLong: FailureStatus = [400, 'context_length_exceeded']
const rateLimited: FailureStatus = [429, 'rate_limit_exceeded']

/** The failures that are not an unspecific error of the provider. */
const answers: Partial<Record<FailureKind, FailureStatus>> = {
  auth: [401, 'provider_key_rejected'],
  'key-dead': [401, 'provider_key_rejected'],
  forbidden: [403, 'provider_key_rejected'],
  'account-policy': [403, 'provider_key_rejected'],
  quota: [402, 'insufficient_quota'],
  rate: rateLimited,
  'upstream-rate': rateLimited,
  limit: [429, 'limit_exceeded'],
  overloaded: [503, 'unavailable'],
  unconfigured: [503, 'not_configured'],
  'missing-model': [404, 'model_not_found'],
  'too-long': tooLong,
  'too-large': tooLong,
  'long-context-tier': tooLong,
  'image-too-large': unsupported,
  'no-images': unsupported,
  'output-cap': unsupported,
  unpriced: unsupported,
  invalid: [400, 'invalid_request'],
  'invalid-output': [422, 'invalid_output'],
  'too-many-calls': [422, 'invalid_output'],
}

/** Undefined for a run that did not fail. A model that declines has answered: `finish_reason` says so. */
export function toRunFailure(end: RunEnded | SessionEvent): RunFailure | undefined {
  if (end.type !== 'run.failed' || end.exit_reason === 'failed_refused') return undefined
  const kind = end.exit_reason.replace(/^failed_/, '').replaceAll('_', '-') as FailureKind
  const retryAfterMs = end.retry_after === undefined ? undefined : end.retry_after * 1_000
  return renderFailure({ kind, message: end.error ?? '', retryAfterMs }, 'The agent could not answer')
}

type FailureFields = {
  readonly kind: FailureKind
  readonly message: string
  readonly retryAfterMs?: number | undefined
}

/** `opening`: what could not be done. */
export function renderFailure({ kind, message, retryAfterMs }: FailureFields, opening: string): RunFailure {
  const [status, code] = answers[kind] ?? providerError
  const reason = failureReasons[kind] ?? failureReasons.unknown
  const detail = message && message !== kind ? ` (${message})` : ''
  const retryAfter = retryAfterMs === undefined ? defaultRetryAfter : Math.ceil(retryAfterMs / 1_000)
  return {
    status,
    code,
    message: `${opening}: ${reason}${detail}.`,
    ...((status === 429 || status === 503) && { retryAfter }),
  }
}

type RenderFailure = (event: SessionEvent) => string

/** Drops the notice of a failed run from a stream whose last frame is the error. Holds such a delta until the next event. */
export function dropFailureNotice(render: RenderFailure): RenderFailure {
  let held: SessionEvent | undefined
  return (event) => {
    const notice = held
    held = isNoticeDelta(event) ? event : undefined
    const before = notice && !toRunFailure(event) ? render(notice) : ''
    return held ? before : before + render(event)
  }
}

const isNoticeDelta = (event: SessionEvent): boolean =>
  event.type === 'message.delta' && event.delta.trimStart().startsWith(failureNoticeOpening)

export const renderFailureBody = ({ status, code, message }: RunFailure): ErrorBody =>
  createErrorBody({ status, code, message })
