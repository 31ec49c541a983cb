/** Receives the requests of a generic webhook: raw bytes, size, then acceptance, whose outcome becomes the response. */

import { acceptWebhook, type WebhookOutcome } from '#durable/channels/webhooks/accept-webhook.ts'
import { loadWebhook } from '#durable/channels/webhooks/load-webhook.ts'
import { AppError, notFound } from '../../errors.ts'
import { readBytes } from '../../input/body.ts'
import type { RequestContext } from '../../route.ts'

const maxBytes = 1024 * 1024
const webhookId = /^wh_[a-f0-9]{32}$/

export async function receiveGenericWebhook(web: RequestContext): Promise<Response> {
  const receivedAt = Date.now()
  const id = web.req.param('connection') ?? ''
  const webhook = webhookId.test(id) ? await loadWebhook(web.env, id, receivedAt) : undefined
  if (!webhook) throw notFound()
  if (!webhook.secrets.length) throw new AppError(503, 'not_configured', 'This webhook cannot be used now.')
  const { method, headers } = web.req.raw
  const body = await readBytes(web.req.raw, { bytes: maxBytes, text: '1 MB' })
  const request = { method, url: new URL(web.req.url), headers, body, receivedAt }
  return respond(await acceptWebhook(web.env, webhook, request))
}

function respond(outcome: WebhookOutcome): Response {
  switch (outcome.kind) {
    case 'refused':
      return new Response(null, { status: 401 })
    case 'accepted':
      return Response.json(
        { status: 'accepted', session_id: outcome.sessionId ?? null, run_id: outcome.runId ?? null },
        { status: 202 },
      )
    case 'too-many':
      throw new AppError(429, 'limit_exceeded', 'This webhook was called too often.', {
        retryAfter: outcome.retryAfter,
      })
    case 'unavailable':
      throw new AppError(503, 'unavailable', 'This cannot be accepted now. Try again in a moment.')
    case 'failed':
      throw new AppError(502, 'provider_error', outcome.detail)
    default:
      return Response.json({ status: outcome.kind })
  }
}
