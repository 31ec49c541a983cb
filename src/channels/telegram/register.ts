/** Registers with Telegram the address of the webhook and the menu of commands. */

import { commandTable } from '#agent/policy/slash-command/command-table.ts'
import type { ChannelConnection, Registration } from '../channel.ts'
import { type BotApiResult, callBotApi } from './bot-api.ts'

const businessTypes = [
  'business_connection',
  'business_message',
  'edited_business_message',
  'deleted_business_messages',
]

/** The updates that Telegram is asked for. The private chats of people who have connected the bot are left to them otherwise. */
export const updateTypesOf = ({ isSecretary }: ChannelConnection): readonly string[] => [
  'message',
  'edited_message',
  'callback_query',
  'my_chat_member',
  ...(isSecretary ? businessTypes : []),
]

export async function register(connection: ChannelConnection, isOn: boolean): Promise<Registration> {
  const { webhookUrl: url, secrets } = connection
  if (!isOn) {
    const removed = await callBotApi(connection, 'deleteWebhook', {})
    return removed.kind === 'done' ? { ok: true, detail: 'The webhook was removed.' } : failed(removed)
  }
  const set = await callBotApi(connection, 'setWebhook', {
    url,
    secret_token: secrets['webhook_secret'],
    allowed_updates: updateTypesOf(connection),
  })
  if (set.kind !== 'done') return failed(set)
  const info = await callBotApi(connection, 'getWebhookInfo', {})
  if (info.kind !== 'done') return failed(info)
  const registered = (info.result ?? {}) as { url?: string }
  if (registered.url !== url) return { ok: false, detail: 'Telegram sends the updates of this bot to another address.' }
  // The bot works without its menu.
  await callBotApi(connection, 'setMyCommands', { commands: listMenu() })
  return { ok: true, detail: 'Telegram sends its updates to this channel.' }
}

/** The commands that the field for messages offers. Telegram has no hyphens in names, which commands read as such. */
const listMenu = () =>
  commandTable
    .filter((command) => !('isHidden' in command))
    .slice(0, 100)
    .map(({ name, description }) => ({ command: name.replaceAll('-', '_'), description: description.slice(0, 256) }))

const failed = (answer: Exclude<BotApiResult, { kind: 'done' }>): Registration => ({ ok: false, detail: answer.detail })
