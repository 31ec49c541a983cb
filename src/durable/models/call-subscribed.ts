/**
 * Calls a model that a subscription pays for: opens the tokens for the request, has them renewed when they are about to
 * expire or are refused, and adds what the service asks of its clients.
 */

import { BoundedMap } from '#agent/core/bounded-map.ts'
import type { CallOptions, Dialect, DialectReply, Endpoint, ModelRequest } from '#agent/core/dialect.ts'
import type { Message } from '#agent/core/message.ts'
import { systemAuthority } from '#agent/core/permission/authority.ts'
import { getProvider } from '#agent/providers/profiles/providers.ts'
import { tenantStub } from '#durable/platform/addresses.ts'
import { clock } from '#durable/platform/clock.ts'
import { openTokens, type SubscriptionTokens } from './subscription-tokens.ts'

type Subscribed = { readonly env: Env; readonly tenantId: string; readonly dialect: Dialect }
type OpenedTokens = { readonly sealed: string; readonly tokens: SubscriptionTokens }

/** Before their end, so that a call that begins with them also ends with them. */
const renewBeforeMs = 300_000

/** By credential: a turn has the tokens of its beginning, which may have been renewed since. */
const newestTokens = new BoundedMap<string, OpenedTokens>(5_000)

export async function callSubscribed(
  { env, tenantId, dialect }: Subscribed,
  request: ModelRequest,
  endpoint: Endpoint,
  options: CallOptions,
): Promise<DialectReply> {
  const account = { env, tenantId, endpoint }
  const opened = await openNewest(account)
  const call = ({ tokens }: OpenedTokens) =>
    dialect.call(adaptRequest(request, endpoint), dressEndpoint(endpoint, tokens, request), options)
  const isEnding = (opened.tokens.expiresAt ?? Infinity) - clock.now() < renewBeforeMs
  const current = isEnding ? await renew(account, opened, 'early') : opened
  try {
    return await call(current)
  } catch (error) {
    if ((error as { status?: unknown }).status !== 401) throw error
    return call(await renew(account, current, 'refused'))
  }
}

type Account = { readonly env: Env; readonly tenantId: string; readonly endpoint: Endpoint }

async function openNewest({ env, tenantId, endpoint }: Account): Promise<OpenedTokens> {
  const { id, key: sealed, subscription: provider = '' } = endpoint
  const known = newestTokens.get(`${tenantId} ${id}`)
  if (known?.sealed === sealed) return known
  const tokens = await openTokens(env, tenantId, { id, provider, sealed })
  if (!tokens) throw signInAgain(provider, 'its tokens cannot be opened')
  // A snapshot may be older than what this isolate has renewed.
  if (known && known.tokens.issuedAt >= tokens.issuedAt) return known
  const opened = { sealed, tokens }
  newestTokens.set(`${tenantId} ${id}`, opened)
  return opened
}

/** `early`: the tokens are still valid, and stay in use when the service cannot be asked. */
async function renew(
  { env, tenantId, endpoint }: Account,
  seen: OpenedTokens,
  reason: 'early' | 'refused',
): Promise<OpenedTokens> {
  const { id, subscription: provider = '' } = endpoint
  const authority = systemAuthority(tenantId, { kind: 'job', id: 'subscription' })
  const answer = await tenantStub(env, tenantId).credentials.renew(authority, id, seen.sealed)
  if (answer.kind !== 'renewed') {
    if (answer.kind === 'refused') throw signInAgain(provider, answer.reason)
    if (reason === 'early' && (seen.tokens.expiresAt ?? 0) > clock.now()) return seen
    throw Object.assign(new Error(`${provider}: the sign-in could not be renewed. ${answer.reason}`), { status: 503 })
  }
  const tokens = await openTokens(env, tenantId, { id, provider, sealed: answer.sealed })
  if (!tokens) throw signInAgain(provider, 'its tokens cannot be opened')
  const opened = { sealed: answer.sealed, tokens }
  newestTokens.set(`${tenantId} ${id}`, opened)
  return opened
}

const signInAgain = (provider: string, reason: string): Error =>
  Object.assign(
    new Error(
      `The sign-in to ${getProvider(provider)?.signIn ?? provider} has ended (token revoked: ${reason}). Sign in again: page Models, or \`talaria models login ${provider}\`.`,
    ),
    { status: 401 },
  )

/** The service of ChatGPT only streams, and needs instructions. */
function adaptRequest(request: ModelRequest, { subscription }: Endpoint): ModelRequest {
  if (subscription !== 'openai-codex') return request
  const { stream: _stream, ...repairs } = request.repairs ?? {}
  return { ...request, repairs, system: request.system || 'You are a helpful assistant.' }
}

/** The services admit the clients of their makers by these headers. */
const clientHeaders: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'openai-codex': {
    'User-Agent': 'codex_cli_rs/0.0.0 (Talaria)',
    originator: 'codex_cli_rs',
    'OpenAI-Beta': 'responses=experimental',
  },
  copilot: {
    'Editor-Version': 'vscode/1.104.1',
    'Editor-Plugin-Version': 'copilot-chat/0.26.7',
    'Copilot-Integration-Id': 'vscode-chat',
    'Openai-Intent': 'conversation-edits',
  },
  'qwen-oauth': {
    'X-DashScope-CacheControl': 'enable',
    'X-DashScope-UserAgent': 'Talaria',
    'X-DashScope-AuthType': 'qwen-oauth',
  },
}

/** Addresses come from the service, and tokens are sent nowhere else. */
const accountHosts: Readonly<Record<string, RegExp>> = {
  copilot: /(^|\.)githubcopilot\.com$/,
  'qwen-oauth': /(^|\.)(qwen\.ai|aliyuncs\.com)$/,
}

function dressEndpoint(endpoint: Endpoint, { access, account, baseUrl }: SubscriptionTokens, request: ModelRequest) {
  const { subscription = '', headers } = endpoint
  const url = baseUrl === undefined ? null : URL.parse(baseUrl)
  const isOwnAddress = url?.protocol === 'https:' && accountHosts[subscription]?.test(url.hostname)
  // A variable of the deployment replaces the address of everyone.
  const isUsual = endpoint.baseUrl === getProvider(subscription)?.baseUrl
  return {
    ...endpoint,
    key: access,
    ...(isOwnAddress && isUsual && { baseUrl }),
    headers: {
      ...headers,
      ...clientHeaders[subscription],
      ...(subscription === 'openai-codex' && account !== undefined && { 'ChatGPT-Account-ID': account }),
      ...(subscription === 'copilot' && renderCopilotHeaders(request.transcript)),
    },
  } as Endpoint
}

/** Requests of a person count, those that follow results of tools do not. */
function renderCopilotHeaders(transcript: readonly Message[]): Readonly<Record<string, string>> {
  const hasImages = transcript.some(({ content }) => content.some(({ type }) => type === 'image'))
  return {
    'X-Initiator': transcript.at(-1)?.role === 'user' ? 'user' : 'agent',
    ...(hasImages && { 'Copilot-Vision-Request': 'true' }),
  }
}
