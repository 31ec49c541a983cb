/** A chat on Telegram, as its people and its platform see it: a bot, its channel here, and updates that come in. */

import { inObject, objectOf, ring } from '../durable/support/object.ts'
import { adminKey, call, request } from '../worker/client.ts'
import { messagesOf, type Run } from '../worker/listen.ts'
import { model, type Reply, type Script, until } from './scripted-model.ts'
import { type TelegramApi, telegramApi } from './telegram-api.ts'

export const secret = 'webhook_secret-1'

export type Chat = {
  readonly api: TelegramApi
  readonly channel: string
  readonly scripted: ReturnType<typeof model>
  readonly key: string
}

let updates = 1_000

/** Everybody may write. The whole tenant answers with this script: sessions of chats have no model of their own. */
export async function newChat(
  replies: Script | readonly Reply[],
  settings: object = {},
  key = adminKey,
): Promise<Chat> {
  const scripted = model(replies)
  await call('PATCH', '/api/settings', { key, body: { model: { default: scripted.id } } })
  const api = telegramApi()
  const { status, body } = await call<{ id: string }>('POST', '/api/channels', {
    key,
    body: {
      platform: 'telegram',
      secrets: { bot_token: api.token, webhook_secret: secret },
      settings: { allow_users: ['*'], allow_chats: ['*'], ...settings },
    },
  })
  if (status !== 201) throw new Error(`no channel: ${status} ${JSON.stringify(body)}`)
  return { api, channel: body.id, scripted, key }
}

export const anna = { id: 11, is_bot: false, first_name: 'Anna' }
export const bert = { id: 12, is_bot: false, first_name: 'Bert' }

export const messageOf = (text: string, more: object = {}) => ({
  message_id: 7,
  date: 1_767_224_888,
  chat: { id: 11, type: 'private' },
  from: anna,
  text,
  ...more,
})
export const updateOf = (fields: object) => ({ update_id: ++updates, ...fields })

export const deliver = ({ channel }: Pick<Chat, 'channel'>, update: unknown, headers: Record<string, string> = {}) =>
  request('POST', `/webhooks/telegram/${channel}`, {
    key: null,
    body: update,
    headers: { 'x-telegram-bot-api-secret-token': secret, ...headers },
  })

export async function tell(chat: Chat, text: string, more: object = {}): Promise<void> {
  const answer = await deliver(chat, updateOf({ message: messageOf(text, more) }))
  if (answer.status !== 200) throw new Error(`${answer.status} ${await answer.text()}`)
}

/** The only session of a chat that has said something: named after the channel, the chat and the thread. */
export async function sessionOf({ channel }: Pick<Chat, 'channel'>, chat = '11', thread: string | null = null) {
  const name = new TextEncoder().encode(JSON.stringify([channel, chat, thread]))
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', name))
  return `ses_${[...digest.subarray(0, 16)].map((byte) => byte.toString(16).padStart(2, '0')).join('')}`
}

type Row = { readonly id: number; readonly run: string; readonly state: string; readonly body: string }

export const hasTable = (session: string, name: string) =>
  inObject(
    session,
    (_object, { storage }) => storage.sql.exec('SELECT 1 FROM sqlite_master WHERE name = ?', name).toArray().length > 0,
  )

/** Nothing, where nothing was ever put down. */
export const outboxOf = (session: string) =>
  inObject(session, (_object, { storage: { sql } }) =>
    sql.exec("SELECT 1 FROM sqlite_master WHERE name = 'outbox'").toArray().length
      ? sql.exec<Row>('SELECT * FROM outbox ORDER BY id').toArray()
      : [],
  )

export const statesOf = async (session: string) => (await outboxOf(session)).map(({ state }) => state)

/** Rings until no turn runs, and nothing is on its way any more. */
export const allSettled = (session: string) =>
  until(async () => {
    const isRunning = (await objectOf(session).status()) === 'running'
    const states = await statesOf(session)
    const isSettled = states.length > 0 && states.every((state) => state !== 'prepared' && state !== 'sending')
    if (isSettled && !isRunning) return true
    await ring(session)
    return false
  })

/** Wakes it as its alarm does, and does not wait for what it does then. */
export const wake = (session: string) => inObject(session, (object) => void object.alarm())

export const lastRun = async (session: string, key = adminKey): Promise<Run> => {
  const [last] = (await messagesOf<{ run_id: string }>(session, key)).slice(-1)
  return (await call<Run>('GET', `/api/sessions/${session}/runs/${last?.run_id}`, { key })).body
}
