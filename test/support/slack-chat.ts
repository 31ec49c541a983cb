/** Simulates a Slack workspace: a bot with its channel, signed events, and the command `/talaria`. */

import { computeHmac, concatBytes } from '#channels/hmac.ts'
import { call, request } from '../worker/client.ts'
import { createSlackApi } from './slack-api.ts'
import { toHex } from '#durable/platform/hash.ts'

const bytesOf = (text: string) => new TextEncoder().encode(text)

/** Creates a channel that accepts everybody. */
export async function createSlackChat(key: string, settings: object = {}) {
  const { api, token } = createSlackApi()
  const { status, body: channel } = await call<{ id: string }>('POST', '/api/channels', {
    key,
    body: {
      platform: 'slack',
      secrets: { bot_token: token, signing_secret: 's' },
      settings: { allow_users: ['*'], allow_chats: ['*'], ...settings },
    },
  })
  if (status !== 201) throw new Error(`no channel: ${status} ${JSON.stringify(channel)}`)
  const post = async (text: string) => {
    const time = String(Math.floor(Date.now() / 1_000))
    const signature = toHex(await computeHmac('SHA-256', 's', concatBytes(`v0:${time}:`, bytesOf(text))))
    const headers = { 'x-slack-request-timestamp': time, 'x-slack-signature': `v0=${signature}` }
    const answer = await request('POST', `/webhooks/slack/${channel.id}`, { key: null, body: bytesOf(text), headers })
    if (answer.status !== 200) throw new Error(`${answer.status} ${await answer.text()}`)
  }
  /** A message of U1 in the channel C1, unless the fields say otherwise. */
  const send = (fields: object) => {
    const event = { type: 'message', user: 'U1', channel: 'C1', channel_type: 'channel', ...fields }
    const authorizations = [{ user_id: 'UBOT' }]
    return post(JSON.stringify({ type: 'event_callback', team_id: 'T1', event, authorizations }))
  }
  return { api, channel: channel.id, post, send }
}
