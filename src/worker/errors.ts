/** Defines the error type of the HTTP API and renders every error response. */

import { log } from '#agent/core/log.ts'
import { createErrorBody } from '#agent/public-api/error-body.ts'
import { isObjectReset } from '#durable/platform/object-reset.ts'
import { isUnknownMethod } from '#durable/platform/retry-calls.ts'
import type { FailureCode, RunFailure } from '#agent/public-api/run-failure.ts'

export type ErrorCode =
  | 'invalid_json'
  | 'invalid_request'
  | 'blocked_url'
  | 'unsupported'
  | 'invalid_api_key'
  | 'insufficient_scope'
  | 'policy'
  | 'tenant_suspended'
  | 'not_found'
  | 'model_not_found'
  | 'method_not_allowed'
  | 'conflict'
  | 'idempotency_key_conflict'
  | 'precondition_failed'
  | 'range_not_satisfiable'
  | 'body_too_large'
  | 'limit_exceeded'
  | 'disk_full'
  | 'loop_detected'
  | 'not_configured'
  | 'unavailable'
  | 'internal_error'
  | 'previous_response_not_found'
  | 'websocket_connection_limit_reached'

type ErrorOptions = {
  /** The field, header or limit that caused the error. */
  readonly param?: string | undefined
  /** Seconds. */
  readonly retryAfter?: number | undefined
  readonly headers?: Readonly<Record<string, string>>
  readonly cause?: unknown
}

export class AppError extends Error {
  override readonly name = 'AppError'
  readonly status: number
  readonly code: ErrorCode | FailureCode
  readonly param: string | undefined
  readonly retryAfter: number | undefined
  readonly headers: Readonly<Record<string, string>>

  constructor(
    status: number,
    code: ErrorCode | FailureCode,
    message: string,
    { param, retryAfter, headers = {}, cause }: ErrorOptions = {},
  ) {
    super(message, { cause })
    this.status = status
    this.code = code
    this.param = param
    this.retryAfter = retryAfter
    this.headers = headers
  }
}

/** Unknown and malformed ids and those of other tenants get the same answer, which reveals nothing. */
export const notFound = (): AppError => new AppError(404, 'not_found', 'There is nothing here, or it is not yours.')

export const invalid = (message: string, param?: string): AppError =>
  new AppError(400, 'invalid_request', message, { param })

/** The agent has already tried all remedies, and its tools may have run, so SDKs must not repeat the request themselves. */
export const runFailed = (
  { status, code, message, retryAfter }: RunFailure,
  headers: Record<string, string>,
): AppError => new AppError(status, code, message, { retryAfter, headers: { ...headers, 'x-should-retry': 'false' } })

/** Cursors are opaque: clients may only send back one that they received. */
export const invalidCursor = (): AppError => invalid('The cursor must be the next_cursor of another page.', 'cursor')

export const toAppError = (error: unknown): AppError => (error instanceof AppError ? error : toUnexpectedError(error))

export function renderError(error: unknown): Response {
  const appError = toAppError(error)
  const headers: Record<string, string> = { ...appError.headers }
  if (appError.retryAfter !== undefined) headers['retry-after'] = String(appError.retryAfter)
  else if (appError.status === 503) headers['retry-after'] = '5'
  if (appError.status === 401) headers['www-authenticate'] = 'Bearer'
  return Response.json(createErrorBody(appError), { status: appError.status, headers })
}

/** Transient errors of the platform may be retried. All others are defects: logged, and shown without details. */
function toUnexpectedError(error: unknown): AppError {
  if (isTransient(error)) {
    log.warn('request.interrupted', 'The platform interrupted a request.', { error })
    return new AppError(503, 'unavailable', 'The system is restarting or busy. Try again in a moment.', {
      cause: error,
    })
  }
  if (isOfBackend(error)) {
    log.warn('request.no_backend', 'A host did not do what a request needs.', { error })
    return new AppError(503, 'unavailable', error.message, { retryAfter: 30, cause: error })
  }
  log.error('request.failed', 'Unexpected error.', { error })
  return new AppError(500, 'internal_error', 'Something went wrong inside. It has been logged.', { cause: error })
}

/** How messages of the runtime, of D1 and of a move between databases begin. */
const transientMessage =
  /^(?:D1_ERROR: )?(?:network connection lost|the object was written by newer code|the history of this tenant is being moved|durable object is overloaded|D1 DB |cannot resolve D1 DB |internal error(?:;| in D1 | while starting up D1 ))/i

/** Errors keep their name between objects, and lose their class. */
const isOfBackend = (error: unknown): error is Error => error instanceof Error && error.name === 'BackendError'

const isTransient = (error: unknown): boolean =>
  isObjectReset(error) ||
  isUnknownMethod(error) ||
  (error instanceof Error && ('retryable' in error || 'overloaded' in error || transientMessage.test(error.message)))
