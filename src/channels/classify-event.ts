/** Decides which inbound events the agent processes. Chats and persons that no setting names are ignored. */

import { findCommand } from '#agent/policy/slash-command/command-table.ts'
import { parseCommand } from '#agent/policy/slash-command/parse-command.ts'
import type { BotAccount, InboundEvent } from './channel.ts'
import type { ChannelSettings } from './settings.ts'

/** `unaddressed`: a group message that is not meant for the agent, but is context for its next turn there. */
export type EventClass = 'accept' | 'unaddressed' | 'ignore'

type Rules = Pick<
  ChannelSettings,
  'allow_users' | 'allow_chats' | 'admins' | 'require_mention' | 'mention_names' | 'free_chats' | 'allow_bots'
>
type MessageEvent = Extract<InboundEvent, { mentions: unknown }>

export function classifyEvent(event: InboundEvent, rules: Rules, account: BotAccount | undefined): EventClass {
  if (!isAllowed(event, rules)) return 'ignore'
  if (!event.isGroup || !('mentions' in event)) return 'accept'
  if (isGuest(event, rules)) return event.sender.isBot ? 'ignore' : 'unaddressed'
  return classifyInGroup(event, rules, account)
}

function classifyInGroup(event: MessageEvent, rules: Rules, account: BotAccount | undefined): EventClass {
  const isFree = !rules.require_mention || isListed(rules.free_chats, event.address.chat)
  const isAddressed = addresses(event, rules, account)
  if (event.sender.isBot) return rules.allow_bots === 'all' && isFree ? 'accept' : isAddressed ? 'accept' : 'ignore'
  return isFree || isAddressed || isOwnCommand(event.text, account) ? 'accept' : 'unaddressed'
}

/** Somebody whom no setting names, where everybody on the platform may write. */
const isGuest = ({ isPublic, sender }: InboundEvent, { allow_users: users, admins }: Rules): boolean =>
  isPublic === true && !isListed([...users, ...admins], sender.id)

const isListed = (ids: readonly string[], id: string): boolean => ids.includes('*') || ids.includes(id)

/** A group is allowed as a whole; a direct chat is allowed by its person or by its id. Bots are no people. */
function isAllowed(
  { isGroup, sender, address }: InboundEvent,
  { allow_users: users, allow_chats: chats, allow_bots: bots }: Rules,
): boolean {
  if (sender.isBot && (bots === 'none' || !isGroup)) return false
  if (isGroup) return isListed(chats, address.chat)
  return [sender.id, ...(sender.aliases ?? [])].some((id) => isListed(users, id)) || chats.includes(address.chat)
}

/** A mention, a reply to a message of the bot, or one of its names as a word. */
function addresses(event: MessageEvent, { mention_names: names }: Rules, account: BotAccount | undefined): boolean {
  if (containsName(event.text, names)) return true
  if (!account) return false
  const { mentions, quote } = event
  return (
    quote?.sender?.id === account.id || mentions.includes(account.id) || mentions.includes(account.name.toLowerCase())
  )
}

/** Unknown commands may be meant for another bot of the group. */
function isOwnCommand(text: string, account: BotAccount | undefined): boolean {
  const command = parseCommand(text)
  if (!command || !findCommand(command.name)) return false
  return command.bot === undefined || command.bot.toLowerCase() === account?.name.toLowerCase()
}

/** Searched without regular expressions: the names come from settings. */
function containsName(text: string, names: readonly string[]): boolean {
  const lower = text.toLowerCase()
  return names.some((name) => {
    const word = name.toLowerCase()
    for (let at = lower.indexOf(word); at >= 0; at = lower.indexOf(word, at + 1))
      if (!isWordPart(lower[at - 1]) && !isWordPart(lower[at + word.length])) return true
    return false
  })
}

const isWordPart = (letter: string | undefined): boolean => letter !== undefined && /[\p{L}\p{N}_]/u.test(letter)

/** Removes the bot's own name from the beginning of a text. */
export function stripMention(text: string, account: BotAccount | undefined): string {
  const [, name, rest] = /^\s*@([\w-]+)[\s,:]+(\S.*)$/s.exec(text) ?? []
  return account && rest && name?.toLowerCase() === account.name.toLowerCase() ? rest : text
}
