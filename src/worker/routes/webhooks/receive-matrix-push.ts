/**
 * Serves `/_matrix/push/v1/notify`, whose path Matrix fixes: the pushkeys name the channels. Unknown and wrong ones are
 * rejected without a request or a write, so that the homeserver removes their pushers.
 */

import { parseJson } from '#agent/core/parse-json.ts'
import { pickList, pickText } from '#channels/kit/pick.ts'
import { loadConnection } from '#durable/tenant/channels/connection.ts'
import { readBytes } from '../../input/body.ts'
import type { RequestContext } from '../../route.ts'
import { accept, connectionId, maxBytes } from '../webhooks.ts'

/** A homeserver sends one notification to one device in each request. */
const maxDevices = 10

export async function receiveMatrixPush(web: RequestContext): Promise<Response> {
  const receivedAt = Date.now()
  const { method, headers } = web.req.raw
  const body = await readBytes(web.req.raw, { bytes: maxBytes, text: '1 MB' })
  const request = { method, url: new URL(web.req.url), headers, body, receivedAt }
  const rejected: string[] = []
  for (const device of pickList(parseJson(body), 'notification', 'devices').slice(0, maxDevices)) {
    const pushkey = pickText(device, 'pushkey') ?? ''
    const [id = ''] = pushkey.split('.')
    const connection = connectionId.test(id) ? await loadConnection(web.env, id, receivedAt) : undefined
    // Its secrets cannot be opened now. The pusher stays.
    if (connection && 'refused' in connection) continue
    const isOwn = connection?.channel.platform === 'matrix'
    const answer = isOwn ? await accept(web, connection, request) : undefined
    if (answer?.status !== 200) rejected.push(pushkey)
  }
  return Response.json({ rejected })
}
