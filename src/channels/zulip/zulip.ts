/** Implements the channel port for Zulip: an outgoing webhook for mentions and direct messages, answers by its API. */

import { mediaKindOf, type MediaReference } from '#agent/core/media/media-reference.ts'
import type { SendOutcome } from '#agent/core/delivery.ts'
import { parseJson } from '#agent/core/parse-json.ts'
import { joinUrl } from '../call-api.ts'
import type {
  Channel,
  ChannelConnection,
  ChatAddress,
  InboundEvent,
  OutboundMessage,
  ResolvedTarget,
} from '../channel.ts'
import { fetchMediaFrom } from '../fetch-media.ts'
import { defineApi, failedMedia, repeatable, resolveBy, sentOutcome } from '../kit/api.ts'
import { defineDialect } from '../kit/dialect.ts'
import { pick, pickList, pickText } from '../kit/pick.ts'
import { token, verified } from '../kit/proof.ts'
import { describeForward } from '../text/describe-forward.ts'
import { mimeOfName } from '../text/mime-of-name.ts'
import { unescapedMarks } from '../text/markdown-marks.ts'

/** Zulip accepts 10 000 characters. */
const { encode, render, textLimit } = defineDialect({ max: 9_800, unit: 'utf16', marks: unescapedMarks })

const callZulip = defineApi({
  prefix: () => 'api/v1/',
  headers: ({ secrets }) => ({
    authorization: `Basic ${btoa(`${secrets['email'] ?? ''}:${secrets['api_key'] ?? ''}`)}`,
  }),
  readFailure: (body) => ({
    ...(pickText(body, 'result') === 'error' && { code: pickText(body, 'code') ?? 'error' }),
    message: pickText(body, 'msg'),
    waitSeconds: pick(body, 'retry-after'),
  }),
  isDone: ({ result }) => result === 'success',
  outcomes: [
    { words: /too long/i, is: 'too_long' },
    { words: /invalid message\(s\)|no such message/i, is: 'gone' },
    { codes: ['STREAM_DOES_NOT_EXIST', 'UNAUTHORIZED', 'INVALID_API_KEY', 'USER_DEACTIVATED'], is: 'forbidden' },
    { words: /invalid (?:stream|channel|user|email)|not authorized|deactivated/i, is: 'forbidden' },
  ],
})

