/** Turns the fields of a request into a stored server, and a stored server into the row of the API. */

import { hasScope } from '#agent/core/permission/authority.ts'
import type { Authority } from '#agent/core/permission/authority.ts'
import { stateOf } from '#agent/mcp/breaker.ts'
import { checkPublicAddress } from '#agent/policy/network/network-address.ts'
import { clock } from '#durable/platform/clock.ts'
import { sealForTenant } from '../secrets/tenant-seal.ts'
import type { SecretOwner } from '#durable/platform/seal.ts'
import { clientSecretHeader, headerOwner } from './list-server.ts'
import {
  defaultConfig,
  type ElicitationConfig,
  elicitationOf,
  type OAuthClient,
  type SealedHeader,
  type ServerConfig,
  type StoredServer,
} from './server-row.ts'

export type ServerFields = {
  readonly alias?: string | undefined
  readonly url?: string | undefined
  readonly transport?: 'http' | 'sse' | 'stdio' | undefined
  readonly auth?: 'none' | 'bearer' | 'headers' | 'oauth' | undefined
  readonly token?: string | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly oauth?:
    | {
        readonly client_id?: string | undefined
        readonly client_secret?: string | undefined
        readonly scope?: string | undefined
      }
    | undefined
  readonly command?: string | undefined
  readonly args?: readonly string[] | undefined
  readonly env?: Readonly<Record<string, string>> | undefined
  readonly enabled?: boolean | undefined
  readonly trusted?: boolean | undefined
  readonly tools?: ServerConfig['tools'] | undefined
  readonly timeout?: number | undefined
  readonly connect_timeout?: number | undefined
  readonly supports_parallel_tool_calls?: boolean | undefined
  readonly elicitation?: ElicitationConfig | undefined
}

/** Why a request is refused, for the answer. */
export type Refusal = {
  readonly status: 400 | 403 | 501
  readonly code: 'invalid_request' | 'blocked_url' | 'insufficient_scope' | 'not_configured' | 'policy'
  readonly message: string
  readonly param: string
}

export type ServerChangeContext = {
  readonly env: Env
  readonly tenantId: string
  readonly authority: Authority
}

export const refusal = (code: Refusal['code'], param: string, message: string): { readonly refusal: Refusal } => ({
  refusal: {
    status: code === 'insufficient_scope' || code === 'policy' ? 403 : code === 'not_configured' ? 501 : 400,
    code,
    param,
    message,
  },
})

/** `stored`: the server that the fields change. Credentials stay with their origin. */
export async function buildConfig(
  fields: ServerFields,
  context: ServerChangeContext,
  stored?: StoredServer,
): Promise<{ readonly config: ServerConfig } | { readonly refusal: Refusal }> {
  const refused = findRefusal(fields, stored) ?? findMissingScope(fields, context, stored)
  if (refused) return refused
  const { token: _token, headers: _headers, oauth: _oauth, ...plain } = fields
  const defined = listDefined(plain)
  const known: ServerConfig = stored?.config ?? { ...defaultConfig, alias: fields.alias ?? '', url: '' }
  const { token, headers, oauth, ...before } = known
  const config = { ...before, ...defined, alias: known.alias }
  const isMoved = known.url !== '' && new URL(config.url).origin !== new URL(known.url).origin
  const given = await sealHeaders({ ...fields, url: config.url }, context)
  const kept = isMoved ? {} : { token, headers, oauth }
  if (isMoved && oauth?.client_secret && !fields.oauth)
    return refusal('invalid_request', 'oauth', needed('oauth', true))
  return chooseCredentials({ ...config, auth: chooseAuth(fields, config.auth) }, { ...kept, ...given }, isMoved)
}

export const listDefined = (fields: object): object =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined))

/** A credential that is given says how it is used. */
function chooseAuth({ auth, token, headers, oauth }: ServerFields, before: ServerConfig['auth']): ServerConfig['auth'] {
  if (auth !== undefined) return auth
  if (token !== undefined) return 'bearer'
  if (oauth) return 'oauth'
  return headers ? 'headers' : before
}

function chooseCredentials(
  config: ServerConfig,
  { token, headers, oauth }: Pick<ServerConfig, 'token' | 'headers' | 'oauth'>,
  isMoved: boolean,
): { readonly config: ServerConfig } | { readonly refusal: Refusal } {
  const { auth } = config
  if (auth === 'bearer' && !token) return refusal('invalid_request', 'token', needed('token', isMoved))
  if (auth === 'headers' && !headers) return refusal('invalid_request', 'headers', needed('headers', isMoved))
  return {
    config: {
      ...config,
      token: auth === 'bearer' ? token : undefined,
      headers: auth === 'headers' ? headers : undefined,
      oauth: auth === 'oauth' ? oauth : undefined,
    },
  }
}

const needed = (field: string, isMoved: boolean): string =>
  isMoved ? `Give ${field} again: the stored value belongs to the old address.` : `Give ${field}.`

const reference = /\$\{\w+\}/

