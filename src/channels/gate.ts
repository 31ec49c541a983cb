/** Who is listened to. What is not allowed by name is ignored. */

import type { Account, Heard } from './channel.ts'
import type { ChannelSettings } from './settings.ts'

/** `overhear`: nobody asked us, but it belongs to what the next turn of this group should know. */
export type Verdict = 'take' | 'overhear' | 'ignore'

type Rules = Pick<ChannelSettings, 'allow_users' | 'allow_chats' | 'require_mention'>

export function gate(heard: Heard, rules: Rules, account: Account | undefined): Verdict {
  if (!isAllowed(heard, rules)) return 'ignore'
  if (heard.of === 'press' || !heard.isGroup || !rules.require_mention) return 'take'
  return isAddressed(heard, account) ? 'take' : 'overhear'
}

/** A group is allowed as a whole; in a direct chat it is the person who counts. */
function isAllowed({ isGroup, person, place }: Heard, { allow_users: users, allow_chats: chats }: Rules): boolean {
  if (isGroup) return chats.includes('*') || chats.includes(place.chat)
  return users.includes('*') || users.includes(person.id) || chats.includes(place.chat)
}

function isAddressed(heard: Extract<Heard, { of: 'message' }>, account: Account | undefined): boolean {
  if (!account) return false
  const { mentions, repliesTo } = heard
  return repliesTo === account.id || mentions.includes(account.id) || mentions.includes(account.name.toLowerCase())
}

/** The text without the name it begins with, when that is ours. */
export function withoutMention(text: string, account: Account | undefined): string {
  const [, name, rest] = /^\s*@(\w+)[\s,:]+(\S.*)$/s.exec(text) ?? []
  return account && rest && name?.toLowerCase() === account.name.toLowerCase() ? rest : text
}
