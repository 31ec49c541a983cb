/** Implements the channel port for Slack: the Events API, interactivity and `/talaria` arrive at one address. */

import type { MediaReference } from '#agent/core/media/media-reference.ts'
import type { MessageChunk, SendOutcome } from '#agent/core/delivery.ts'
import {
  type Channel,
  type ChannelConnection,
  type ChatAddress,
  type InboundRequest,
  type OutboundFile,
  type OutboundMessage,
  type Received,
  refused,
  type ResolvedTarget,
} from '../channel.ts'
import { fetchMediaFrom, isOnDomain, isSameOrigin } from '../fetch-media.ts'
import { concatBytes } from '../hmac.ts'
import { resolveBy } from '../kit/api.ts'
import { hmac } from '../kit/proof.ts'
import { parseJson } from '#agent/core/parse-json.ts'
import { encodeMrkdwn, maxTextChars, renderMrkdwn, renderSections } from './mrkdwn.ts'
import { parseCallback, parseForm } from './parse-event.ts'
import { callSlack } from './slack-api.ts'
import { openSocket, readFrame } from './socket-mode.ts'

const fileDomains = ['slack.com', 'slack-edge.com', 'slack-files.com']

export const slack: Channel = {
  platform: 'slack',
  name: 'Slack',
  apiBase: { variable: 'SLACK_API_BASE', url: 'https://slack.com/api' },
  secrets: {
    bot_token: { shape: /^xox[a-z]-[A-Za-z0-9-]{1,300}$/, hint: 'The bot token of the app, like xoxb-…' },
    signing_secret: {
      shape: /^[\x21-\x7e]{1,200}$/,
      hint: 'The signing secret from the basic information of the app.',
      for: 'webhook',
    },
    app_token: {
      shape: /^xapp-[A-Za-z0-9-]{1,300}$/,
      hint: 'The app-level token with the scope connections:write, like xapp-…, for settings.delivery "socket".',
      for: 'socket',
    },
  },
  capabilities: {
    edit: { intervalMs: () => 1_200 },
    // Slack shows a status for two minutes.
    typing: { durationMs: 60_000 },
    buttons: { maxRows: 20, maxPerRow: 5, maxLabelChars: 75, maxDataBytes: 2_000 },
    hasCards: true,
    threads: true,
    answersInThreads: true,
    files: { maxBytes: 50_000_000 },
  },
  textLimit: { max: maxTextChars, unit: 'utf16' },
  receive,
  openSocket,
  readFrame: (text, receivedAt) => readFrame(text, receivedAt, ignoredCommand),
  render: renderMrkdwn,
  send: (connection, message) =>
    message.file ? sendFile(connection, message, message.file) : sendText(connection, message),
  remove: async (connection, { chat }, ts) => {
    const answer = await callSlack(connection, 'chat.delete', { channel: chat, ts })
    return answer.kind === 'done' ? { kind: 'sent' } : answer.outcome
  },
  showTyping,
  answerPress: (connection, responseUrl, text) =>
    respond(connection, responseUrl, { response_type: 'ephemeral', text: encodeMrkdwn(plain(text)) }),
  getAccount: async (connection) => {
    const answer = await callSlack(connection, 'auth.test', {})
    if (answer.kind === 'failed') return { refused: answer.outcome.detail }
    return { id: stringOf(answer.result['user_id']), name: stringOf(answer.result['user']) }
  },
  fetchMedia,
  resolveTarget,
  manifest: async ({ webhookUrl, secrets }, name) => {
    const { buildSlackManifest } = await import('./manifest.ts')
    const manifest = buildSlackManifest({ name, webhookUrl, isSocket: secrets['app_token'] !== undefined })
    const bytes = new TextEncoder().encode(JSON.stringify(manifest, null, 2))
    return { name: 'slack-manifest.json', mime: 'application/json', bytes: Uint8Array.from(bytes) }
  },
}

const stringOf = (value: unknown): string => (typeof value === 'string' ? value : '')
const plain = (text: string): MessageChunk => ({ text, spans: [] })

async function receive(request: InboundRequest, connection: ChannelConnection): Promise<Received> {
  if (!(await isSigned(request, connection))) return refused()
  const text = new TextDecoder().decode(request.body)
  if (!text.trimStart().startsWith('{')) return receiveForm(new URLSearchParams(text), request.receivedAt)
  const body = parseJson(text) as { readonly type?: unknown; readonly challenge?: unknown } | undefined
  if (body?.type === 'url_verification') return { response: new Response(stringOf(body.challenge)), events: [] }
  return eventsOf(parseCallback(body))
}