function findRefusal({ url, transport, command, args, env }: ServerFields, stored?: StoredServer) {
  if (stored?.config.transport === 'stdio' && transport !== undefined)
    return refusal('invalid_request', 'transport', 'A program gets no address. Add a new server.')
  if (command !== undefined || args || env)
    return refusal('invalid_request', 'transport', 'A command is for a program: set transport to stdio.')
  if (stored === undefined && url === undefined) return refusal('invalid_request', 'url', 'Give the url of the server.')
  const blocked = url === undefined ? undefined : findBlocked(url)
  if (blocked !== undefined) return refusal('blocked_url', 'url', `This address cannot be used: ${blocked}.`)
  return undefined
}

function findMissingScope(
  { token, headers, trusted }: ServerFields,
  { authority }: ServerChangeContext,
  stored?: StoredServer,
) {
  if (hasScope(authority, 'approve')) return undefined
  if (trusted === true && stored?.config.trusted !== true)
    return refusal('insufficient_scope', 'trusted', 'To trust a server, the key needs the scope approve.')
  const refers = [token, ...Object.values(headers ?? {})].some((value) => value !== undefined && reference.test(value))
  if (refers)
    return refusal(
      'insufficient_scope',
      'headers',
      'To send stored secrets to a server, the key needs the scope approve.',
    )
  return undefined
}

const findBlocked = (url: string): string | undefined => {
  const parsed = URL.parse(url)
  if (parsed && (parsed.username || parsed.password)) return 'it contains a user name or password'
  return checkPublicAddress(url, { ports: 'service' })
}

export const sealValue = async (env: Env, value: string, owner: SecretOwner): Promise<SealedHeader> => ({
  sealed: await sealForTenant(env, value, owner),
  lastFour: value.length > 8 ? value.slice(-4) : '',
  ...(reference.test(value) && { refers: true as const }),
})

async function sealHeaders(
  { url, token, headers, oauth }: { readonly url: string } & Pick<ServerFields, 'token' | 'headers' | 'oauth'>,
  { env, tenantId }: ServerChangeContext,
): Promise<Pick<ServerConfig, 'token' | 'headers' | 'oauth'>> {
  const sealOne = (header: string, value: string) => sealValue(env, value, headerOwner(tenantId, url, header))
  const named: Record<string, SealedHeader> = {}
  for (const [header, value] of Object.entries(headers ?? {})) named[header] = await sealOne(header, value)
  return {
    ...(token !== undefined && { token: await sealOne('authorization', token) }),
    ...(headers && { headers: named }),
    ...(oauth && {
      oauth: {
        client_id: oauth.client_id,
        scope: oauth.scope,
        ...(oauth.client_secret !== undefined && {
          client_secret: await sealOne(clientSecretHeader, oauth.client_secret),
        }),
      },
    }),
  }
}

const mask = ({ lastFour }: SealedHeader): string => `****${lastFour}`
const isoOf = (at: number | undefined): string | null => (at ? new Date(at).toISOString() : null)

const renderClient = (oauth: OAuthClient | undefined) =>
  oauth && {
    oauth: {
      ...(oauth.client_id !== undefined && { client_id: oauth.client_id }),
      ...(oauth.client_secret && { client_secret: mask(oauth.client_secret) }),
      ...(oauth.scope !== undefined && { scope: oauth.scope }),
    },
  }

const shownUrl = ({ transport, url }: ServerConfig): string | null => (transport === 'stdio' ? null : url)

function renderEnvironment(env: ServerConfig['env'] = {}, plain: Readonly<Record<string, string>> = {}) {
  const shown = Object.entries(env).map(([name, value]) => [name, mask(value)])
  const hidden = Object.keys(plain).map((name) => [name, '****'])
  return shown.length || hidden.length
    ? { env: Object.fromEntries([...shown, ...hidden]) as Record<string, string> }
    : undefined
}

const renderReason = ({ enabled }: StoredServer['config'], { reason, note }: StoredServer['state']): string | null =>
  (enabled ? (reason ?? note) : undefined) ?? null

export function renderRow({
  config,
  state,
  source,
  createdAt,
  updatedAt,
  plainHeaders,
  plainEnv,
  toolCount = 0,
}: StoredServer & { readonly toolCount?: number }) {
  const { token, headers, oauth, env, ...plain } = config
  const masked = Object.entries(headers ?? {}).map(([name, value]) => [name, mask(value)])
  const hidden = Object.keys(plainHeaders ?? {}).map((name) => [name, '****'])
  return {
    ...plain,
    url: shownUrl(config),
    ...renderEnvironment(env, plainEnv),
    ...(token && { token: mask(token) }),
    ...renderClient(oauth),
    ...((masked.length || hidden.length) && {
      headers: Object.fromEntries([...masked, ...hidden]) as Record<string, string>,
    }),
    elicitation: elicitationOf(config),
    sampling: { enabled: false },
    status: config.enabled ? state.status : ('disabled' as const),
    reason: renderReason(config, state),
    era: state.era ?? null,
    protocol_version: state.version ?? null,
    tool_count: toolCount,
    breaker: stateOf(state.breaker, clock.now()),
    unavailable_since: isoOf(state.since),
    fetched_at: isoOf(state.fetchedAt),
    source,
    created_at: isoOf(createdAt),
    updated_at: isoOf(updatedAt),
  }
}
