/** Calls Slack's Web API and classifies its answers. Slack reports most failures with status 200 and `ok: false`. */

import { type ApiAnswer, busyWaitMs, callApi, classifyStatus, type FailedOutcome, joinUrl } from '../call-api.ts'
import type { ChannelConnection } from '../channel.ts'

export type SlackResult =
  | { readonly kind: 'done'; readonly result: Readonly<Record<string, unknown>> }
  | { readonly kind: 'failed'; readonly outcome: FailedOutcome; readonly error: string }

/** Methods that do not read JSON. */
const formMethods = new Set(['conversations.info', 'files.getUploadURLExternal', 'files.info'])

export async function callSlack(
  { apiBase, secrets }: ChannelConnection,
  method: string,
  body: Readonly<Record<string, unknown>>,
): Promise<SlackResult> {
  const isForm = formMethods.has(method)
  const form = () => new URLSearchParams(Object.entries(body).map(([name, value]) => [name, String(value)]))
  const answer = await callApi(joinUrl(apiBase, method), {
    method: 'POST',
    headers: {
      authorization: `Bearer ${secrets['bot_token'] ?? ''}`,
      'content-type': isForm ? 'application/x-www-form-urlencoded' : 'application/json; charset=utf-8',
    },
    body: isForm ? form().toString() : JSON.stringify(body),
  })
  if (answer.kind === 'ambiguous') return { kind: 'failed', outcome: answer, error: '' }
  return classifyAnswer(answer)
}

function classifyAnswer(answer: ApiAnswer): SlackResult {
  const body = (answer.body ?? {}) as { readonly ok?: unknown; readonly error?: unknown }
  if (body.ok === true) return { kind: 'done', result: body as Record<string, unknown> }
  const error = typeof body.error === 'string' ? body.error.slice(0, 100) : ''
  if (body.ok !== false || answer.status === 429) return failed(classifyStatus(answer, error), error)
  return failed(classifyError(error, answer), error)
}

const failed = (outcome: FailedOutcome, error: string): SlackResult => ({ kind: 'failed', outcome, error })

type SlackFailureKind = 'retry' | 'too_long' | 'format' | 'gone' | 'forbidden'

const kinds: Readonly<Record<SlackFailureKind, readonly string[]>> = {
  retry: ['internal_error', 'fatal_error', 'service_unavailable', 'request_timeout', 'team_access_not_granted'],
  too_long: ['msg_too_long', 'msg_blocks_too_long'],
  format: ['invalid_blocks', 'invalid_blocks_format', 'invalid_attachments', 'markdown_text_conflict'],
  gone: ['message_not_found', 'cant_update_message', 'edit_window_closed'],
  forbidden: [
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
}
const kindOfError = new Map(
  Object.entries(kinds).flatMap(([kind, errors]) => errors.map((error) => [error, kind as SlackFailureKind])),
)

function classifyError(error: string, answer: ApiAnswer): FailedOutcome {
  const detail = error || 'the platform refused without a reason'
  if (error === 'ratelimited' || error === 'rate_limited') return { kind: 'retry', waitMs: busyWaitMs(answer), detail }
  return { kind: kindOfError.get(error) ?? 'fatal', detail }
}
