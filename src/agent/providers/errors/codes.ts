/**
 * Codes and types by which providers name an error where there is no status: inside an answer that began
 * well, and in the exceptions of their streams. Lower case. Where one error has several, the first row counts.
 */

import type { FailureKind } from '../../model/failure.ts'

export const codeKinds: readonly (readonly [FailureKind, readonly string[]])[] = [
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

/** The provider failed, it says no more. */
export const theirFault: ReadonlySet<string> = new Set([
  'server_error',
  'api_error',
  'internal_server_error',
  'internal_error',
  'internalserverexception',
  'modelerrorexception',
  'internal',
  'upstream_error',
])

/** Something about the request is wrong, it says no more. */
export const ourFault: ReadonlySet<string> = new Set([
  'invalid_request_error',
  'invalid_argument',
  'validationexception',
  'bad_request',
])
