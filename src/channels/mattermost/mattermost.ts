/**
 * Implements the channel port for Mattermost over HTTP: the slash command `/talaria` and outgoing webhooks in, posts of a
 * bot out.
 */

import type { MediaReference } from '#agent/core/media/media-reference.ts'
import type { SendOutcome } from '#agent/core/delivery.ts'
import { parseJson } from '#agent/core/parse-json.ts'
import { sha256Hex, toHex } from '#durable/platform/hash.ts'
import { joinUrl } from '../call-api.ts'
import {
  type Channel,
  type ChannelConnection,
  type InboundRequest,
  type OutboundMessage,
  type PressResult,
  type Received,
  refused,
  type ResolvedTarget,
} from '../channel.ts'
import { fetchMediaFrom } from '../fetch-media.ts'
import { computeHmac } from '../hmac.ts'
import { isSameSecret } from '../is-same-secret.ts'
import { editedOutcome, repeatable, resolveBy, sentOutcome } from '../kit/api.ts'
import { defineDialect } from '../kit/dialect.ts'
import { pick, pickText } from '../kit/pick.ts'
import { markdownMarks } from '../text/markdown-marks.ts'
import { callMattermost, getAccount, getOwnAccount, hasToken, headersOf, register } from './commands.ts'
import { parseHook, parsePress } from './parse-hook.ts'

/** Mattermost accepts 16 383 characters. */
const { encode, render, textLimit } = defineDialect({ max: 16_000, unit: 'utf16', marks: markdownMarks })

export const mattermost: Channel = {
  platform: 'mattermost',
  name: 'Mattermost',
  apiBase: { url: 'https://mattermost.invalid' },
  needsUrl: true,
  secrets: {
    bot_token: { shape: /^[\x21-\x7e]{1,200}$/, hint: 'The access token of the bot account.' },
    webhook_token: {
      shape: /^[\x21-\x7e]{1,200}$/,
      hint: 'The token of an outgoing webhook, where you use one.',
      isOptional: true,
    },
  },
  capabilities: {
    edit: { intervalMs: () => 1_100 },
    typing: { durationMs: 5_000 },
    buttons: { maxRows: 10, maxPerRow: 1, maxLabelChars: 40, maxDataBytes: 500 },
    threads: true,
    files: { maxBytes: 20 * 1024 * 1024 },
    idempotencyKeys: true,
  },
  textLimit,
  receive,
  render,
  send,
  showTyping: async (connection, { chat, thread }) => {
    const body = { channel_id: chat, ...(thread !== undefined && { parent_id: thread }) }
    return sentOutcome(await callMattermost(connection, { method: 'POST', path: 'users/me/typing', body }))
  },
  remove: async (connection, _address, id) =>
    sentOutcome(await callMattermost(connection, { method: 'DELETE', path: `posts/${encodeURIComponent(id)}` })),
  getAccount,
  fetchMedia: (connection, { reference, mime, name }: MediaReference, maxBytes) => {
    const url = joinUrl(connection.apiBase, `api/v4/files/${encodeURIComponent(reference)}`)
    return fetchMediaFrom(connection, { url, headers: headersOf(connection), mime, name }, maxBytes)
  },
  register,
  resolveTarget,
}

/** A button carries our own proof, because Mattermost does not sign: it is good for one choice in one channel. */
async function proofOf({ secrets, webhookUrl }: ChannelConnection, chat: string, data: string): Promise<string> {
  const signed = new TextEncoder().encode(JSON.stringify([webhookUrl, chat, data]))
  return toHex(await computeHmac('SHA-256', secrets['bot_token'] ?? '', signed))
}

async function receive(request: InboundRequest, connection: ChannelConnection): Promise<Received> {
  const text = new TextDecoder().decode(request.body)
  const body = parseJson(text) ?? Object.fromEntries(new URLSearchParams(text))
  const data = pickText(body, 'context', 'data')
  if (data !== undefined) return receivePress(body, data, connection)
  if (!(await hasToken(body, connection))) return refused()
  const event = parseHook(body, (await getOwnAccount(connection))?.id)
  // The answer comes later, by the bot.
  return { response: Response.json({}), events: event ? [event] : [] }
}

