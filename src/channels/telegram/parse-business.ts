/**
 * Parses what Telegram reports of the private chats of people who have connected this bot to their account. The agent
 * drafts their answers: the events are theirs, and what others wrote to them is foreign.
 */

import * as z from 'zod'
import type { OnBehalf } from '#agent/core/delivery.ts'
import type { ChannelConnection, InboundEvent } from '../channel.ts'
import { escapeName } from '../text/quote-person.ts'
import { callBotApi } from './bot-api.ts'
import { draftKey, parseContent, parseSender } from './parse-update.ts'
import { chat, id, message, user } from './update-schema.ts'

const link = z.string().min(1).max(200)
const linked = message.extend({ business_connection_id: link })
const businessUpdate = z.object({
  update_id: id,
  business_message: linked.optional(),
  edited_business_message: linked.optional(),
  deleted_business_messages: z
    .object({ business_connection_id: link, chat, message_ids: z.array(id).max(100) })
    .optional(),
})
type Linked = z.infer<typeof linked>

const businessConnection = z.object({
  user,
  user_chat_id: id,
  is_enabled: z.boolean(),
  rights: z.object({ can_reply: z.boolean().optional() }).optional(),
  /** Before Bot API 9.0. */
  can_reply: z.boolean().optional(),
})
type Owner = z.infer<typeof businessConnection>

/** Empty for other updates. Rejects while Telegram does not say whose chat it is, so that the update comes again. */
export async function parseBusiness(connection: ChannelConnection, body: unknown): Promise<readonly InboundEvent[]> {
  const parsed = businessUpdate.safeParse(body)
  if (!connection.isSecretary || !parsed.success) return []
  const {
    update_id: key,
    business_message: sent,
    edited_business_message: edited,
    deleted_business_messages: deleted,
  } = parsed.data
  const changed = sent ?? edited
  if (changed) return isIncoming(changed) ? parseMessage(connection, key, { changed, isEdit: !sent }) : []
  return deleted ? parseDeletion(connection, key, deleted) : []
}

/** Telegram also reports what the owner, or a bot in their name, writes there. */
const isIncoming = ({ chat: { id: peer, type }, from }: Linked): boolean => type === 'private' && from?.id === peer

async function parseMessage(
  connection: ChannelConnection,
  key: string,
  { changed, isEdit }: { readonly changed: Linked; readonly isEdit: boolean },
): Promise<readonly InboundEvent[]> {
  const content = parseContent(changed)
  const owner = await findOwner(connection, changed.business_connection_id)
  if (!owner || !changed.from || (!content.text.trim() && !content.media.length)) return []
  const name = escapeName(parseSender(changed.from).name)
  const behalf = { connection: changed.business_connection_id, chat: changed.chat.id, name }
  const { quote: _quote, ...rest } = content
  return [
    {
      ...sourceOf(owner, behalf),
      ...rest,
      mentions: [],
      kind: isEdit ? 'edit' : 'message',
      key,
      text: `${describeTask(name)}\n${content.text.replace(/^/gm, '  ')}`,
    },
  ]
}

const describeTask = (name: string): string =>
  `[${name} wrote this in a private chat to the person for whom you work. Write the answer in the name of that person, and nothing else: they see it first, and send it or not. If nothing needs an answer, write NO_REPLY.]`

type Deletion = NonNullable<z.infer<typeof businessUpdate>['deleted_business_messages']>

/** A message that still waits, or that is being answered, counts no more. */
async function parseDeletion(
  connection: ChannelConnection,
  key: string,
  { business_connection_id: linkId, chat: { id: peer }, message_ids: ids }: Deletion,
): Promise<readonly InboundEvent[]> {
  const owner = await findOwner(connection, linkId)
  if (!owner) return []
  const source = sourceOf(owner, { connection: linkId, chat: peer, name: peer })
  const text = '[This message was deleted by who wrote it: write NO_REPLY, unless others need an answer.]'
  return ids.map((messageId) => ({
    ...source,
    // The name is not among what Telegram says here.
    address: { chat: source.address.chat, chatKey: source.address.chatKey },
    kind: 'edit',
    key: `${key}:${messageId}`,
    messageId,
    text,
    media: [],
    mentions: [],
  }))
}

function sourceOf(owner: Owner, behalf: Omit<OnBehalf, 'canSend'>) {
  const { user: person, user_chat_id: home, rights, can_reply: canReply } = owner
  const canSend = rights ? rights.can_reply === true : canReply === true
  return {
    address: { chat: home, chatKey: draftKey(behalf.chat), onBehalf: { ...behalf, canSend } },
    isGroup: false,
    isForeign: true as const,
    sender: parseSender(person),
  }
}

async function findOwner(connection: ChannelConnection, linkId: string): Promise<Owner | undefined> {
  const answer = await callBotApi(connection, 'getBusinessConnection', { business_connection_id: linkId })
  if (answer.kind === 'retry' || answer.kind === 'ambiguous')
    throw new Error(`The owner of a private chat is not known now: ${answer.detail}`)
  const parsed = answer.kind === 'done' ? businessConnection.safeParse(answer.result) : undefined
  return parsed?.data?.is_enabled ? parsed.data : undefined
}
