/**
 * Implements the channel port for Linear: an agent that is mentioned or gets an issue. A team is a group, an agent session
 * a thread of it. Answers are activities of the session.
 */

import type { SendOutcome } from '#agent/core/delivery.ts'
import { isJsonObject, parseJson } from '#agent/core/parse-json.ts'
import { sha256Hex } from '#durable/platform/hash.ts'
import { callApi, joinUrl } from '../call-api.ts'
import type {
  Channel,
  ChannelConnection,
  ChatAddress,
  InboundEvent,
  OutboundMessage,
  ResolvedTarget,
  Sender,
} from '../channel.ts'
import { defineApi, resolveBy, sentOutcome } from '../kit/api.ts'
import { defineAppToken, readTokenAnswer, type TokenAnswer, withAppToken } from '../kit/app-token.ts'
import { defineDialect } from '../kit/dialect.ts'
import { pick, pickList, pickNumber, pickText } from '../kit/pick.ts'
import { hmac, verified } from '../kit/proof.ts'
import { markdownMarks } from '../text/markdown-marks.ts'

const { encode, render, textLimit } = defineDialect({ max: 20_000, unit: 'utf16', marks: markdownMarks })

const isSigned = hmac({ hash: 'SHA-256', secret: 'webhook_secret', header: 'linear-signature', encoding: 'hex' })
const windowMs = 60_000

/** The signed body has the time. */
const isTimely = ({ body, receivedAt }: { readonly body: Uint8Array; readonly receivedAt: number }): boolean =>
  Math.abs(receivedAt - (pickNumber(parseJson(body), 'webhookTimestamp') ?? 0)) <= windowMs

const scope = 'read,write,app:mentionable,app:assignable'

async function requestToken({ apiBase, secrets }: ChannelConnection): Promise<TokenAnswer> {
  const { access_token: given, client_id = '', client_secret = '' } = secrets
  if (given !== undefined) return { kind: 'granted', token: given, lifetimeSeconds: 3_600 }
  const body = new URLSearchParams({ grant_type: 'client_credentials', client_id, client_secret, scope })
  return readTokenAnswer(await callApi(joinUrl(apiBase, 'oauth/token'), { method: 'POST', body }))
}

const callLinear = withAppToken(
  defineAppToken({ request: requestToken }),
  defineApi({
    headers: () => ({}),
    readFailure: ({ errors }) => ({
      code: pickText(errors, 0, 'extensions', 'code') ?? (pickList({ errors }, 'errors').length ? 'error' : undefined),
      message: pickText(errors, 0, 'extensions', 'userPresentableMessage') ?? pickText(errors, 0, 'message'),
      details: pickText(errors, 0, 'message'),
    }),
    isDone: ({ data, errors }) => isJsonObject(data) && errors === undefined,
    outcomes: [
      { codes: ['RATELIMITED'], is: 'busy' },
      { words: /too long|exceed.{0,40}(?:length|characters)|shorter than/i, is: 'too_long' },
      { codes: ['AUTHENTICATION_ERROR', 'FORBIDDEN'], is: 'forbidden' },
      { words: /entity not found|could not find/i, is: 'forbidden' },
      { codes: 'any', is: 'fatal' },
    ],
  }),
  ['AUTHENTICATION_ERROR'],
)

const query = (connection: ChannelConnection, text: string, variables: object = {}) =>
  callLinear(connection, { method: 'POST', path: 'graphql', body: { query: text, variables } })

const createActivity =
  'mutation($input: AgentActivityCreateInput!) { agentActivityCreate(input: $input) { success agentActivity { id } } }'
const shape = /^[\x21-\x7e]{1,300}$/
const optional = { isOptional: true } as const

export const linear: Channel = {
  platform: 'linear',
  name: 'Linear',
  apiBase: { variable: 'LINEAR_API_BASE', url: 'https://api.linear.app' },
  secrets: {
    webhook_secret: { shape, hint: 'The signing secret of the webhook of the application.' },
    client_id: { shape, hint: 'The client id of the application.', ...optional },
    client_secret: { shape, hint: 'The client secret of the application.', ...optional },
    access_token: { shape, hint: 'Instead of both: a token of the app user (actor=app).', ...optional },
  },
  secretSets: [['client_id', 'client_secret'], ['access_token']],
  capabilities: { typing: { durationMs: 120_000 }, threads: true, idempotencyKeys: true },
  textLimit,
  receive: verified(
    async (request, connection) => (await isSigned(request, connection)) && isTimely(request),
    ({ body }) => {
      const event = parseEvent(parseJson(body))
      return { events: event ? [event] : [] }
    },
  ),
  render,
  send,
  // Linear wants a sign of life within ten seconds.
  showTyping: async (connection, { thread }) => {
    const input = { agentSessionId: thread, ephemeral: true, content: { type: 'thought', body: 'Working on it.' } }
    return sentOutcome(await query(connection, createActivity, { input }))
  },
  getAccount: async (connection) => {
    const answer = await query(connection, 'query { viewer { id name } }')
    if (answer.kind === 'failed') return { refused: answer.outcome.detail }
    const viewer = pick(answer.result, 'data', 'viewer')
    return { id: pickText(viewer, 'id') ?? '', name: pickText(viewer, 'name') ?? '' }
  },
  resolveTarget,
}

