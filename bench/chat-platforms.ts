/** Signs messages of platforms, for measurements and for tests that kill the server. `PLATFORM` names one. */

import { createHmac } from 'node:crypto'

export type ChatMessage = { readonly chat: number; readonly text: string }
type Signed = { readonly body: string; readonly headers: Readonly<Record<string, string>> }

export type ChatPlatform = {
  /** Replaces the address of the API. */
  readonly variable: string
  readonly secrets: Readonly<Record<string, string>>
  /** A number names a message. */
  readonly sign: (n: number, message: ChatMessage) => Signed
}

const secret = 'a-webhook-secret-with-32-characters'
const json = { 'content-type': 'application/json' }
const hmac = (content: string) => createHmac('sha256', secret).update(content)

export const chatPlatforms: Readonly<Record<string, ChatPlatform>> = {
  slack: {
    variable: 'SLACK_API_BASE',
    secrets: { bot_token: 'xoxb-bench', signing_secret: secret },
    sign: (n, { chat, text }) => {
      const seconds = Math.floor(Date.now() / 1_000)
      const ts = `${seconds}.${String(n).padStart(6, '0')}`
      const event = { type: 'message', channel_type: 'im', user: 'U1', text, ts, channel: `D${chat}` }
      const body = JSON.stringify({ type: 'event_callback', team_id: 'T1', event_id: `Ev${n}`, event })
      const signature = `v0=${hmac(`v0:${seconds}:${body}`).digest('hex')}`
      return {
        body,
        headers: { ...json, 'x-slack-request-timestamp': String(seconds), 'x-slack-signature': signature },
      }
    },
  },
  telegram: {
    variable: 'TELEGRAM_API_BASE',
    secrets: { bot_token: '4711:chaos', webhook_secret: secret },
    sign: (n, { chat, text }) => {
      const from = { id: chat, is_bot: false, first_name: 'A' }
      const message = { message_id: n, date: 1, chat: { id: chat, type: 'private' }, from, text }
      const body = JSON.stringify({ update_id: n, message })
      return { body, headers: { ...json, 'x-telegram-bot-api-secret-token': secret } }
    },
  },
  zalo: {
    variable: 'ZALO_API_BASE',
    secrets: { bot_token: '4711:chaos', webhook_secret: secret },
    sign: (n, { chat, text }) => {
      const from = { id: String(chat), display_name: 'A', is_bot: false }
      const message = { message_id: `z${n}`, date: 1, chat: { id: String(chat), chat_type: 'PRIVATE' }, from, text }
      const body = JSON.stringify({ event_name: 'message.text.received', message })
      return { body, headers: { ...json, 'x-bot-api-secret-token': secret } }
    },
  },
  line: {
    variable: 'LINE_API_BASE',
    secrets: { channel_access_token: 'line-chaos', channel_secret: secret },
    // The token of the answer names the chat, for the stand-in.
    sign: (n, { chat, text }) => {
      const event = {
        type: 'message',
        mode: 'active',
        timestamp: 1,
        webhookEventId: `e${n}`,
        replyToken: `${chat} ${n}`,
      }
      const source = { type: 'user', userId: String(chat) }
      const body = JSON.stringify({
        destination: 'UBOT',
        events: [{ ...event, source, message: { id: `l${n}`, type: 'text', text } }],
      })
      return { body, headers: { ...json, 'x-line-signature': hmac(body).digest('base64') } }
    },
  },
  messenger: {
    variable: 'MESSENGER_API_BASE',
    secrets: { page_access_token: 'EAAchaos', app_secret: secret, verify_token: 'verify-chaos', page_id: '99' },
    sign: (n, { chat, text }) => {
      const sent = {
        sender: { id: String(chat) },
        recipient: { id: '99' },
        timestamp: 1,
        message: { mid: `m${n}`, text },
      }
      const body = JSON.stringify({ object: 'page', entry: [{ id: '99', time: 1, messaging: [sent] }] })
      return { body, headers: { ...json, 'x-hub-signature-256': `sha256=${hmac(body).digest('hex')}` } }
    },
  },
}

/** The platform that `PLATFORM` names. */
export function choosePlatform(usual: string): ChatPlatform & { readonly name: string } {
  const name = process.env['PLATFORM'] ?? usual
  const platform = chatPlatforms[name]
  if (!platform) throw new Error(`PLATFORM is one of ${Object.keys(chatPlatforms).join(', ')}.`)
  return { ...platform, name }
}

/** What the API of each of the platforms answers to a message that it accepts. */
export const acceptedAnswer = (n: number): object => ({
  ok: true,
  ts: `${n}.1`,
  user_id: 'UBOT',
  user: 'talaria',
  result: { message_id: n, id: '4711', is_bot: true, username: 'TalariaBot' },
  message_id: String(n),
  sentMessages: [{ id: String(n) }],
  userId: 'UBOT',
})