export const zulip: Channel = {
  platform: 'zulip',
  name: 'Zulip',
  apiBase: { url: 'https://zulip.invalid' },
  needsUrl: true,
  secrets: {
    email: { shape: /^[^\s@:]{1,200}@[^\s@:]{1,200}$/, hint: 'The email address of the bot.' },
    api_key: { shape: /^[\x21-\x7e]{1,200}$/, hint: 'The API key of the bot.' },
    token: { shape: /^[\x21-\x7e]{1,200}$/, hint: 'The token of the bot, in the file zuliprc of its settings.' },
  },
  capabilities: {
    edit: { intervalMs: () => 1_100 },
    typing: { durationMs: 10_000 },
    threads: true,
    files: { maxBytes: 10 * 1024 * 1024 },
  },
  textLimit,
  receive: verified(
    token({ secret: 'token', from: ({ body }) => pickText(parseJson(body), 'token') }),
    ({ body }, { secrets }) => {
      const event = parseMessage(parseJson(body), secrets['email'] ?? '')
      // The answer comes later, by the API.
      return { response: Response.json({ response_not_required: true }), events: event ? [event] : [] }
    },
  ),
  render,
  send,
  showTyping: async (connection, address) => {
    const to = isDirect(address)
      ? { type: 'direct', to: JSON.stringify(peopleOf(address)) }
      : { type: 'stream', stream_id: address.chat, topic: address.thread ?? '' }
    const body = new URLSearchParams({ op: 'start', ...to })
    return sentOutcome(await callZulip(connection, { method: 'POST', path: 'typing', body }))
  },
  remove: async (connection, _address, id) =>
    sentOutcome(await callZulip(connection, { method: 'DELETE', path: `messages/${encodeURIComponent(id)}` })),
  getAccount: async (connection) => {
    const answer = await callZulip(connection, { method: 'GET', path: 'users/me' })
    if (answer.kind === 'failed') return { refused: answer.outcome.detail }
    return { id: connection.secrets['email'] ?? '', name: pickText(answer.result, 'full_name') ?? '' }
  },
  fetchMedia: async (connection, { reference, mime, name }: MediaReference, maxBytes) => {
    // The address of an upload needs a session in a browser; this call returns one that is open for a minute.
    const found = await callZulip(connection, { method: 'GET', path: reference })
    if (found.kind === 'failed') return failedMedia(found.outcome)
    const url = joinUrl(connection.apiBase, (pickText(found.result, 'url') ?? '').replace(/^\//, ''))
    return fetchMediaFrom(connection, { url, mime, name }, maxBytes)
  },
  resolveTarget,
}

const isDirect = ({ chat }: ChatAddress): boolean => chat.startsWith('@')
const peopleOf = ({ chat }: ChatAddress): readonly number[] => chat.slice(1).split(',').map(Number)

async function send(connection: ChannelConnection, message: OutboundMessage): Promise<SendOutcome> {
  const { address, chunk, file, editedMessageId } = message
  if (editedMessageId !== undefined) {
    const body = new URLSearchParams({ content: encode(chunk) })
    const path = `messages/${encodeURIComponent(editedMessageId)}`
    return sentOutcome(await callZulip(connection, { method: 'PATCH', path, body }), () => editedMessageId)
  }
  let content = encode(chunk)
  if (file) {
    const form = new FormData()
    form.set('file', new File([file.bytes], file.name, { type: file.mime }))
    const uploaded = await callZulip(connection, { method: 'POST', path: 'user_uploads', body: form })
    if (uploaded.kind === 'failed') return repeatable(uploaded.outcome)
    const url = pickText(uploaded.result, 'url') ?? pickText(uploaded.result, 'uri') ?? ''
    content = `${content}[${file.name.replaceAll(/[[\]]/g, '_')}](${url})`
  }
  const to = isDirect(address)
    ? { type: 'direct', to: JSON.stringify(peopleOf(address)) }
    : { type: 'stream', to: address.chat, topic: await findTopic(connection, message) }
  const body = new URLSearchParams({ ...to, content })
  return sentOutcome(await callZulip(connection, { method: 'POST', path: 'messages', body }), ({ id }) =>
    id === undefined ? undefined : String(id),
  )
}

/** The topic may have another name by now. The message that is answered is still in it. */
async function findTopic(
  connection: ChannelConnection,
  { address, replyToMessageId }: OutboundMessage,
): Promise<string> {
  const { thread = '' } = address
  if (replyToMessageId === undefined || !/^\d{1,20}$/.test(replyToMessageId)) return thread
  const found = await callZulip(connection, {
    method: 'GET',
    path: `messages/${replyToMessageId}?apply_markdown=false`,
  })
  return (found.kind === 'done' && pickText(found.result, 'message', 'subject')) || thread
}

async function resolveTarget(connection: ChannelConnection, address: ChatAddress): Promise<ResolvedTarget> {
  const { chat } = address
  if (!/^(?:\d{1,15}|@\d{1,15}(?:,\d{1,15}){0,20})$/.test(chat))
    return { kind: 'unknown', detail: 'Zulip names channels by numbers, and people like @12.' }
  const path = isDirect(address) ? `users/${peopleOf(address)[0]}` : `streams/${chat}`
  const isGroup = !isDirect(address) || peopleOf(address).length > 1
  return resolveBy(await callZulip(connection, { method: 'GET', path }), { address, isGroup })
}

/** Zulip calls for messages that mention the bot, and for direct ones. */
function parseMessage(body: unknown, ownEmail: string): InboundEvent | undefined {
  const message = pick(body, 'message')
  const id = pickText(message, 'id')
  const person = pickText(message, 'sender_id')
  if (id === undefined || person === undefined || pickText(message, 'sender_email') === ownEmail) return undefined
  const content = parseContent(body, pickText(message, 'content') ?? pickText(body, 'data') ?? '')
  return (
    content && {
      kind: 'message',
      key: id,
      ...parsePlace(message, ownEmail, person),
      sender: { id: person, name: pickText(message, 'sender_full_name') ?? person },
      messageId: id,
      mentions: pickText(body, 'trigger') === 'mention' ? [ownEmail] : [],
      ...content,
    }
  )
}

/** A quote without words is a message that was passed on. */
function parseContent(body: unknown, content: string) {
  const { quote, text: written } = parseQuote(content)
  const { media, words } = parseUploads(written)
  const text = readMentions(words, pickText(body, 'bot_full_name'))
  if (text || media.length) return { text, media, ...(quote && { quote }) }
  const passed = quote && parseUploads(quote.text)
  return passed && { text: describeForward(passed.words, quote.sender.name), media: passed.media }
}

function parsePlace(message: unknown, ownEmail: string, person: string) {
  const stream = pickText(message, 'stream_id')
  if (pickText(message, 'type') === 'stream' && stream !== undefined)
    return { address: { chat: stream, thread: pickText(message, 'subject') ?? '' }, isGroup: true }
  const others = pickList(message, 'display_recipient').filter((one) => pickText(one, 'email') !== ownEmail)
  const ids = others.flatMap((one) => pickText(one, 'id') ?? []).toSorted((a, b) => Number(a) - Number(b))
  return ids.length > 1
    ? { address: { chat: `@${ids.join(',')}` }, isGroup: true }
    : { address: { chat: `@${person}` }, isGroup: false }
}

/** Zulip writes a quote in front of an answer, as a block of text. */
function parseQuote(content: string) {
  const [whole = '', name = '', sender, link = '', , quoted = ''] =
    /^@_\*\*([^*|\n]{1,100})(?:\|(\d{1,15}))?\*\* \[[^\]\n]{1,40}\]\(([^)\n]{1,500})\):\s*\n(`{3,10})quote\n(.{0,9000}?)\n\4\s*/s.exec(
      content,
    ) ?? []
  if (!whole) return { text: signQuotes(content) }
  const messageId = /near\/(\d{1,20})/.exec(link)?.[1] ?? ''
  const quote = { messageId, sender: { id: sender ?? name, name }, text: quoted }
  return { text: signQuotes(content.slice(whole.length)), quote }
}

/** Writes further quotes with a sign in front of their lines, as other platforms have them. */
function signQuotes(text: string): string {
  let fence = ''
  const lines = text.split('\n').flatMap((line) => {
    const isEnd = fence !== '' && line.trim() === fence
    const [, opened] = fence === '' ? (/^(`{3,10})quote\s{0,9}$/.exec(line) ?? []) : []
    if (isEnd) fence = ''
    else if (opened !== undefined) fence = opened
    else return fence === '' ? line : `> ${line}`
    return []
  })
  return lines.join('\n')
}

function parseUploads(text: string): { readonly media: readonly MediaReference[]; readonly words: string } {
  const media: MediaReference[] = []
  const words = text.replace(
    /!?\[([^[\]\n]{0,300})\]\(\/(user_uploads\/[^)\s]{1,500})\)/g,
    (_whole, label: string, reference: string) => {
      const name = decodeURIComponent(reference.split('/').at(-1) ?? label)
      const mime = mimeOfName(name)
      media.push({ kind: mediaKindOf(mime ?? ''), reference, name, ...(mime && { mime }) })
      return ''
    },
  )
  return { media, words: words.trim() }
}

/** A mention of the bot in front only addresses it. Others are names. */
const readMentions = (text: string, own = ''): string =>
  text
    .replace(/^\s*@\*\*([^*\n]{1,100}?)(?:\|\d{1,15})?\*\*[\s,:]*/, (whole, name: string) =>
      name === own ? '' : whole,
    )
    .replace(/@_?\*\*([^*\n]{1,100}?)(?:\|\d{1,15})?\*\*/g, '@$1')
    .trim()