async function receivePress(body: unknown, data: string, connection: ChannelConnection): Promise<Received> {
  if (!connection.secrets['bot_token']) return refused()
  const expected = await proofOf(connection, pickText(body, 'channel_id') ?? '', data)
  if (!isSameSecret(pickText(body, 'context', 'proof'), expected)) return refused()
  const event = parsePress(body, data)
  if (!event) return { response: Response.json({}), events: [] }
  const ignored = answerPress({ toast: 'You cannot press this button.' })
  return { events: [event], settle: answerPress, ignoredResponse: ignored }
}

/** The post without its buttons, or a text that only the person sees who pressed. */
const answerPress = ({ toast, ends }: PressResult): Response =>
  Response.json(
    ends === undefined ? { ephemeral_text: toast } : { update: { message: ends, props: { attachments: [] } } },
  )

async function send(connection: ChannelConnection, message: OutboundMessage, key: string): Promise<SendOutcome> {
  const { address, chunk, file, editedMessageId } = message
  const attachments = await renderButtons(connection, message)
  const props = { attachments }
  if (editedMessageId !== undefined) {
    const path = `posts/${encodeURIComponent(editedMessageId)}/patch`
    const body = { message: encode(chunk), props }
    return editedOutcome(await callMattermost(connection, { method: 'PUT', path, body }), editedMessageId)
  }
  const uploaded = file ? await uploadFile(connection, address.chat, file) : undefined
  if (uploaded && 'outcome' in uploaded) return uploaded.outcome
  const body = {
    channel_id: address.chat,
    message: file ? chunk.text.trim() : encode(chunk),
    // The server keeps a post once under it.
    pending_post_id: await sha256Hex(key, 13),
    ...(address.thread !== undefined && { root_id: address.thread }),
    ...(attachments.length > 0 && { props }),
    ...(uploaded && { file_ids: [uploaded.id] }),
  }
  return sentOutcome(await callMattermost(connection, { method: 'POST', path: 'posts', body }), ({ id }) => id)
}

/** Ids of actions have letters and digits alone. */
async function renderButtons(
  connection: ChannelConnection,
  { chunk, address }: OutboundMessage,
): Promise<readonly object[]> {
  const buttons = chunk.buttons?.flat() ?? []
  if (!buttons.length) return []
  const actions = buttons.map(async ({ label, data }, n) => ({
    id: `choice${n}`,
    type: 'button',
    name: label,
    integration: {
      url: connection.webhookUrl,
      context: {
        data,
        proof: await proofOf(connection, address.chat, data),
        ...(address.thread !== undefined && { thread: address.thread }),
      },
    },
  }))
  return [{ actions: await Promise.all(actions) }]
}

async function uploadFile(connection: ChannelConnection, chat: string, file: NonNullable<OutboundMessage['file']>) {
  const form = new FormData()
  form.set('channel_id', chat)
  form.set('files', new File([file.bytes], file.name, { type: file.mime }))
  const uploaded = await callMattermost(connection, { method: 'POST', path: 'files', body: form })
  if (uploaded.kind === 'done') return { id: pickText(uploaded.result, 'file_infos', 0, 'id') ?? '' }
  return { outcome: repeatable(uploaded.outcome) }
}

async function resolveTarget(
  connection: ChannelConnection,
  address: Parameters<Channel['resolveTarget']>[1],
): Promise<ResolvedTarget> {
  if (!/^[a-z0-9]{10,40}$/.test(address.chat))
    return { kind: 'unknown', detail: 'Mattermost names channels by ids of 26 letters and digits.' }
  const answer = await callMattermost(connection, { method: 'GET', path: `channels/${address.chat}` })
  return resolveBy(answer, { address, isGroup: answer.kind === 'failed' || pick(answer.result, 'type') !== 'D' })
}
