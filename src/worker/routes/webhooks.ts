/**
 * Serves `/webhooks/{platform}/{connection}`, where messaging platforms deliver events. In this order: raw bytes, size,
 * signature, parsing, durable acceptance of each event, response. An earlier response would lose an event after a crash;
 * any response but 2xx makes the platform deliver again.
 */

import * as z from 'zod'
import type { InboundRequest } from '#channels/channel.ts'
import { webhookPlatform } from '#db/channel-connections.ts'
import { SessionUnavailable } from '#durable/channels/accept-events.ts'
import { acceptRequest } from '#durable/channels/accept-request.ts'
import { type LoadedConnection, loadConnection } from '#durable/tenant/channels/connection.ts'
import { readBytes } from '../input/body.ts'
import { AppError, notFound } from '../errors.ts'
import type { OpenRoute, RequestContext } from '../route.ts'
import { callParam, channelParam, pathSecretParam, platformParam } from '../openapi/path-params.ts'
import { ok } from '../shapes.ts'

export const maxBytes = 1024 * 1024
/** Ids of generic webhooks begin with `wh_`. */
export const connectionId = /^(?!wh_)[A-Za-z0-9_]{1,100}$/
const path = '/webhooks/:platform/:connection'
const secretPath = `${path}/:secret`
const relayPath = `${path}/relay/:call`
const pushPath = '/_matrix/push/v1/notify'

export const webhookRoutes: readonly OpenRoute[] = [
  {
    method: 'post',
    path,
    id: 'receiveWebhook',
    params: { platform: platformParam, connection: channelParam },
    description: 'For messaging platforms. The platform signs its requests; no key is needed.',
    errors: ['BadRequest', 'NotFound', 'TooManyRequests'],
    scope: null,
    tag: 'Channels',
    summary: 'Receives events of a messaging platform, signed as the platform signs',
    responses: {
      200: { description: 'Verified, and the events are durable; some platforms expect a body' },
      202: { description: 'A generic webhook has begun a turn or a job' },
      401: { description: 'The signature is missing or wrong' },
      413: { description: 'More than 1 MB' },
      429: { description: 'A generic webhook was called more than 30 times in a minute' },
      502: { description: 'The turn, job or message of the webhook failed' },
    },
    mount: (app) => void app.post(path, receivePost),
  },
  {
    method: 'get',
    path,
    id: 'verifyWebhook',
    params: { platform: platformParam, connection: channelParam },
    errors: ['BadRequest', 'NotFound'],
    scope: null,
    tag: 'Channels',
    summary: 'Answers the challenge with which some platforms check the address',
    responses: {
      200: { description: 'The challenge' },
      401: { description: 'The signature is missing or wrong' },
      403: { description: 'The token of the challenge is missing or wrong' },
    },
    mount: (app) => void app.get(path, receiveWebhook),
  },
  {
    method: 'post',
    path: secretPath,
    id: 'receiveSecretWebhook',
    params: { platform: platformParam, connection: channelParam, secret: pathSecretParam },
    description: 'For platforms that cannot sign. No key is needed.',
    errors: ['BadRequest', 'NotFound'],
    scope: null,
    tag: 'Channels',
    summary: 'Receives events of a platform that proves itself by a secret in the address',
    responses: {
      200: { description: 'Verified, and the events are durable' },
      401: { description: 'The secret is wrong' },
      413: { description: 'More than 1 MB' },
    },
    mount: (app) => void app.post(secretPath, receiveWebhook),
  },
  {
    method: 'get',
    path: relayPath,
    id: 'streamCall',
    params: { platform: platformParam, connection: channelParam, call: callParam },
    description: 'For the carrier of a telephone call, which signs the handshake. No key is needed.',
    errors: ['BadRequest', 'NotFound'],
    scope: null,
    tag: 'Channels',
    summary: 'Opens the socket of a telephone call (ConversationRelay)',
    responses: {
      101: { description: 'The socket' },
      401: { description: 'The address or the signature is wrong, or the call is over' },
      426: { description: 'No upgrade to a socket' },
    },
    mount: (app) => void app.get(relayPath, openRelay),
  },
  {
    method: 'post',
    path: pushPath,
    id: 'receiveMatrixPush',
    description: 'For Matrix homeservers. The pushkey names the channel and proves the homeserver; no key is needed.',
    errors: ['BadRequest'],
    scope: null,
    tag: 'Channels',
    summary: 'Receives the push notifications of Matrix homeservers',
    responses: {
      ...ok('The pushkeys that are not valid any more', z.object({ rejected: z.array(z.string()) })),
      413: { description: 'More than 1 MB' },
    },
    mount: (app) => void app.post(pushPath, receivePush),
  },
]

async function openRelay(web: RequestContext): Promise<Response> {
  const { openCallRelay } = await import('./webhooks/open-call-relay.ts')
  return openCallRelay(web, await findConnection(web, Date.now()))
}

async function receivePush(web: RequestContext): Promise<Response> {
  const { receiveMatrixPush } = await import('./webhooks/receive-matrix-push.ts')
  return receiveMatrixPush(web)
}

/** `/webhooks/webhook/{id}` is a generic webhook, every other address that of a platform. */
const receivePost = (web: RequestContext): Promise<Response> =>
  web.req.param('platform') === webhookPlatform ? receiveGeneric(web) : receiveWebhook(web)

async function receiveGeneric(web: RequestContext): Promise<Response> {
  const { receiveGenericWebhook } = await import('./webhooks/receive-generic.ts')
  return receiveGenericWebhook(web)
}

async function receiveWebhook(web: RequestContext): Promise<Response> {
  const receivedAt = Date.now()
  const connection = await findConnection(web, receivedAt)
  const { method, headers } = web.req.raw
  const body = await readBytes(web.req.raw, { bytes: maxBytes, text: '1 MB' })
  const request = { method, url: new URL(web.req.url), headers, body, receivedAt }
  return accept(web, connection, request)
}

async function findConnection(web: RequestContext, now: number): Promise<LoadedConnection> {
  const id = web.req.param('connection') ?? ''
  const connection = connectionId.test(id) ? await loadConnection(web.env, id, now) : undefined
  if (!connection) throw notFound()
  if ('refused' in connection) throw new AppError(503, 'not_configured', 'This channel cannot be used now.')
  const { platform, hasPathSecret = false } = connection.channel
  const isOther = platform !== web.req.param('platform')
  if (isOther || (web.req.param('secret') !== undefined && !hasPathSecret)) throw notFound()
  return connection
}

export async function accept(
  web: RequestContext,
  connection: LoadedConnection,
  request: InboundRequest,
): Promise<Response> {
  const context = {
    env: web.env,
    requestId: web.get('requestId'),
    runInBackground: (work: Promise<unknown>) => web.executionCtx.waitUntil(work),
  }
  try {
    return await acceptRequest(context, connection, request)
  } catch (error) {
    if (!(error instanceof SessionUnavailable)) throw error
    throw new AppError(503, 'unavailable', 'This session is being deleted. Try again in a moment.')
  }
}
