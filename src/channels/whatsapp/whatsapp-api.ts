/** Calls the Graph API for WhatsApp and classifies its answers. */

import { type ApiAnswer, type ApiRequest, callApi, classifyStatus, type FailedOutcome, joinUrl } from '../call-api.ts'
import type { ChannelConnection } from '../channel.ts'

const graphVersion = 'v23.0'

export type GraphResult =
  | { readonly kind: 'done'; readonly result: Readonly<Record<string, unknown>> }
  | { readonly kind: 'failed'; readonly outcome: FailedOutcome }

type GraphRequest = {
  readonly method: ApiRequest['method']
  readonly path: string
  readonly body?: object | FormData
}

export async function callGraph({ apiBase, secrets }: ChannelConnection, request: GraphRequest): Promise<GraphResult> {
  const { method, path, body } = request
  const content = body instanceof FormData || body === undefined ? body : JSON.stringify(body)
  const answer = await callApi(joinUrl(apiBase, `${graphVersion}/${path}`), {
    method,
    headers: {
      authorization: `Bearer ${secrets['access_token'] ?? ''}`,
      ...(typeof content === 'string' && { 'content-type': 'application/json' }),
    },
    ...(content !== undefined && { body: content }),
  })
  if (answer.kind === 'ambiguous') return { kind: 'failed', outcome: answer }
  const { status, body: result } = answer
  if (status >= 200 && status < 300 && typeof result === 'object' && result !== null)
    return { kind: 'done', result: result as Record<string, unknown> }
  return { kind: 'failed', outcome: classifyFailure(answer) }
}

function classifyFailure(answer: ApiAnswer): FailedOutcome {
  const { error } = (answer.body ?? {}) as { readonly error?: { readonly code?: number; readonly message?: string } }
  const { code, message = '' } = error ?? {}
  const byStatus = classifyStatus(answer, message)
  if (code === undefined || answer.status < 400 || answer.status >= 500) return byStatus
  const outcome = classifyCode(code, byStatus.detail, message)
  return outcome.kind === 'retry' && byStatus.kind === 'retry' ? byStatus : outcome
}

/** Codes of Meta's error reference. */
const codes = {
  retry: new Set([1, 2, 4, 17, 32, 613, 80_007, 130_429, 131_000, 131_016, 131_056, 133_004]),
  /** The rates among them. */
  busy: new Set([4, 17, 32, 613, 80_007, 130_429, 131_056]),
  window: new Set([131_047]),
  forbidden: new Set([
    0, 3, 10, 190, 200, 368, 130_472, 131_005, 131_021, 131_026, 131_030, 131_031, 131_042, 131_045, 131_049, 131_050,
    133_010,
  ]),
}
const busyWaitMs = 5_000

export function classifyCode(code: number, detail: string, message = ''): FailedOutcome {
  if (codes.window.has(code))
    return { kind: 'window', detail: 'more than 24 hours since the person last wrote; WhatsApp accepts only templates' }
  if (codes.retry.has(code)) return { kind: 'retry', detail, ...(codes.busy.has(code) && { waitMs: busyWaitMs }) }
  if (codes.forbidden.has(code)) return { kind: 'forbidden', detail }
  if (/too long|length|at most \d{1,6} char/i.test(message)) return { kind: 'too_long', detail }
  return { kind: 'fatal', detail }
}
