/** Implements the channel port for Microsoft Teams: activities by webhook, answers by the Bot Connector. */

import type { MediaReference } from '#agent/core/media/media-reference.ts'
import type { MessageChunk, SendOutcome } from '#agent/core/delivery.ts'
import { parseJson } from '#agent/core/parse-json.ts'
import { callApi, joinUrl } from '../call-api.ts'
import type { Channel, ChannelConnection, ChatAddress, OutboundMessage, Received, ResolvedTarget } from '../channel.ts'
import { fetchMediaFrom } from '../fetch-media.ts'
import { defineApi, editedOutcome, failedMedia, resolveBy, sentOutcome } from '../kit/api.ts'
import { defineAppToken, readTokenAnswer, type TokenAnswer, withAppToken } from '../kit/app-token.ts'
import { defineDialect } from '../kit/dialect.ts'
import { jwt } from '../kit/jwt.ts'
import { pickText } from '../kit/pick.ts'
import { verified } from '../kit/proof.ts'
import { markdownMarks } from '../text/markdown-marks.ts'
import { parseActivity } from './parse-activity.ts'

/** Activities have at most 28 KB where cards are in them. */
const { encode, render, textLimit } = defineDialect({ max: 24_000, unit: 'utf8', marks: markdownMarks })

/** A token of the bot must not leave to other hosts. */
function isServiceUrl(url: string): boolean {
  if (!URL.canParse(url)) return false
  const { protocol, hostname } = new URL(url)
  return protocol === 'https:' && /^smba\.trafficmanager\.net$|\.botframework\.(?:com|us)$/.test(hostname)
}

const isSigned = jwt({
  token: ({ headers }) => headers.get('authorization')?.replace(/^Bearer /i, ''),
  rule: ({ secrets, loginBase }, { body }) => ({
    issuers: ['https://api.botframework.com'],
    audience: secrets['app_id'] ?? '',
    keysUrl: joinUrl(loginBase ?? 'https://login.botframework.com', 'v1/.well-known/keys'),
    endorsement: 'msteams',
    accepts: ({ serviceurl }) => {
      const named = pickText(parseJson(body), 'serviceUrl')
      return named === undefined || (named === serviceurl && isServiceUrl(named))
    },
  }),
})

async function requestToken({ secrets, loginBase, fetchApi }: ChannelConnection): Promise<TokenAnswer> {
  const body = new URLSearchParams({
    grant_type: 'client_credentials',
    client_id: secrets['app_id'] ?? '',
    client_secret: secrets['app_password'] ?? '',
    scope: 'https://api.botframework.com/.default',
  })
  const path = `${encodeURIComponent(secrets['tenant_id'] ?? '')}/oauth2/v2.0/token`
  const url = joinUrl(loginBase ?? 'https://login.microsoftonline.com', path)
  const answer = await callApi(url, { method: 'POST', body }, loginBase === undefined ? fetchApi : undefined)
  return readTokenAnswer(answer)
}

const getToken = defineAppToken({ secret: 'app_password', request: requestToken })
const callTeams = withAppToken(
  getToken,
  defineApi({
    prefix: () => 'v3/',
    headers: () => ({}),
    readFailure: (body) => ({ code: pickText(body, 'error', 'code'), message: pickText(body, 'error', 'message') }),
    outcomes: [
      { codes: ['MessageSizeTooBig'], is: 'too_long' },
      { status: 412, is: 'retry' },
      { codes: ['BotNotInConversationRoster', 'ConversationNotFound', 'MessageWritesBlocked'], is: 'forbidden' },
    ],
  }),
)

const activitiesOf = ({ chat, thread }: ChatAddress): string =>
  `conversations/${encodeURIComponent(thread === undefined ? chat : `${chat};messageid=${thread}`)}/activities`

/** The region of a chat stands in its activities. Without one, the global address finds it. */
const baseOf = ({ apiBase }: ChannelConnection, { replyHandle }: Pick<OutboundMessage, 'replyHandle'>): string =>
  replyHandle?.token ?? apiBase