/** Only the person who wrote a command sees that it is ignored. */
const ignoredCommand = { response_type: 'ephemeral', text: 'You cannot use this bot here, or it is paused.' }

function receiveForm(form: URLSearchParams, receivedAt: number): Received {
  const event = parseForm(form, receivedAt)
  return {
    ...eventsOf(event),
    ...(event?.kind === 'command' && { ignoredResponse: Response.json(ignoredCommand) }),
  }
}

const eventsOf = (event: Received['events'][number] | undefined): Received => ({ events: event ? [event] : [] })

const isSigned = hmac({
  hash: 'SHA-256',
  secret: 'signing_secret',
  header: 'x-slack-signature',
  encoding: 'hex',
  prefix: 'v0=',
  timeHeader: 'x-slack-request-timestamp',
  signed: ({ headers, body }) => concatBytes(`v0:${headers.get('x-slack-request-timestamp')}:`, body),
})

async function sendText(connection: ChannelConnection, message: OutboundMessage): Promise<SendOutcome> {
  const { editedMessageId } = message
  const method = editedMessageId === undefined ? 'chat.postMessage' : 'chat.update'
  const answer = await callSlack(connection, method, messageFields(message))
  if (answer.kind === 'done') return { kind: 'sent', id: stringOf(answer.result['ts']) }
  const { replyHandle } = message
  if (replyHandle && editedMessageId === undefined && isOutside(answer.code))
    return respond(connection, replyHandle.token, { response_type: 'in_channel', ...renderContent(message) })
  const isWithoutThread = ['thread_not_found', 'invalid_thread_ts', 'cannot_reply_to_message'].includes(
    `${answer.code}`,
  )
  if (!isWithoutThread || editedMessageId !== undefined) return answer.outcome
  // Slack accepted nothing, so the message can go to the chat without the deleted thread.
  const { thread: _thread, ...address } = message.address
  const { replyToMessageId: _reply, ...rest } = message
  const again = await callSlack(connection, method, messageFields({ ...rest, address }))
  return again.kind === 'done' ? { kind: 'sent', id: stringOf(again.result['ts']) } : again.outcome
}

/** The bot is no member of the channel. A command works there too, and the address that came with it. */
const isOutside = (code: string | number | undefined): boolean =>
  code === 'not_in_channel' || code === 'channel_not_found'

/** Writes to the address of a command or a press. Slack accepts five messages there, within 30 minutes. */
async function respond(connection: ChannelConnection, url: string, fields: object): Promise<SendOutcome> {
  const body = JSON.stringify({ replace_original: false, ...fields })
  const headers = { 'content-type': 'application/json' }
  try {
    const { ok, status } = await connection.fetchForeign({ url, method: 'POST', headers, body })
    if (ok) return { kind: 'sent' }
    const detail = `the answer to a command or a press: HTTP ${status}`
    return { kind: status === 429 || status >= 500 ? 'retry' : 'fatal', detail }
  } catch {
    return { kind: 'ambiguous', detail: 'the connection to the platform broke' }
  }
}

const renderContent = ({ chunk, editedMessageId }: OutboundMessage) => ({
  text: encodeMrkdwn(chunk),
  // Without blocks an edit would leave the buttons of the earlier version.
  ...(chunk.buttons ? { blocks: renderBlocks(chunk) } : editedMessageId !== undefined && { blocks: [] }),
})

function messageFields(message: OutboundMessage): Record<string, unknown> {
  const { address, chunk, editedMessageId } = message
  const content = { channel: address.chat, ...renderContent(message) }
  if (editedMessageId !== undefined) return { ...content, ts: editedMessageId }
  const thread = threadOf(message)
  return {
    ...content,
    ...(chunk.spans.length === 0 && { mrkdwn: false }),
    ...(thread !== undefined && { thread_ts: thread }),
    // A preview makes Slack fetch the address, which could leak what the conversation contains.
    unfurl_links: false,
    unfurl_media: false,
  }
}

/** An answer in a channel stands in the thread of the message that it answers. */
const threadOf = ({ address, replyToMessageId }: OutboundMessage): string | undefined =>
  address.thread ?? replyToMessageId

const renderBlocks = (chunk: MessageChunk) => [
  ...renderSections(chunk).map((text) => ({ type: 'section', text: { type: 'mrkdwn', text } })),
  ...(chunk.buttons ?? []).map((row) => ({
    type: 'actions',
    elements: row.map(({ label, data }) => ({
      type: 'button',
      action_id: data,
      value: data,
      text: { type: 'plain_text', text: label, emoji: true },
    })),
  })),
]

