/** Parses what Slack sends: events, presses of buttons, and the command `/talaria`. */

import * as z from 'zod'
import { mediaKindOf, type MediaReference } from '#agent/core/media/media-reference.ts'
import type { InboundEvent, Quote, Sender } from '../channel.ts'
import { readCommand } from '../read-command.ts'
import { decodeMrkdwn } from './mrkdwn.ts'
import { unreadable } from '../text/describe-forward.ts'
import { renderAttachments, renderBlocks } from './render-content.ts'

const file = z.object({
  id: z.string(),
  name: z.string().nullish(),
  mimetype: z.string().nullish(),
  subtype: z.string().nullish(),
  size: z.number().nullish(),
  url_private_download: z.string().nullish(),
  url_private: z.string().nullish(),
})
const message = z.object({
  user: z.string().optional(),
  bot_id: z.string().optional(),
  app_id: z.string().optional(),
  username: z.string().optional(),
  user_profile: z.object({ display_name: z.string().optional(), real_name: z.string().optional() }).optional(),
  text: z.string().default(''),
  ts: z.string(),
  thread_ts: z.string().optional(),
  parent_user_id: z.string().optional(),
  files: z.array(z.unknown()).optional(),
  attachments: z.array(z.unknown()).optional(),
  blocks: z.array(z.unknown()).optional(),
  edited: z.object({ ts: z.string() }).optional(),
})
type SlackMessage = z.infer<typeof message>
const event = z.object({
  type: z.string(),
  subtype: z.string().optional(),
  channel: z.string(),
  channel_type: z.string().optional(),
  event_ts: z.string().optional(),
})
const callback = z.object({
  type: z.literal('event_callback'),
  team_id: z.string().default(''),
  api_app_id: z.string().optional(),
  event: z.unknown(),
  authorizations: z.array(z.object({ user_id: z.string().optional() })).optional(),
})
type CallbackSource = { readonly team: string; readonly app: string | undefined; readonly bot: string | undefined }

/** Messages that people write. Others report changes of the channel. */
const written = new Set([undefined, 'file_share', 'thread_broadcast', 'me_message', 'bot_message'])

/** Returns undefined for the bot's own messages, and for everything that is no message. */
export function parseCallback(body: unknown): InboundEvent | undefined {
  const parsed = callback.safeParse(body)
  const outer = event.safeParse(parsed.data?.event)
  if (!parsed.success || !outer.success) return undefined
  const { team_id: team, api_app_id: app, authorizations } = parsed.data
  return parseByType(parsed.data.event, outer.data, { team, app, bot: authorizations?.[0]?.user_id })
}

type Outer = z.infer<typeof event>

function parseByType(body: unknown, outer: Outer, source: CallbackSource): InboundEvent | undefined {
  const { type, subtype } = outer
  if (type === 'member_joined_channel' || type === 'member_left_channel') return parseMembership(body, outer, source)
  if (type !== 'message' && type !== 'app_mention') return undefined
  if (subtype === 'message_changed') return parseEdit(body, outer, source)
  if (!written.has(subtype)) return undefined
  const sent = message.safeParse(body)
  return sent.success ? parseMessage(sent.data, outer, source) : undefined
}

/** One mention arrives as `message` and as `app_mention`, with different event ids and the same time. */
function parseMessage(sent: SlackMessage, outer: Outer, source: CallbackSource): InboundEvent | undefined {
  const sender = parseSender(sent, source)
  const own = decodeMrkdwn(sent.text.trim() ? sent.text : renderBlocks(sent.blocks), source.bot)
  const attached = renderAttachments(sent.attachments, own.text.trim() !== '')
  const text = [readCommand(own.text, 'slack'), decodeMrkdwn(attached.text, undefined).text].filter(Boolean).join('\n')
  const { mentions } = own
  const media = [...parseMedia(sent.files), ...parseMedia(attached.files)]
  const isEmpty = !text.trim() && !media.length
  const quote = parseQuote(sent)
  // A mention of the bot alone can be about the thread in which it stands.
  if (!sender || (isEmpty && !hasContent(sent) && !(quote && mentions.length))) return undefined
  return {
    ...parseChat(outer, sent),
    kind: 'message',
    key: `${source.team}:${outer.channel}:${sent.ts}`,
    sender,
    messageId: sent.ts,
    text: isEmpty && !sent.text.trim() ? unreadable : text,
    media,
    mentions,
    ...(quote && { quote }),
  }
}

/** Something was sent that has no text. */
const hasContent = ({ text, blocks, attachments }: SlackMessage): boolean =>
  !text.trim() &&
  [...(blocks ?? []), ...(attachments ?? [])].some((one) => {
    const { type, ...fields } = Object(one) as { readonly type?: unknown }
    return type !== 'divider' && (type !== undefined || Object.keys(fields).length > 0)
  })

const change = z.object({ message, previous_message: z.object({ text: z.string().optional() }).optional() })

/** Slack also reports a change when it has added a preview to a message. That is no edit. */
function parseEdit(body: unknown, outer: Outer, source: CallbackSource): InboundEvent | undefined {
  const parsed = change.safeParse(body)
  if (!parsed.success) return undefined
  const { message: sent, previous_message: before } = parsed.data
  if (!sent.edited || sent.text === before?.text) return undefined
  const edit = parseMessage(sent, outer, source)
  if (edit?.kind !== 'message') return undefined
  return { ...edit, kind: 'edit', key: `${edit.key}:${sent.edited.ts}` }
}