export const teams: Channel = {
  platform: 'teams',
  name: 'Microsoft Teams',
  apiBase: { url: 'https://smba.trafficmanager.net/teams' },
  loginVariable: 'TEAMS_LOGIN_API_BASE',
  secrets: {
    app_id: { shape: /^[\w-]{1,100}$/, hint: 'The application (client) id of the bot.' },
    app_password: { shape: /^[\x21-\x7e]{1,500}$/, hint: 'The value of a client secret of the application.' },
    tenant_id: { shape: /^[\w.-]{1,100}$/, hint: 'The directory (tenant) id of your organisation.' },
  },
  capabilities: {
    edit: { intervalMs: () => 1_100 },
    typing: { durationMs: 5_000 },
    buttons: { maxRows: 6, maxPerRow: 1, maxLabelChars: 60, maxDataBytes: 500 },
    threads: true,
  },
  textLimit,
  receive: verified(isSigned, ({ body, receivedAt }, { secrets }): Received => {
    const activity = parseJson(body)
    const tenant = pickText(activity, 'channelData', 'tenant', 'id') ?? pickText(activity, 'conversation', 'tenantId')
    const isOwn = tenant === undefined || tenant === secrets['tenant_id']
    const event = isOwn ? parseActivity(activity, receivedAt) : undefined
    if (event?.kind !== 'press') return { events: event ? [event] : [] }
    const expired = { toast: 'You cannot press this button.' }
    return { events: [event], settle: answerPress, ignoredResponse: answerPress(expired) }
  }),
  render,
  send,
  showTyping: async (connection, address) => {
    const body = { type: 'typing' }
    return sentOutcome(await callTeams(connection, { method: 'POST', path: activitiesOf(address), body }))
  },
  remove: async (connection, address, id) => {
    const path = `${activitiesOf(address)}/${encodeURIComponent(id)}`
    return sentOutcome(await callTeams(connection, { method: 'DELETE', path }))
  },
  getAccount: async (connection) => {
    const found = await getToken(connection)
    return 'outcome' in found
      ? { refused: found.outcome.detail }
      : { id: `28:${connection.secrets['app_id'] ?? ''}`, name: '' }
  },
  fetchMedia: async (connection, { reference, mime, name }: MediaReference, maxBytes) => {
    if (!isServiceUrl(reference)) return fetchMediaFrom(connection, { url: reference, mime, name }, maxBytes)
    const found = await getToken(connection)
    if ('outcome' in found) return failedMedia(found.outcome)
    const headers = { authorization: `Bearer ${found.token}` }
    return fetchMediaFrom(connection, { url: reference, headers, mime, name }, maxBytes)
  },
  resolveTarget,
  manifest: async ({ secrets, webhookUrl }, name) => {
    const { buildTeamsPackage } = await import('./manifest.ts')
    const { origin } = new URL(webhookUrl)
    const bytes = await buildTeamsPackage({ botId: secrets['app_id'] ?? '', name, origin })
    return { name: 'talaria-teams.zip', mime: 'application/zip', bytes }
  },
}

const cardType = 'application/vnd.microsoft.card.adaptive'

/** The card without its buttons, or a short text for the person who pressed. */
function answerPress({ toast, ends }: { readonly toast: string; readonly ends?: string }): Response {
  return Response.json(
    ends === undefined
      ? { statusCode: 200, type: 'application/vnd.microsoft.activity.message', value: toast }
      : { statusCode: 200, type: cardType, value: renderCard(ends, []) },
  )
}

const renderCard = (text: string, actions: readonly object[]) => ({
  type: 'AdaptiveCard',
  version: '1.4',
  body: [{ type: 'TextBlock', text, wrap: true }],
  actions,
})

function renderContent(chunk: MessageChunk): object {
  const actions = (chunk.buttons?.flat() ?? []).map(({ label, data }) => ({
    type: 'Action.Execute',
    title: label,
    verb: 'choose',
    data: { data },
  }))
  const text = encode(chunk)
  if (!actions.length) return { type: 'message', textFormat: 'markdown', text }
  return { type: 'message', attachments: [{ contentType: cardType, content: renderCard(text, actions) }] }
}

async function send(connection: ChannelConnection, message: OutboundMessage): Promise<SendOutcome> {
  const { address, chunk, editedMessageId, replyToMessageId } = message
  const request = { base: baseOf(connection, message), body: renderContent(chunk) }
  if (editedMessageId === undefined) {
    const body = { ...request.body, ...(replyToMessageId !== undefined && { replyToId: replyToMessageId }) }
    const sent = await callTeams(connection, { ...request, body, method: 'POST', path: activitiesOf(address) })
    return sentOutcome(sent, ({ id }) => id)
  }
  const path = `${activitiesOf(address)}/${encodeURIComponent(editedMessageId)}`
  return editedOutcome(await callTeams(connection, { ...request, method: 'PUT', path }), editedMessageId)
}

async function resolveTarget(connection: ChannelConnection, address: ChatAddress): Promise<ResolvedTarget> {
  const { chat } = address
  if (!/^(?:19|a):\S{1,300}$/.test(chat))
    return { kind: 'unknown', detail: 'Teams names chats like a:1… and channels like 19:…@thread.tacv2.' }
  const path = `conversations/${encodeURIComponent(chat)}/pagedmembers?pageSize=50`
  return resolveBy(await callTeams(connection, { method: 'GET', path }), { address, isGroup: !chat.startsWith('a:') })
}
