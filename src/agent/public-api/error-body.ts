/** Defines the body of every error of the HTTP API. */

const types: Readonly<Record<number, string>> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  402: 'insufficient_quota',
  403: 'permission_error',
  404: 'not_found_error',
  405: 'invalid_request_error',
  409: 'conflict_error',
  412: 'conflict_error',
  413: 'invalid_request_error',
  416: 'invalid_request_error',
  429: 'rate_limit_error',
}

export type ErrorBody = {
  readonly error: {
    readonly message: string
    readonly type: string
    readonly code: string
    readonly param: string | null
  }
}

type ErrorParts = {
  readonly status: number
  readonly code: string
  readonly message: string
  readonly param?: string | undefined
}

export const createErrorBody = ({ status, code, message, param }: ErrorParts): ErrorBody => ({
  error: { message, type: types[status] ?? 'server_error', code, param: param ?? null },
})
