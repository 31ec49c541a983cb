/** Parses the requests of Mattermost: slash commands, outgoing webhooks, and presses of buttons. */

import type { InboundEvent } from '../channel.ts'
import { pickText } from '../kit/pick.ts'
import { unreadable } from '../text/describe-forward.ts'

/** Direct channels are named by the ids of both people. */
const isDirect = (body: unknown): boolean =>
  /^[a-z0-9]{20,40}__[a-z0-9]{20,40}$/.test(pickText(body, 'channel_name') ?? '')

type EventSource = Pick<InboundEvent, 'key' | 'address' | 'isGroup' | 'sender'>

/** A command has no post: its trigger names it. */
function parseSource(body: unknown): EventSource | undefined {
  const [chat, person] = [pickText(body, 'channel_id'), pickText(body, 'user_id')]
  const key = pickText(body, 'post_id') ?? pickText(body, 'trigger_id')
  const root = pickText(body, 'root_id')
  if (chat === undefined || person === undefined || key === undefined) return undefined
  return {
    key,
    address: { chat, ...(root !== undefined && { thread: root }) },
    isGroup: !isDirect(body),
    sender: { id: person, name: pickText(body, 'user_name') ?? person },
  }
}

/** `own`: the user of the bot, whom the trigger of an outgoing webhook means. */
export function parseHook(body: unknown, own: string | undefined): InboundEvent | undefined {
  const source = parseSource(body)
  if (!source || source.sender.id === own) return undefined
  const text = (pickText(body, 'text') ?? '').trim()
  if (pickText(body, 'command') !== undefined) return { ...source, kind: 'command', text: text || '/help' }
  const files = (pickText(body, 'file_ids') ?? '').split(',').filter(Boolean)
  const written = withoutTrigger(text, pickText(body, 'trigger_word'))
  if (pickText(body, 'post_id') === undefined) return undefined
  return {
    ...source,
    kind: 'message',
    messageId: source.key,
    // A hook has no attachments of a post.
    text: written || (files.length ? '' : unreadable),
    media: files.map((reference) => ({ kind: 'document', reference })),
    mentions: own === undefined ? [] : [own],
  }
}

function withoutTrigger(text: string, word: string | undefined): string {
  const isAddress = word !== undefined && text.toLowerCase().startsWith(word.toLowerCase())
  return (isAddress && text.slice(word.length).replace(/^[\s,:]{1,20}/, '')) || text
}

export function parsePress(body: unknown, data: string): InboundEvent | undefined {
  const [chat, person, post] = [pickText(body, 'channel_id'), pickText(body, 'user_id'), pickText(body, 'post_id')]
  const thread = pickText(body, 'context', 'thread')
  if (chat === undefined || person === undefined || post === undefined) return undefined
  return {
    kind: 'press',
    key: `${post}:${person}:${data}:${pickText(body, 'trigger_id') ?? ''}`,
    address: { chat, ...(thread !== undefined && { thread }) },
    // Buttons in a person's session of a group end in the id of the person.
    isGroup: thread !== undefined || /^ask:\d+:\d+:/.test(data),
    sender: { id: person, name: pickText(body, 'user_name') ?? person },
    pressId: post,
    messageId: post,
    data,
  }
}
