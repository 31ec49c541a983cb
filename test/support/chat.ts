/** Simulates a Telegram chat: a bot with its channel, incoming updates, and the outbox of the session. */

import { inObject, objectOf, fireAlarm } from '../durable/support/object.ts'
import { adminKey, call, request } from '../worker/client.ts'
import { listMessages, type Run } from '../worker/listen.ts'
import { model, type Reply, type Script, until } from './scripted-model.ts'
import { type TelegramApi, createTelegramApi } from './telegram-api.ts'
import { ownerAuthority } from './authority.ts'

export const secret = 'webhook_secret-of-32-characters-1'

export type ChatFixture = {
  readonly api: TelegramApi
  readonly channel: string
  readonly scripted: ReturnType<typeof model>
  readonly key: string
}

let updates = 1_000

/** Creates a channel that accepts everybody. The script becomes the tenant's default model, because sessions of chats have no own model. */
export async function createChat(
  replies: Script | readonly Reply[],
  settings: object = {},
  key = adminKey,
): Promise<ChatFixture> {
  const scripted = model(replies)
  await call('PATCH', '/api/settings', { key, body: { model: { default: scripted.id } } })
  const api = createTelegramApi()
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

export const createMessage = (text: string, more: object = {}) => ({
  message_id: 7,
  date: 1_767_224_888,
  chat: { id: 11, type: 'private' },
  from: anna,
  text,
  ...more,
})
export const createUpdate = (fields: object) => ({ update_id: ++updates, ...fields })

export const postUpdate = (
  { channel }: Pick<ChatFixture, 'channel'>,
  update: unknown,
  headers: Record<string, string> = {},
) =>
  request('POST', `/webhooks/telegram/${channel}`, {
    key: null,
    body: update,
    headers: { 'x-telegram-bot-api-secret-token': secret, ...headers },
  })

export async function receiveMessage(chat: ChatFixture, text: string, more: object = {}): Promise<void> {
  const answer = await postUpdate(chat, createUpdate({ message: createMessage(text, more) }))
  if (answer.status !== 200) throw new Error(`${answer.status} ${await answer.text()}`)
}

/** Derives the id of a chat's session from its channel, chat and thread, or the person of a group. */
export async function getSessionId(
  { channel }: Pick<ChatFixture, 'channel'>,
  chat = '11',
  thread: string | null = null,
  ...person: readonly string[]
) {
  const name = new TextEncoder().encode(JSON.stringify([channel, chat, thread, ...person]))
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', name))
  return `ses_${[...digest.subarray(0, 16)].map((byte) => byte.toString(16).padStart(2, '0')).join('')}`
}

type Row = { readonly id: number; readonly run: string; readonly state: string; readonly body: string }

export const hasTable = (session: string, name: string) =>
  inObject(
    session,
    (_object, { storage }) => storage.sql.exec('SELECT 1 FROM sqlite_master WHERE name = ?', name).toArray().length > 0,
  )

/** Empty when the session has no outbox table. */
export const listOutbox = (session: string) =>
  inObject(session, (_object, { storage: { sql } }) =>
    sql.exec("SELECT 1 FROM sqlite_master WHERE name = 'outbox'").toArray().length
      ? sql.exec<Row>('SELECT * FROM outbox ORDER BY id').toArray()
      : [],
  )

export const listOutboxStates = async (session: string) => (await listOutbox(session)).map(({ state }) => state)

/** Runs the alarm until no turn runs and every outbox row is settled. */
export const settleDeliveries = (session: string) =>
  until(async () => {
    const isRunning = (await objectOf(session).info.status(ownerAuthority())) === 'running'
    const states = await listOutboxStates(session)
    const isSettled = states.length > 0 && states.every((state) => state !== 'prepared' && state !== 'sending')
    if (isSettled && !isRunning) return true
    await fireAlarm(session)
    return false
  })

/** Starts the alarm handler without waiting for it. */
export const startAlarm = (session: string) => inObject(session, (object) => void object.alarm())

export const getLastRun = async (session: string, key = adminKey): Promise<Run> => {
  const [last] = (await listMessages<{ run_id: string }>(session, key)).slice(-1)
  return (await call<Run>('GET', `/api/sessions/${session}/runs/${last?.run_id}`, { key })).body
}
