/** Finds the authorization server of an MCP server, and the client that asks it. */

import { isJsonObject, type JsonObject } from '#agent/core/parse-json.ts'
import {
  type AuthorizationServer,
  checkOAuthAddress,
  chooseClientAuthentication,
  listIssuerMetadataUrls,
  listResourceMetadataUrls,
  readAuthorizationServer,
  readResource,
  type Resource,
  unionScopes,
} from '#agent/mcp/oauth.ts'
import { unseal } from '#durable/platform/seal.ts'
import { sealForTenant } from '../../secrets/tenant-seal.ts'
import { clientSecretHeader, headerOwner, openEndpoint, type ServerAccess } from '../list-server.ts'
import { type McpEndpoint, McpFailure, openPeer } from '../mcp-client.ts'
import { isOfDeployment, mcpOf, type StoredServer } from '../server-row.ts'
import { systemAuthority } from '#agent/core/permission/authority.ts'
import { createClientMetadata } from './client-metadata.ts'
import { clientOwner, type RegisteredClient } from './grant-rows.ts'

/** A refusal of a sign-in, in words for people. */
export class OAuthRefusal extends Error {
  override readonly name = 'OAuthRefusal'
}

const timeoutMs = 15_000
const maxBytes = 256 * 1024

type Fetcher = { readonly endpoint: McpEndpoint; readonly server: StoredServer }

export type Discovery = {
  readonly server: AuthorizationServer
  readonly resource: string
  readonly scope: string
}

/** Asks the server without a token, and follows its challenge. */
export async function discoverServer(stored: StoredServer, access: ServerAccess): Promise<Discovery> {
  const endpoint = await openEndpoint({ ...stored, config: { ...stored.config, auth: 'none' } }, access)
  const fetcher = { endpoint, server: stored }
  const challenge = await findChallenge(endpoint)
  const found = await findResource(fetcher, challenge?.metadataUrl)
  const server = await findAuthorizationServer(fetcher, found.issuer)
  const scope = stored.config.oauth?.scope ?? (challenge?.scope || found.scope)
  const offline = server.offersRefresh && scope ? 'offline_access' : ''
  return { server, resource: found.resource, scope: unionScopes(scope, offline) }
}

async function findChallenge(endpoint: McpEndpoint) {
  try {
    await openPeer(endpoint, { timeoutMs })
    return undefined
  } catch (error) {
    if (error instanceof McpFailure && error.kind === 'auth') return error.challenge
    if (error instanceof McpFailure) throw new OAuthRefusal(error.message)
    throw error
  }
}

/** A server without metadata is its own authorization server, as in the revision of 2025-03-26. */
async function findResource(fetcher: Fetcher, metadataUrl: string | undefined): Promise<Resource> {
  const { url } = fetcher.server.config
  for (const address of metadataUrl === undefined ? listResourceMetadataUrls(url) : [metadataUrl]) {
    const metadata = await fetchMetadata(fetcher, address)
    if (!metadata) continue
    const resource = readResource(metadata, url)
    if (typeof resource === 'string') throw new OAuthRefusal(resource)
    return resource
  }
  if (metadataUrl !== undefined) throw new OAuthRefusal(`There is no metadata at the address that the server names.`)
  return { resource: url, issuer: new URL(url).origin, scope: '' }
}

async function findAuthorizationServer(fetcher: Fetcher, issuer: string): Promise<AuthorizationServer> {
  const mayBePlain = isOfDeployment(fetcher.server, issuer)
  const refused = checkOAuthAddress(issuer, mayBePlain)
  if (refused !== undefined) throw new OAuthRefusal(`The authorization server cannot be used: ${refused}.`)
  for (const address of listIssuerMetadataUrls(issuer)) {
    const metadata = await fetchMetadata(fetcher, address)
    if (!metadata) continue
    const server = readAuthorizationServer(metadata, issuer, mayBePlain)
    if (typeof server === 'string') throw new OAuthRefusal(server)
    return server
  }
  throw new OAuthRefusal(`The authorization server ${issuer} has no metadata.`)
}

/** Undefined when the address has no JSON object. */
async function fetchMetadata({ endpoint, server }: Fetcher, address: string): Promise<JsonObject | undefined> {
  const isTrusted = isOfDeployment(server, address)
  const refused = checkOAuthAddress(address, isTrusted)
  if (refused !== undefined) throw new OAuthRefusal(`An address of its metadata cannot be used: ${refused}.`)
  try {
    const { response } = await endpoint.guardedFetch({
      url: address,
      headers: { accept: 'application/json' },
      timeoutMs,
      maxBytes,
      ports: 'service',
      isTrusted,
    })
    const text = await response.text()
    const value: unknown = response.status === 200 ? tryParse(text) : undefined
    return isJsonObject(value) ? value : undefined
  } catch (error) {
    if (error instanceof Error && error.name === 'BlockedAddress')
      throw new OAuthRefusal('An address of its metadata may not be called.')
    return undefined // The next address may answer.
  }
}