async function send(connection: ChannelConnection, message: OutboundMessage, key: string): Promise<SendOutcome> {
  const content = { type: 'response', body: encode(message.chunk) }
  const id = await uuidOf(key)
  const input = { id, agentSessionId: message.address.thread, content }
  const answer = await query(connection, createActivity, { input })
  // The key names the activity: an earlier attempt has arrived.
  const isKnown = answer.kind === 'failed' && /already exists|duplicate/i.test(answer.outcome.detail)
  return isKnown
    ? { kind: 'sent', id }
    : sentOutcome(answer, (made) => pick(made, 'data', 'agentActivityCreate', 'agentActivity', 'id'))
}

/** The same for the same key, in the form of version 4. */
async function uuidOf(key: string): Promise<string> {
  const hex = await sha256Hex(key)
  return [hex.slice(0, 8), hex.slice(8, 12), `4${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`, hex.slice(20, 32)].join(
    '-',
  )
}

async function resolveTarget(connection: ChannelConnection, address: ChatAddress): Promise<ResolvedTarget> {
  const { thread = '' } = address
  if (!/^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i.test(thread))
    return { kind: 'unknown', detail: 'Name a team and an agent session, like ENG:1b9d…: the id in its address.' }
  const text = 'query($id: String!) { agentSession(id: $id) { id } }'
  return resolveBy(await query(connection, text, { id: thread }), { address, isGroup: true })
}

function parseEvent(body: unknown): InboundEvent | undefined {
  const session = pick(body, 'agentSession')
  const [thread, own] = [pickText(session, 'id'), pickText(body, 'appUserId')]
  const chat = pickText(session, 'issue', 'team', 'key') ?? pickText(body, 'organizationId')
  if (pickText(body, 'type') !== 'AgentSessionEvent') return undefined
  if (thread === undefined || own === undefined || chat === undefined) return undefined
  const said = pickText(body, 'action') === 'created' ? parseCreated(body, session) : parsePrompted(body)
  if (!said) return undefined
  const { sender, key, text, background } = said
  const source = { key, address: { chat, thread }, isGroup: true, sender }
  if (said.isStop) return { ...source, kind: 'command', text: '/stop' }
  return {
    ...source,
    kind: 'message',
    messageId: key,
    text,
    media: [],
    mentions: [own],
    ...(background && { background }),
  }
}

type Said = {
  readonly key: string
  readonly text: string
  readonly sender: Sender
  readonly isStop?: boolean
  readonly background?: readonly { readonly text: string; readonly isOfChat: true }[]
}

function parseCreated(body: unknown, session: unknown): Said {
  const issue = pick(session, 'issue')
  const name = pickText(issue, 'identifier') ?? 'an issue'
  const written = pickText(session, 'comment', 'body')
  const parts = ['title', 'url', 'description'].map((field) => pickText(issue, field)).filter(Boolean)
  const text = pickText(body, 'promptContext') ?? [name, ...parts].join('\n')
  return {
    key: `s:${pickText(session, 'id')}`,
    text: written ?? `[${name} is delegated to you.]`,
    sender: parseSender(pick(session, 'creator')),
    background: [{ text, isOfChat: true }],
  }
}

function parsePrompted(body: unknown): Said | undefined {
  const activity = pick(body, 'agentActivity')
  const id = pickText(activity, 'id')
  const isStop = pickText(activity, 'signal') === 'stop'
  const text = pickText(activity, 'content', 'body') ?? ''
  const isPrompt = pickText(activity, 'content', 'type') === 'prompt'
  if (pickText(body, 'action') !== 'prompted' || id === undefined || !isPrompt || !(text || isStop)) return undefined
  return { key: `a:${id}`, text, sender: parseSender(pick(activity, 'user')), isStop }
}

/** A session without a creator was begun by an automation. */
function parseSender(person: unknown): Sender {
  const id = pickText(person, 'id')
  return id === undefined
    ? { id: 'automation', name: 'Automation', isBot: true }
    : { id, name: pickText(person, 'name') ?? id }
}
