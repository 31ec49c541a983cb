/** Lists every code of an error of the API. The compiler finds one that is missing. */

import type { AppError } from '#worker/errors.ts'

const codes: Readonly<Record<AppError['code'], true>> = {
  blocked_url: true,
  body_too_large: true,
  conflict: true,
  context_length_exceeded: true,
  disk_full: true,
  idempotency_key_conflict: true,
  insufficient_quota: true,
  insufficient_scope: true,
  internal_error: true,
  invalid_api_key: true,
  invalid_json: true,
  invalid_output: true,
  invalid_request: true,
  limit_exceeded: true,
  loop_detected: true,
  method_not_allowed: true,
  model_not_found: true,
  not_configured: true,
  not_found: true,
  policy: true,
  precondition_failed: true,
  previous_response_not_found: true,
  provider_error: true,
  provider_key_rejected: true,
  range_not_satisfiable: true,
  rate_limit_exceeded: true,
  tenant_suspended: true,
  unavailable: true,
  unsupported: true,
  websocket_connection_limit_reached: true,
}
export const errorCodes = Object.keys(codes) as readonly AppError['code'][]