/** Files are uploaded to an address of their own and then shared. */
async function sendFile(
  connection: ChannelConnection,
  message: OutboundMessage,
  file: OutboundFile,
): Promise<SendOutcome> {
  const begun = await callSlack(connection, 'files.getUploadURLExternal', {
    filename: file.name,
    length: file.bytes.length,
  })
  if (begun.kind === 'failed') return begun.outcome
  const { upload_url: url, file_id: id } = begun.result
  const status = await upload(connection, stringOf(url), file)
  if (status === 413) return { kind: 'too_long', detail: 'HTTP 413: the file is too large' }
  if (status !== 200) return { kind: 'retry', detail: 'the file could not be uploaded' }
  const thread = threadOf(message)
  // The text of a file is the note that it may have arrived before.
  const comment = message.chunk.text.trim()
  const shared = await callSlack(connection, 'files.completeUploadExternal', {
    files: [{ id: stringOf(id), title: file.name }],
    channel_id: message.address.chat,
    ...(comment && { initial_comment: comment }),
    ...(thread !== undefined && { thread_ts: thread }),
  })
  if (shared.kind === 'done') return { kind: 'sent' }
  // A link takes the place of a file that is refused, and can leave by the address of the command.
  const { detail } = shared.outcome
  return message.replyHandle && isOutside(shared.code) ? { kind: 'fatal', detail } : shared.outcome
}

/** Returns 200 for an upload that was accepted, and 0 where none was answered. */
async function upload(connection: ChannelConnection, url: string, { bytes, mime }: OutboundFile): Promise<number> {
  try {
    const headers = { 'content-type': mime }
    const { ok, status } = await connection.fetchForeign({ url, method: 'POST', headers, body: bytes })
    return ok ? 200 : status
  } catch {
    return 0
  }
}

/** Slack shows a status only in threads. Elsewhere this call proves that the platform can be reached. */
async function showTyping(connection: ChannelConnection, { chat, thread }: ChatAddress): Promise<SendOutcome> {
  const fields = { channel_id: chat, thread_ts: thread, status: 'is thinking…' }
  const answer = await (thread === undefined
    ? callSlack(connection, 'auth.test', {})
    : callSlack(connection, 'assistant.threads.setStatus', fields))
  if (answer.kind === 'done') return { kind: 'sent' }
  const { outcome } = answer
  // The app has no permission for it, or the thread does not show one. Messages are sent all the same.
  const isOptional = thread !== undefined && (outcome.kind === 'fatal' || answer.code === 'missing_scope')
  return isOptional ? { kind: 'sent' } : outcome
}

async function fetchMedia(connection: ChannelConnection, { reference, mime, name }: MediaReference, maxBytes: number) {
  const url = URL.canParse(reference) ? reference : await fileAddress(connection, reference)
  if (url === undefined)
    return { kind: 'failed', detail: 'the file is not available any more', canRetry: false } as const
  const isOwn = isSameOrigin(url, connection.apiBase) || isOnDomain(url, fileDomains)
  const headers = isOwn ? { authorization: `Bearer ${connection.secrets['bot_token'] ?? ''}` } : {}
  return fetchMediaFrom(connection, { url, headers, mime, name }, maxBytes)
}

async function fileAddress(connection: ChannelConnection, id: string): Promise<string | undefined> {
  const answer = await callSlack(connection, 'files.info', { file: id })
  if (answer.kind === 'failed') return undefined
  const { url_private_download: download, url_private: url } = (answer.result['file'] ?? {}) as Record<string, unknown>
  return stringOf(download) || stringOf(url) || undefined
}

async function resolveTarget(connection: ChannelConnection, address: ChatAddress): Promise<ResolvedTarget> {
  if (/^[UW][A-Z0-9]{2,30}$/.test(address.chat)) return openDirectChat(connection, address.chat)
  if (!/^[CDG][A-Z0-9]{2,30}$/.test(address.chat))
    return { kind: 'unknown', detail: 'Slack names chats by ids like C0123456789.' }
  const isGroup = !address.chat.startsWith('D')
  const answer = await callSlack(connection, 'conversations.info', { channel: address.chat })
  // Reading the channel needs a permission that sending does not.
  const isUnknowable = answer.kind === 'failed' && answer.code === 'missing_scope'
  return isUnknowable ? { kind: 'found', address, isGroup } : resolveBy(answer, { address, isGroup })
}

async function openDirectChat(connection: ChannelConnection, user: string): Promise<ResolvedTarget> {
  const answer = await callSlack(connection, 'conversations.open', { users: user })
  if (answer.kind === 'failed') return resolveBy(answer, { address: { chat: user }, isGroup: false })
  const { id } = (answer.result['channel'] ?? {}) as { readonly id?: unknown }
  return { kind: 'found', address: { chat: stringOf(id) }, isGroup: false }
}