function tryParse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

export type ClientChoice = {
  readonly stored: StoredServer
  readonly server: AuthorizationServer
  readonly access: ServerAccess
  readonly redirectUri: string
  /** The address of our metadata document. Undefined: it is not public. */
  readonly documentUrl: string | undefined
}

/** A client that was given, then our metadata document, then a registration. */
export async function chooseClient(choice: ClientChoice): Promise<RegisteredClient> {
  const { stored, server, documentUrl } = choice
  const { client_id: clientId } = stored.config.oauth ?? {}
  if (clientId !== undefined) return useGivenClient(choice, clientId)
  if (server.takesClientDocument && documentUrl !== undefined) return { clientId: documentUrl, authentication: 'none' }
  if (server.registrationEndpoint !== undefined) return registerClient(choice, server.registrationEndpoint)
  throw new OAuthRefusal(
    'The authorization server registers no clients. Register Talaria there and give its client_id in oauth.',
  )
}

async function useGivenClient({ stored, server, access }: ClientChoice, clientId: string): Promise<RegisteredClient> {
  const { env, tenantId } = access
  const { client_secret: given, issuer } = stored.config.oauth ?? {}
  if (!given) return { clientId, authentication: 'none' }
  if (issuer !== undefined && issuer !== server.issuer)
    throw new OAuthRefusal(
      `The server names another authorization server than before (${server.issuer}, not ${issuer}). Give client_id and client_secret of it again.`,
    )
  const opened = await unseal(env, given.sealed, headerOwner(tenantId, stored.config.url, clientSecretHeader))
  if (opened.kind === 'unreadable') throw new OAuthRefusal(`The client secret cannot be opened. ${opened.reason}`)
  const secret = await sealForTenant(env, opened.secret, clientOwner(tenantId, server.issuer))
  return { clientId, secret, authentication: chooseClientAuthentication(server, true) }
}

async function registerClient(choice: ClientChoice, registrationEndpoint: string): Promise<RegisteredClient> {
  const { stored, server, access, redirectUri } = choice
  const { env, tenantId } = access
  const authority = systemAuthority(tenantId, { kind: 'job', id: 'mcp' })
  const known = await mcpOf(env, tenantId).getClient(authority, server.issuer, redirectUri)
  if (known) return known
  const endpoint = await openEndpoint({ ...stored, config: { ...stored.config, auth: 'none' } }, access)
  const answer = await postRegistration({ endpoint, server: stored }, registrationEndpoint, redirectUri)
  const { client_id: clientId, client_secret: secret } = answer
  if (typeof clientId !== 'string' || clientId === '') throw new OAuthRefusal('The registration gave no client_id.')
  const hasSecret = typeof secret === 'string' && secret !== ''
  const client: RegisteredClient = {
    clientId,
    authentication: hasSecret ? chooseRegistered(server, answer) : 'none',
    ...(hasSecret && { secret: await sealForTenant(env, secret, clientOwner(tenantId, server.issuer)) }),
  }
  await mcpOf(env, tenantId).putClient(authority, server.issuer, redirectUri, client)
  return client
}

function chooseRegistered(server: AuthorizationServer, { token_endpoint_auth_method: method }: JsonObject) {
  const isKnown = method === 'none' || method === 'client_secret_post' || method === 'client_secret_basic'
  return isKnown ? method : chooseClientAuthentication(server, true)
}

async function postRegistration({ endpoint, server }: Fetcher, url: string, redirectUri: string): Promise<JsonObject> {
  const body = JSON.stringify({ ...createClientMetadata(redirectUri), token_endpoint_auth_method: 'none' })
  const headers = { 'content-type': 'application/json', accept: 'application/json' }
  const isTrusted = isOfDeployment(server, url)
  try {
    const sent = { url, method: 'POST', headers, body, timeoutMs, maxBytes, ports: 'service' as const, isTrusted }
    const { response } = await endpoint.guardedFetch(sent)
    const value = tryParse(await response.text())
    if (response.status >= 200 && response.status < 300 && isJsonObject(value)) return value
    throw new OAuthRefusal(
      `The authorization server registers no clients (status ${response.status}). Register Talaria there and give its client_id in oauth.`,
    )
  } catch (error) {
    if (error instanceof OAuthRefusal) throw error
    throw new OAuthRefusal('The registration of the authorization server cannot be reached, or may not be called.')
  }
}
