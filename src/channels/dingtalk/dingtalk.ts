/** Implements the channel port for DingTalk: messages by webhook, answers by the robot API. */

import { mediaKindOf, type MediaReference } from '#agent/core/media/media-reference.ts'
import type { SendOutcome } from '#agent/core/delivery.ts'
import { parseJson } from '#agent/core/parse-json.ts'
import { encodeBase64Bytes } from '#agent/core/base64.ts'
import { callApi, joinUrl } from '../call-api.ts'
import type {
  Channel,
  ChannelConnection,
  ChatAddress,
  InboundEvent,
  InboundRequest,
  OutboundMessage,
  Quote,
  ResolvedTarget,
} from '../channel.ts'
import { fetchMediaFrom } from '../fetch-media.ts'
import { computeHmac } from '../hmac.ts'
import { isSameSecret } from '../is-same-secret.ts'
import { defineApi, failedMedia, sentOutcome } from '../kit/api.ts'
import { defineAppToken, probeToken, readTokenAnswer, type TokenAnswer, withAppToken } from '../kit/app-token.ts'
import { defineDialect } from '../kit/dialect.ts'
import { isList, pick, pickList, pickText } from '../kit/pick.ts'
import { verified } from '../kit/proof.ts'
import { describeContent, describeForward, unreadable } from '../text/describe-forward.ts'
import { markdownMarks } from '../text/markdown-marks.ts'
import { mimeOfName } from '../text/mime-of-name.ts'

/** DingTalk accepts 20 000 bytes. */
const { encode, render, textLimit } = defineDialect({ max: 18_000, unit: 'utf8', marks: markdownMarks })

const windowMs = 300_000

/** The signature covers the time alone, with the secret of the app. */
async function isSigned({ headers, receivedAt }: InboundRequest, { secrets }: ChannelConnection): Promise<boolean> {
  const [time, secret] = [headers.get('timestamp') ?? '', secrets['app_secret']]
  if (!secret || !/^\d{1,15}$/.test(time) || Math.abs(receivedAt - Number(time)) > windowMs) return false
  const expected = await computeHmac('SHA-256', secret, new TextEncoder().encode(`${time}\n${secret}`))
  return isSameSecret(headers.get('sign'), encodeBase64Bytes(expected))
}

async function requestToken({ apiBase, secrets }: ChannelConnection): Promise<TokenAnswer> {
  const body = JSON.stringify({ appKey: secrets['app_key'], appSecret: secrets['app_secret'] })
  const headers = { 'content-type': 'application/json' }
  const answer = await callApi(joinUrl(apiBase, 'v1.0/oauth2/accessToken'), { method: 'POST', headers, body })
  return readTokenAnswer(answer, { token: 'accessToken', lifetime: 'expireIn', error: 'message' })
}

const getToken = defineAppToken({ request: requestToken })
const callDingtalk = withAppToken(
  getToken,
  defineApi({
    prefix: () => 'v1.0/',
    headers: () => ({}),
    readFailure: ({ code, message }) => ({
      code: typeof code === 'string' ? code : undefined,
      message: typeof message === 'string' ? message : undefined,
    }),
    outcomes: [
      { words: /throttl|qps|flow.?control|too many requests/i, is: 'busy' },
      { words: /too long|exceed.{0,40}(?:length|size|limit)/i, is: 'too_long' },
      { words: /robot.{0,40}not exist|conversation.{0,40}(?:not exist|invalid)|staffId/i, is: 'forbidden' },
      { codes: ['Forbidden.AccessDenied.AccessTokenPermissionDenied'], is: 'forbidden' },
    ],
  }),
  ['InvalidAuthentication'],
  (token) => ({ 'x-acs-dingtalk-access-token': token }),
)

const robotOf = ({ secrets }: ChannelConnection): string => secrets['robot_code'] ?? secrets['app_key'] ?? ''
const isGroup = ({ chat }: ChatAddress): boolean => chat.startsWith('cid')
const shape = /^[\w-]{1,100}$/

export const dingtalk: Channel = {
  platform: 'dingtalk',
  name: 'DingTalk',
  apiBase: { variable: 'DINGTALK_API_BASE', url: 'https://api.dingtalk.com' },
  secrets: {
    app_key: { shape, hint: 'The AppKey (Client ID) of the app.' },
    app_secret: { shape: /^[\x21-\x7e]{1,200}$/, hint: 'The AppSecret (Client Secret). It also signs the messages.' },
    robot_code: { shape, hint: 'The RobotCode, where it is not the AppKey.', isOptional: true },
  },
  capabilities: {},
  textLimit,
  receive: verified(isSigned, ({ body }, connection) => {
    const event = parseMessage(parseJson(body), robotOf(connection))
    return { response: Response.json({}), events: event ? [event] : [] }
  }),
  render,
  send,
  probe: probeToken(getToken),
  getAccount: async (connection) => {
    const found = await getToken(connection)
    return 'outcome' in found ? { refused: found.outcome.detail } : { id: robotOf(connection), name: '' }
  },
  fetchMedia: async (connection, { reference, mime, name }: MediaReference, maxBytes) => {
    const body = { downloadCode: reference, robotCode: robotOf(connection) }
    const found = await callDingtalk(connection, { method: 'POST', path: 'robot/messageFiles/download', body })
    if (found.kind === 'failed') return failedMedia(found.outcome)
    return fetchMediaFrom(connection, { url: pickText(found.result, 'downloadUrl') ?? '', mime, name }, maxBytes)
  },
  // The robot may ask for no chat.
  resolveTarget: async (_connection, address): Promise<ResolvedTarget> =>
    /^[\w+/=$:.-]{2,200}$/.test(address.chat)
      ? { kind: 'found', address, isGroup: isGroup(address) }
      : { kind: 'unknown', detail: 'DingTalk names people by their staff id, and groups like cid….' },
}

