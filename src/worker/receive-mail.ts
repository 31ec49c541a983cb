/**
 * Receives mail from Email Routing. The handler returns after the mail is durable: an error makes the sender's server try
 * again. Mail to an unknown address is rejected. Mail of an unknown or unproven sender gets no answer.
 */

import { findMailConnection } from '#db/channel-connections.ts'
import { acceptRequest } from '#durable/channels/accept-request.ts'
import { loadConnection } from '#durable/tenant/channels/connection.ts'

const maxBytes = 10 * 1024 * 1024

export async function receiveMail(
  message: ForwardableEmailMessage,
  env: Env,
  context: ExecutionContext,
): Promise<void> {
  const id = await findMailConnection(env.DB, message.to)
  const receivedAt = Date.now()
  const connection = id === undefined ? undefined : await loadConnection(env, id, receivedAt)
  if (!connection || 'refused' in connection) return message.setReject('There is no such address here.')
  if (message.rawSize > maxBytes) return message.setReject('The mail is too large.')
  const body = new Uint8Array(await new Response(message.raw).arrayBuffer())
  const headers = new Headers({ 'x-envelope-from': message.from, 'x-envelope-to': message.to })
  const request = { method: 'EMAIL', url: new URL(connection.webhookUrl), headers, body, receivedAt }
  const runInBackground = (work: Promise<unknown>) => context.waitUntil(work)
  await acceptRequest({ env, runInBackground }, connection, request)
}
