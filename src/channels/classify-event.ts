/** Decides which inbound events the agent processes. Chats and persons that no setting names are ignored. */

import type { BotAccount, InboundEvent } from './channel.ts'
import type { ChannelSettings } from './settings.ts'

/** `unaddressed`: a group message that is not meant for the agent, but is context for its next turn there. */
export type EventClass = 'accept' | 'unaddressed' | 'ignore'

type Rules = Pick<ChannelSettings, 'allow_users' | 'allow_chats' | 'require_mention'>

export function classifyEvent(event: InboundEvent, rules: Rules, account: BotAccount | undefined): EventClass {
  if (!isAllowed(event, rules)) return 'ignore'
  if (event.kind === 'press' || !event.isGroup || !rules.require_mention) return 'accept'
  return isAddressed(event, account) ? 'accept' : 'unaddressed'
}

/** A group is allowed as a whole; a direct chat is allowed by its person or by its id. */
function isAllowed(
  { isGroup, sender, address }: InboundEvent,
  { allow_users: users, allow_chats: chats }: Rules,
): boolean {
  if (isGroup) return chats.includes('*') || chats.includes(address.chat)
  return users.includes('*') || users.includes(sender.id) || chats.includes(address.chat)
}

function isAddressed(event: Extract<InboundEvent, { kind: 'message' }>, account: BotAccount | undefined): boolean {
  if (!account) return false
  const { mentions, repliesToSender } = event
  return (
    repliesToSender === account.id || mentions.includes(account.id) || mentions.includes(account.name.toLowerCase())
  )
}

/** Removes the bot's own name from the beginning of a text. */
export function stripMention(text: string, account: BotAccount | undefined): string {
  const [, name, rest] = /^\s*@(\w+)[\s,:]+(\S.*)$/s.exec(text) ?? []
  return account && rest && name?.toLowerCase() === account.name.toLowerCase() ? rest : text
}
