/** Creates a channel over Meta's messaging API. Messenger and Instagram differ in names, limits and set-up. */

import type { MediaReference } from '#agent/core/media/media-reference.ts'
import type { SendOutcome } from '#agent/core/delivery.ts'
import { parseJson } from '#agent/core/parse-json.ts'
import type { Channel, ChannelConnection, OutboundMessage, Received, Registration, SecretShape } from '../channel.ts'
import { fetchMediaFrom } from '../fetch-media.ts'
import { type PlatformCall, sentOutcome } from '../kit/api.ts'
import { defineDialect } from '../kit/dialect.ts'
import { pickText } from '../kit/pick.ts'
import { verified } from '../kit/proof.ts'
import { answerChallenge, defineGraph, isSignedByMeta, listGraphOutcomes } from './graph-api.ts'
import { parseMessaging } from './parse-messaging.ts'

export type MetaPlatform = {
  readonly platform: string
  readonly name: string
  readonly apiBase: Channel['apiBase']
  readonly object: 'page' | 'instagram'
  /** The names of the secrets that open the API, and that name the account. */
  readonly token: SecretShape & { readonly secret: string }
  readonly account: SecretShape & { readonly secret: string }
  /** The size of a text, with room for a line in front. */
  readonly text: { readonly max: number; readonly unit: 'utf16' | 'utf8' }
  /** The fields of the account: its id, and its name. */
  readonly accountFields: readonly [id: string, name: string]
  /** Answers name their reason. */
  readonly hasMessagingType: boolean
  readonly hasTyping: boolean
}

const fields = 'messages,messaging_postbacks'
const shape = /^[\x21-\x7e]{1,200}$/

/** A platform with its calls. */
type MetaApi = { readonly meta: MetaPlatform; readonly callGraph: PlatformCall }

export function createMetaChannel(meta: MetaPlatform): Channel {
  const api = { meta, callGraph: defineGraph(meta.token.secret, listGraphOutcomes(meta.name)) }
  const { render, textLimit } = defineDialect(meta.text)
  const receiveEvents = verified(isSignedByMeta, ({ body }, connection) => splitEvents(meta, body, connection))
  const { hasTyping } = meta
  return {
    platform: meta.platform,
    name: meta.name,
    apiBase: meta.apiBase,
    secrets: {
      [meta.token.secret]: meta.token,
      app_secret: { shape, hint: 'The secret of the app, which signs the webhooks.' },
      verify_token: { shape, hint: 'The token that you enter with the webhook: a word of your choice.' },
      [meta.account.secret]: meta.account,
    },
    accountSecret: meta.account.secret,
    capabilities: {
      buttons: { maxRows: 13, maxPerRow: 1, maxLabelChars: 20, maxDataBytes: 1_000 },
      ...(hasTyping && { typing: { durationMs: 20_000 } }),
      replyWindowMs: 24 * 3_600_000,
    },
    textLimit,
    receive: (request, connection) =>
      request.method === 'GET' ? answerChallenge(request, connection) : receiveEvents(request, connection),
    render,
    send: (connection, message) => send(api, connection, message),
    ...(hasTyping && {
      showTyping: async (connection, { chat }) =>
        sentOutcome(await post(api, connection, { recipient: { id: chat }, sender_action: 'typing_on' })),
    }),
    probe: async (connection) => sentOutcome(await readAccount(api, connection)),
    getAccount: async (connection) => {
      const answer = await readAccount(api, connection)
      if (answer.kind === 'failed') return { refused: answer.outcome.detail }
      const [id = '', name = ''] = meta.accountFields.map((field) => pickText(answer.result, field))
      return { id, name }
    },
    // The addresses of files carry their own signature.
    fetchMedia: (connection, { reference, mime, name }: MediaReference, maxBytes) =>
      fetchMediaFrom(connection, { url: reference, mime, name }, maxBytes),
    register: (connection, isOn) => register(api, connection, isOn),
    // Only people who wrote first have an id, and their profile needs a permission of its own.
    resolveTarget: async (_connection, { chat }) =>
      /^\d{5,30}$/.test(chat)
        ? { kind: 'found', address: { chat }, isGroup: false }
        : { kind: 'unknown', detail: `${meta.name} names people by a number, which they have after they wrote.` },
  }
}

const accountOf = ({ account }: MetaPlatform, { secrets }: ChannelConnection): string => secrets[account.secret] ?? ''

function splitEvents(meta: MetaPlatform, body: Uint8Array, connection: ChannelConnection): Received {
  const parsed = parseMessaging(parseJson(body), meta.object)
  const own = accountOf(meta, connection)
  return {
    events: parsed.filter(({ account }) => account === own).flatMap(({ events }) => events),
    others: parsed.filter(({ account }) => account !== own),
  }
}

const post = ({ callGraph }: MetaApi, connection: ChannelConnection, body: object) =>
  callGraph(connection, { method: 'POST', path: 'me/messages', body })

const readAccount = ({ meta, callGraph }: MetaApi, connection: ChannelConnection) =>
  callGraph(connection, { method: 'GET', path: `me?fields=${meta.accountFields.join(',')}` })

async function send(
  api: MetaApi,
  connection: ChannelConnection,
  { address, chunk }: OutboundMessage,
): Promise<SendOutcome> {
  const buttons = chunk.buttons?.flat() ?? []
  const quick_replies = buttons.map(({ label, data }) => ({ content_type: 'text', title: label, payload: data }))
  const sent = await post(api, connection, {
    recipient: { id: address.chat },
    ...(api.meta.hasMessagingType && { messaging_type: 'RESPONSE' }),
    message: { text: chunk.text, ...(quick_replies.length > 0 && { quick_replies }) },
  })
  return sentOutcome(sent, (result) => result['message_id'])
}

/** Subscribes the app to the account. A person enters the address and the verify token in the app. */
async function register(
  { meta, callGraph }: MetaApi,
  connection: ChannelConnection,
  isOn: boolean,
): Promise<Registration> {
  const path = `${encodeURIComponent(accountOf(meta, connection))}/subscribed_apps`
  const changed = await callGraph(connection, {
    method: isOn ? 'POST' : 'DELETE',
    path: isOn ? `${path}?subscribed_fields=${fields}` : path,
  })
  if (changed.kind === 'failed') return { ok: false, detail: changed.outcome.detail }
  const byHand = `Enter this address and the verify token in the app, under Webhooks: ${connection.webhookUrl}`
  return { ok: true, detail: isOn ? byHand : `${meta.name} sends no more messages of the account.` }
}
