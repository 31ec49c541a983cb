/** Calls Slack's Web API. Slack reports most failures with status 200 and `ok: false`. */

import type { ChannelConnection } from '../channel.ts'
import { type ApiResult, defineApi } from '../kit/api.ts'

/** Methods that do not read JSON. */
const formMethods = new Set(['conversations.info', 'files.getUploadURLExternal', 'files.info'])

const call = defineApi({
  headers: ({ secrets }) => ({ authorization: `Bearer ${secrets['bot_token'] ?? ''}` }),
  isDone: ({ ok }) => ok === true,
  readFailure: ({ ok, error }) => {
    const code = typeof error === 'string' ? error.slice(0, 100) : ''
    return ok === false ? { code, message: code || 'the platform refused without a reason' } : { message: code }
  },
  outcomes: [
    { codes: ['ratelimited', 'rate_limited'], is: 'busy' },
    {
      codes: ['internal_error', 'fatal_error', 'service_unavailable', 'request_timeout', 'team_access_not_granted'],
      is: 'retry',
    },
    { codes: ['msg_too_long', 'msg_blocks_too_long'], is: 'too_long' },
    {
      codes: ['invalid_blocks', 'invalid_blocks_format', 'invalid_attachments', 'markdown_text_conflict'],
      is: 'format',
    },
    { codes: ['message_not_found', 'cant_update_message', 'edit_window_closed'], is: 'gone' },
    {
      codes: [
        'access_denied',
        'account_inactive',
        'as_user_not_supported',
        'cannot_dm_bot',
        'channel_not_found',
        'ekm_access_denied',
        'enterprise_is_restricted',
        'invalid_auth',
        'is_archived',
        'missing_scope',
        'no_permission',
        'not_allowed_token_type',
        'not_authed',
        'not_in_channel',
        'org_login_required',
        'restricted_action',
        'restricted_action_read_only_channel',
        'restricted_action_thread_only_channel',
        'thread_locked',
        'token_expired',
        'token_revoked',
        'two_factor_setup_required',
        'user_disabled',
        'user_not_found',
      ],
      is: 'forbidden',
    },
    { codes: 'any', is: 'fatal' },
  ],
})

export function callSlack(
  connection: ChannelConnection,
  method: string,
  fields: Readonly<Record<string, unknown>>,
): Promise<ApiResult> {
  if (!formMethods.has(method))
    return call(connection, {
      method: 'POST',
      path: method,
      body: fields,
      headers: { 'content-type': 'application/json; charset=utf-8' },
    })
  const body = new URLSearchParams(Object.entries(fields).map(([name, value]) => [name, String(value)]))
  return call(connection, { method: 'POST', path: method, body })
}
