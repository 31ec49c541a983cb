/**
 * Lists the error codes and types of providers. They decide where there is no HTTP status: for an error
 * inside a 200 answer, and for exceptions in a stream. All are lower case.
 */

import type { FailureKind } from '#agent/core/failure.ts'

/** Ordered: if an error carries several codes, the first row wins. */
export const kindsByCode: readonly (readonly [FailureKind, readonly string[]])[] = [
  ['too-long', ['context_length_exceeded', 'string_above_max_length', 'model_context_window_exceeded']],
  ['encrypted-reasoning', ['invalid_encrypted_content']],
  ['quota', ['insufficient_quota', 'billing_error', 'billing_hard_limit_reached', 'billing_not_active']],
  ['key-dead', ['account_deactivated']],
  ['auth', ['authentication_error', 'invalid_api_key', 'invalid_authentication', 'unrecognizedclientexception']],
  ['missing-model', ['model_not_found', 'not_found_error', 'resourcenotfoundexception']],
  ['forbidden', ['permission_error', 'permission_denied', 'accessdeniedexception']],
  ['too-large', ['request_too_large']],
  ['overloaded', ['overloaded_error', 'engine_overloaded', 'service_unavailable', 'serviceunavailableexception']],
  ['overloaded', ['modelnotreadyexception', 'slow_down', 'unavailable']],
  ['rate', ['rate_limit_error', 'ratelimiterror', 'rate_limit_exceeded', 'rate_limited', 'too_many_requests']],
  ['rate', ['throttlingexception', 'servicequotaexceededexception', 'resource_exhausted', 'tokens', 'requests']],
  ['network', ['timeout_error', 'timeout', 'modeltimeoutexception', 'deadline_exceeded']],
  ['server', ['modelstreamerrorexception']],
]

/** Codes that only say that the provider failed. */
export const providerFaultCodes: ReadonlySet<string> = new Set([
  'server_error',
  'api_error',
  'internal_server_error',
  'internal_error',
  'internalserverexception',
  'modelerrorexception',
  'internal',
  'upstream_error',
])

/** Codes that only say that the request is invalid. */
export const requestFaultCodes: ReadonlySet<string> = new Set([
  'invalid_request_error',
  'invalid_argument',
  'validationexception',
  'bad_request',
])