async function send(connection: ChannelConnection, { address, chunk }: OutboundMessage): Promise<SendOutcome> {
  const text = encode(chunk)
  const message = {
    robotCode: robotOf(connection),
    msgKey: 'sampleMarkdown',
    // Lists of chats show the title.
    msgParam: JSON.stringify({ title: chunk.text.trim().split('\n', 1)[0]?.slice(0, 50) ?? '', text }),
  }
  const answer = isGroup(address)
    ? await callDingtalk(connection, {
        method: 'POST',
        path: 'robot/groupMessages/send',
        body: { ...message, openConversationId: address.chat },
      })
    : await callDingtalk(connection, {
        method: 'POST',
        path: 'robot/oToMessages/batchSend',
        body: { ...message, userIds: [address.chat] },
      })
  const unreached = answer.kind === 'done' ? pickList(answer.result, 'invalidStaffIdList') : []
  if (unreached.length) return { kind: 'forbidden', detail: 'the platform does not know this person' }
  return sentOutcome(answer, ({ processQueryKey: id }) => id)
}

/** People outside of the organisation have no staff id. */
function parseMessage(body: unknown, own: string): InboundEvent | undefined {
  const key = pickText(body, 'msgId')
  const person = pickText(body, 'senderStaffId') ?? pickText(body, 'senderId')
  const group = pickText(body, 'conversationId')
  const isOfGroup = pickText(body, 'conversationType') === '2'
  if (key === undefined || person === undefined || (isOfGroup && group === undefined)) return undefined
  const content = readMessage(body)
  if (!content) return undefined
  return {
    kind: 'message',
    key,
    address: { chat: isOfGroup ? (group ?? '') : person },
    isGroup: isOfGroup,
    sender: { id: person, name: pickText(body, 'senderNick') ?? person },
    messageId: key,
    ...content,
    // DingTalk delivers messages of groups only when they mention the robot, and leaves the mention out.
    mentions: pick(body, 'isInAtList') === false ? [] : [own],
  }
}

function readMessage(body: unknown): (Content & { readonly quote?: Quote }) | undefined {
  const content = parseContent(body)
  const quote = parseQuote(pick(body, 'text', 'repliedMsg') ?? pick(body, 'content', 'repliedMsg'))
  return content.text || content.media.length || quote ? { ...content, ...(quote && { quote }) } : undefined
}

type Content = { readonly text: string; readonly media: readonly MediaReference[] }

function parseContent(body: unknown): Content {
  const content = pick(body, 'content')
  switch (pickText(body, 'msgtype')) {
    case 'text':
      return { text: (pickText(body, 'text', 'content') ?? '').trim(), media: [] }
    case 'richText':
      return parseRichText(pickList(content, 'richText'))
    case 'picture':
      return { text: '', media: fileOf(content, 'image') }
    case 'audio':
      // DingTalk mostly sends what was said.
      return renderVoice(content)
    case 'video':
      return { text: '', media: fileOf(content, 'video') }
    case 'file':
      return { text: '', media: fileOf(content) }
    case 'chatRecord':
      return { text: describeForward(renderRecord(content)), media: [] }
    default:
      return { text: unreadable, media: [] }
  }
}

function renderVoice(content: unknown): Content {
  const said = pickText(content, 'recognition')
  return said === undefined ? { text: '', media: fileOf(content, 'voice') } : { text: said, media: [] }
}

/** Messages that were passed on together: a list as JSON, or a summary. */
function renderRecord(content: unknown): string {
  const records = parseJson(pickText(content, 'chatRecord') ?? '')
  const lines = (isList(records) ? records : []).map((one) => {
    const said = pickText(one, 'content') ?? `[${pickText(one, 'msgType') ?? 'a message'}]`
    return `${pickText(one, 'senderNick') ?? 'Somebody'}: ${said}`
  })
  return lines.join('\n') || pickText(content, 'summary') || unreadable
}

/** The message to which a text replies. */
function parseQuote(replied: unknown): Quote | undefined {
  const messageId = pickText(replied, 'msgId')
  if (messageId === undefined) return undefined
  const content = pick(replied, 'content')
  const text = pickText(content, 'text') ?? pickText(content, 'content') ?? renderParts(pickList(content, 'richText'))
  const sender = pickText(replied, 'senderId')
  const kind = pickText(replied, 'msgType')
  return {
    messageId,
    ...(sender !== undefined && { sender: { id: sender, name: pickText(replied, 'senderNick') ?? 'somebody' } }),
    text: text || (kind === undefined || kind === 'text' ? '' : describeContent(kind)),
  }
}

function parseRichText(parts: readonly unknown[]): Content {
  return { text: renderParts(parts), media: parts.flatMap((part) => fileOf(part, 'image')) }
}

const renderParts = (parts: readonly unknown[]): string =>
  parts
    .map((part) => pickText(part, 'text') ?? '')
    .join('')
    .trim()

function fileOf(content: unknown, kind?: MediaReference['kind']): readonly MediaReference[] {
  const reference = pickText(content, 'downloadCode')
  if (reference === undefined) return []
  const name = pickText(content, 'fileName')
  const mime = name === undefined ? undefined : mimeOfName(name)
  return [
    { kind: kind ?? mediaKindOf(mime ?? ''), reference, ...(name !== undefined && { name }), ...(mime && { mime }) },
  ]
}