function parseMembership(body: unknown, outer: Outer, { team, bot }: CallbackSource): InboundEvent | undefined {
  const parsed = z.object({ user: z.string() }).safeParse(body)
  if (!parsed.success || bot === undefined || parsed.data.user !== bot) return undefined
  return {
    address: { chat: outer.channel },
    isGroup: true,
    kind: 'lifecycle',
    change: outer.type === 'member_joined_channel' ? 'added' : 'removed',
    key: `${team}:${outer.channel}:${outer.type}:${outer.event_ts ?? ''}`,
    sender: { id: bot, name: bot },
  }
}

function parseSender(sent: SlackMessage, { app, bot }: CallbackSource): Sender | undefined {
  const { user, bot_id: otherBot, app_id: otherApp } = sent
  const isOwn =
    (user !== undefined && user === bot) || (otherBot !== undefined && otherApp !== undefined && otherApp === app)
  const id = user ?? otherBot
  if (isOwn || id === undefined) return undefined
  return { id, name: nameOf(sent) || id, ...(otherBot !== undefined && { isBot: true as const }) }
}

const nameOf = ({ user_profile: profile, username }: SlackMessage) =>
  profile?.display_name || profile?.real_name || username

/** Direct chats are one conversation unless a person begins a thread. */
const parseChat = ({ channel, channel_type: type }: Outer, { thread_ts: thread }: SlackMessage) => ({
  address: { chat: channel, ...(thread !== undefined && { thread }) },
  isGroup: !isDirect(channel, type),
})

const isDirect = (channel: string, type?: string): boolean =>
  type === undefined ? channel.startsWith('D') : type === 'im'

function parseQuote({ ts, thread_ts: thread, parent_user_id: parent }: SlackMessage): Quote | undefined {
  if (thread === undefined || thread === ts) return undefined
  return { messageId: thread, ...(parent !== undefined && { sender: { id: parent, name: parent } }) }
}

function parseMedia(files: readonly unknown[] | undefined): readonly MediaReference[] {
  return (files ?? []).flatMap((one) => {
    const parsed = file.safeParse(one)
    if (!parsed.success) return []
    const { id, name, mimetype: mime, subtype, size, url_private_download: download, url_private: url } = parsed.data
    return {
      kind: subtype === 'slack_audio' ? 'voice' : mediaKindOf(mime ?? ''),
      reference: download ?? url ?? id,
      ...(name && { name }),
      ...(mime && { mime }),
      ...(typeof size === 'number' && { bytes: size }),
    }
  })
}

const press = z.object({
  type: z.literal('block_actions'),
  trigger_id: z.string(),
  response_url: z.string().default(''),
  user: z.object({ id: z.string(), name: z.string().optional(), username: z.string().optional() }),
  channel: z.object({ id: z.string() }),
  message: z.object({ ts: z.string(), thread_ts: z.string().optional() }),
  actions: z.array(z.object({ value: z.string().optional() })).min(1),
})

/** Parses a form: a payload of interactivity, or a command. */
export function parseForm(form: URLSearchParams, receivedAt: number): InboundEvent | undefined {
  const payload = form.get('payload')
  return payload === null ? parseSlashCommand(form, receivedAt) : parsePress(payload)
}

function parsePress(payload: string): InboundEvent | undefined {
  let body: unknown
  try {
    body = JSON.parse(payload)
  } catch {
    return undefined // signed, but no press
  }
  const parsed = press.safeParse(body)
  const data = parsed.data?.actions[0]?.value
  if (!parsed.success || data === undefined) return undefined
  const { trigger_id: trigger, response_url: response, user, channel, message: pressed } = parsed.data
  const thread = pressed.thread_ts
  return {
    kind: 'press',
    key: `press:${trigger}`,
    address: { chat: channel.id, ...(thread !== undefined && { thread }) },
    isGroup: !isDirect(channel.id),
    sender: { id: user.id, name: user.name ?? user.username ?? user.id },
    pressId: response,
    messageId: pressed.ts,
    data,
  }
}

/** Answers to the address of a command are accepted for 30 minutes; the last seconds are left for the request. */
const responseLifetimeMs = 29.5 * 60_000

function parseSlashCommand(form: URLSearchParams, receivedAt: number): InboundEvent | undefined {
  const [command, chat, user, trigger] = ['command', 'channel_id', 'user_id', 'trigger_id'].map((name) =>
    form.get(name),
  )
  const text = (form.get('text') ?? '').trim()
  const responseUrl = form.get('response_url')
  if (!command || !chat || !user) return undefined
  return {
    kind: 'command',
    key: `command:${trigger ?? `${chat}:${user}:${text}`}`,
    address: { chat },
    isGroup: !isDirect(chat),
    sender: { id: user, name: form.get('user_name') || user },
    text: text || '/help',
    ...(responseUrl && { replyHandle: { token: responseUrl, expiresAt: receivedAt + responseLifetimeMs } }),
  }
}
