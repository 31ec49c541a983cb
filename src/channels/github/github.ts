/**
 * Implements the channel port for GitHub: issues, pull requests and reviews by webhook, comments by its API. A repository
 * is a group, an issue or pull request a thread of it.
 */

import type { SendOutcome } from '#agent/core/delivery.ts'
import { parseJson } from '#agent/core/parse-json.ts'
import {
  type Channel,
  type ChannelConnection,
  type ChatAddress,
  type InboundRequest,
  type OutboundMessage,
  type Received,
  refused,
  type ResolvedTarget,
} from '../channel.ts'
import { editedOutcome, resolveBy, sentOutcome } from '../kit/api.ts'
import { defineDialect } from '../kit/dialect.ts'
import { pickText } from '../kit/pick.ts'
import { hmac } from '../kit/proof.ts'
import { markdownMarks } from '../text/markdown-marks.ts'
import { callGithub, getAccount, getOwnAccount, register } from './github-api.ts'
import { parseEvent } from './parse-event.ts'

/** A comment has at most 65 536 characters. */
const { encode, render, textLimit } = defineDialect({ max: 60_000, unit: 'utf16', marks: markdownMarks })

const isSigned = hmac({
  hash: 'SHA-256',
  secret: 'webhook_secret',
  header: 'x-hub-signature-256',
  encoding: 'hex',
  prefix: 'sha256=',
})

const optional = { isOptional: true } as const

export const github: Channel = {
  platform: 'github',
  name: 'GitHub',
  apiBase: { variable: 'GITHUB_API_BASE', url: 'https://api.github.com' },
  secrets: {
    webhook_secret: {
      shape: /^[\x21-\x7e]{16,200}$/,
      hint: 'The secret of the webhook: 16 or more characters of your choice.',
      isGenerated: true,
    },
    app_id: { shape: /^[\w.]{1,40}$/, hint: 'The id of the GitHub App.', ...optional },
    private_key: {
      shape: /^\s*-----BEGIN (?:RSA )?PRIVATE KEY-----[\s\S]{100,4000}-----END (?:RSA )?PRIVATE KEY-----\s*$/,
      hint: 'The private key of the app: the whole .pem file.',
      ...optional,
    },
    installation_id: {
      shape: /^\d{1,20}$/,
      hint: 'The number at the end of the address of the installation.',
      ...optional,
    },
    token: {
      shape: /^[\x21-\x7e]{1,300}$/,
      hint: 'Without an app: an access token of an account for the agent.',
      ...optional,
    },
  },
  secretSets: [['app_id', 'private_key', 'installation_id'], ['token']],
  normalizeId: (id) => id.replace(/^(?:https:\/\/github\.com\/|@)/i, '').toLowerCase(),
  // GitHub allows 80 changes a minute.
  capabilities: { edit: { intervalMs: () => 5_000 }, threads: true },
  textLimit,
  receive,
  render,
  send,
  remove: async (connection, { chat }, id) => {
    const kind = id.startsWith('r') ? 'pulls' : 'issues'
    const path = `${pathOfRepository(chat)}/${kind}/comments/${encodeURIComponent(id.slice(1))}`
    return sentOutcome(await callGithub(connection, { method: 'DELETE', path }))
  },
  probe: async (connection) => sentOutcome(await callGithub(connection, { method: 'GET', path: 'rate_limit' })),
  getAccount,
  register,
  resolveTarget,
}

async function receive(request: InboundRequest, connection: ChannelConnection): Promise<Received> {
  if (!(await isSigned(request, connection))) return refused()
  const text = new TextDecoder().decode(request.body)
  // A webhook may also send its JSON as a field of a form.
  const body = parseJson(text) ?? parseJson(new URLSearchParams(text).get('payload') ?? '')
  if (!isOfInstallation(body, connection)) return { events: [] }
  const event = parseEvent(body, await getOwnAccount(connection))
  return { events: event ? [event] : [] }
}

/** Anybody may install an app that is public. */
function isOfInstallation(body: unknown, { secrets }: ChannelConnection): boolean {
  const named = pickText(body, 'installation', 'id')
  return secrets['token'] !== undefined || named === secrets['installation_id']
}

const pathOfRepository = (chat: string): string => `repos/${chat.split('/').map(encodeURIComponent).join('/')}`

/** Comments on lines of a change have ids of their own: the first letter tells which. */
async function send(connection: ChannelConnection, message: OutboundMessage): Promise<SendOutcome> {
  const { address, chunk, editedMessageId, replyToMessageId } = message
  const repository = pathOfRepository(address.chat)
  const body = { body: encode(chunk) }
  if (editedMessageId !== undefined) {
    const kind = editedMessageId.startsWith('r') ? 'pulls' : 'issues'
    const path = `${repository}/${kind}/comments/${encodeURIComponent(editedMessageId.slice(1))}`
    return editedOutcome(await callGithub(connection, { method: 'PATCH', path, body }), editedMessageId)
  }
  const thread = encodeURIComponent(address.thread ?? '')
  const root = /^r(\d{1,20})-/.exec(replyToMessageId ?? '')?.[1]
  if (root !== undefined) {
    const path = `${repository}/pulls/${thread}/comments/${root}/replies`
    const answer = await callGithub(connection, { method: 'POST', path, body })
    // The comment may be gone; the pull request is still there.
    if (answer.kind === 'done' || answer.status !== 404) return sentOutcome(answer, (made) => idOf('r', made))
  }
  const path = `${repository}/issues/${thread}/comments`
  return sentOutcome(await callGithub(connection, { method: 'POST', path, body }), (made) => idOf('c', made))
}

const idOf = (kind: string, made: unknown): string | undefined => {
  const id = pickText(made, 'id')
  return id === undefined ? undefined : kind + id
}

async function resolveTarget(connection: ChannelConnection, address: ChatAddress): Promise<ResolvedTarget> {
  const { chat, thread = '' } = address
  if (!/^[\w.-]{1,100}\/[\w.-]{1,100}$/.test(chat) || !/^\d{1,12}$/.test(thread))
    return { kind: 'unknown', detail: 'Name an issue or a pull request like owner/repository:12.' }
  const path = `${pathOfRepository(chat)}/issues/${thread}`
  return resolveBy(await callGithub(connection, { method: 'GET', path }), { address, isGroup: true })
}
