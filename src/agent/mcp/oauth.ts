/**
 * Reads the challenges and metadata of an OAuth 2.1 sign-in to an MCP server, and refuses what would send a code or a
 * token to the wrong server.
 */

import { isJsonObject, type JsonObject } from '#agent/core/parse-json.ts'

/** The part of `WWW-Authenticate` that a client acts on. */
export type Challenge = {
  readonly metadataUrl?: string
  readonly scope?: string
  readonly isScopeMissing: boolean
}

/** Undefined when the server does not ask for a bearer token. */
export function parseChallenge(header: string | null): Challenge | undefined {
  if (header === null || !/(?:^|,\s{0,8})bearer\b/i.test(header)) return undefined
  const values = new Map<string, string>()
  for (const [, name = '', quoted, plain] of header
    .slice(0, 4_096)
    .matchAll(/\b(\w{1,64})=(?:"([^"]{0,2000})"|([^\s,"]{1,2000}))/g))
    values.set(name.toLowerCase(), quoted ?? plain ?? '')
  const metadataUrl = values.get('resource_metadata')
  const scope = values.get('scope')
  return {
    ...(metadataUrl !== undefined && { metadataUrl }),
    ...(scope !== undefined && { scope: cleanScope(scope) }),
    isScopeMissing: values.get('error') === 'insufficient_scope',
  }
}

const maxScopeChars = 2_000
const cleanScope = (scope: string): string =>
  scope
    .slice(0, maxScopeChars)
    .split(/\s+/)
    .filter((one) => /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(one))
    .join(' ')

export const unionScopes = (...scopes: readonly (string | undefined)[]): string =>
  [...new Set(scopes.flatMap((scope) => cleanScope(scope ?? '').split(' ')))].filter(Boolean).join(' ')

/** Why an address may not be part of a sign-in. `mayBePlain`: the deployment itself has named a server without TLS. */
export function checkOAuthAddress(address: unknown, mayBePlain = false): string | undefined {
  const url = typeof address === 'string' ? URL.parse(address) : null
  if (!url) return 'it is not a valid address'
  if (url.protocol !== 'https:' && !(mayBePlain && url.protocol === 'http:')) return 'it does not use https'
  if (url.username || url.password) return 'it contains a user name or a password'
  return url.hash ? 'it has a fragment' : undefined
}

/** The addresses of the metadata of a protected resource: for its path, then for the host. */
export function listResourceMetadataUrls(serverUrl: string): readonly string[] {
  const { origin, pathname } = new URL(serverUrl)
  const base = `${origin}/.well-known/oauth-protected-resource`
  const path = pathname.replace(/\/$/, '')
  return path ? [`${base}${path}`, base] : [base]
}

export type Resource = { readonly resource: string; readonly issuer: string; readonly scope: string }

/** A text says why the metadata cannot be used. */
export function readResource(metadata: JsonObject, serverUrl: string): Resource | string {
  const { resource, authorization_servers: servers, scopes_supported: scopes } = metadata
  if (typeof resource !== 'string' || !isResourceOf(resource, serverUrl))
    return `Its metadata describes another resource (${String(resource).slice(0, 200)}).`
  const issuer = Array.isArray(servers) ? (servers as readonly unknown[])[0] : undefined
  if (typeof issuer !== 'string') return 'Its metadata names no authorization server.'
  return { resource, issuer, scope: joinScopes(scopes) }
}

/** A resource covers the paths below its own. */
function isResourceOf(resource: string, serverUrl: string): boolean {
  const [named, server] = [URL.parse(resource), new URL(serverUrl)]
  if (!named || named.origin !== server.origin || named.hash || named.username) return false
  const path = named.pathname.replace(/\/$/, '')
  return server.pathname === path || server.pathname === `${path}/` || server.pathname.startsWith(`${path}/`)
}

const joinScopes = (scopes: unknown): string =>
  Array.isArray(scopes) ? unionScopes(...scopes.filter((one) => typeof one === 'string')) : ''

/** The addresses of the metadata of an authorization server: RFC 8414, then the forms of OpenID Connect. */
export function listIssuerMetadataUrls(issuer: string): readonly string[] {
  const { origin, pathname } = new URL(issuer)
  const path = pathname.replace(/\/$/, '')
  return [
    `${origin}/.well-known/oauth-authorization-server${path}`,
    `${origin}/.well-known/openid-configuration${path}`,
    ...(path ? [`${origin}${path}/.well-known/openid-configuration`] : []),
  ]
}

export type AuthorizationServer = {
  readonly issuer: string
  readonly authorizationEndpoint: string
  readonly tokenEndpoint: string
  readonly registrationEndpoint?: string
  /** It repeats its name in the return of the browser, and a return without it is forged. */
  readonly namesItself: boolean
  /** It reads our metadata document, and needs no registration. */
  readonly takesClientDocument: boolean
  readonly offersRefresh: boolean
  readonly clientAuthentication: readonly string[]
}

/** A text says why the server cannot be used. Its name must be the one that was asked for, byte for byte. */
export function readAuthorizationServer(
  metadata: JsonObject,
  issuer: string,
  mayBePlain = false,
): AuthorizationServer | string {
  if (metadata['issuer'] !== issuer)
    return `The authorization server ${issuer} calls itself ${String(metadata['issuer']).slice(0, 200)}.`
  const {
    authorization_endpoint: authorizationEndpoint,
    token_endpoint: tokenEndpoint,
    registration_endpoint: registrationEndpoint,
    code_challenge_methods_supported: challenges,
    token_endpoint_auth_methods_supported: methods,
    scopes_supported: scopes,
  } = metadata
  const addresses = {
    authorizationEndpoint,
    tokenEndpoint,
    ...(registrationEndpoint != null && { registrationEndpoint }),
  }
  for (const [name, address] of Object.entries(addresses)) {
    const refused = checkOAuthAddress(address, mayBePlain)
    if (refused !== undefined)
      return `The ${explainEndpoint(name)} of the authorization server cannot be used: ${refused}.`
  }
  if (!Array.isArray(challenges) || !challenges.includes('S256'))
    return 'The authorization server does not support PKCE with S256, which OAuth 2.1 demands.'
  return {
    ...(addresses as { authorizationEndpoint: string; tokenEndpoint: string; registrationEndpoint?: string }),
    issuer,
    namesItself: metadata['authorization_response_iss_parameter_supported'] === true,
    takesClientDocument: metadata['client_id_metadata_document_supported'] === true,
    offersRefresh: Array.isArray(scopes) && scopes.includes('offline_access'),
    clientAuthentication: Array.isArray(methods) ? methods.filter((one) => typeof one === 'string') : [],
  }
}

const explainEndpoint = (name: string): string => name.replace('Endpoint', ' endpoint')

/** How a client proves who it is to the token endpoint. */
export type ClientAuthentication = 'none' | 'client_secret_post' | 'client_secret_basic'

export function chooseClientAuthentication(
  { clientAuthentication }: AuthorizationServer,
  hasSecret: boolean,
): ClientAuthentication {
  if (!hasSecret) return 'none'
  return clientAuthentication.includes('client_secret_post') && !clientAuthentication.includes('client_secret_basic')
    ? 'client_secret_post'
    : 'client_secret_basic'
}

export type AuthorizationRequest = {
  readonly clientId: string
  readonly redirectUri: string
  readonly state: string
  readonly challenge: string
  readonly resource: string
  readonly scope: string
}

export function renderAuthorizationUrl(
  { authorizationEndpoint }: AuthorizationServer,
  { clientId, redirectUri, state, challenge, resource, scope }: AuthorizationRequest,
): string {
  const url = new URL(authorizationEndpoint)
  const parameters = {
    response_type: 'code',
    client_id: clientId,
    redirect_uri: redirectUri,
    state,
    code_challenge: challenge,
    code_challenge_method: 'S256',
    resource,
    ...(scope && { scope }),
    // Without it servers of OpenID Connect leave the right to renew out (OpenID Connect Core 1.0, 11).
    ...(scope.split(' ').includes('offline_access') && { prompt: 'consent' }),
  }
  for (const [name, value] of Object.entries(parameters)) url.searchParams.set(name, value)
  return url.href
}

export type Tokens = {
  readonly access: string
  readonly refresh?: string
  /** Seconds. */
  readonly lifetime?: number
  readonly scope?: string
}

/** Undefined when the answer holds no bearer token that a header can carry. */
export function readTokens(answer: unknown): Tokens | undefined {
  if (!isJsonObject(answer)) return undefined
  const { access_token: access, token_type: type, refresh_token: refresh, expires_in: lifetime, scope } = answer
  if (typeof access !== 'string' || !/^[\x21-\x7e]{1,16384}$/.test(access)) return undefined
  if (typeof type !== 'string' || type.toLowerCase() !== 'bearer') return undefined
  const seconds = readLifetime(lifetime)
  return {
    access,
    ...(typeof refresh === 'string' && refresh !== '' && { refresh }),
    ...(seconds !== undefined && { lifetime: seconds }),
    ...(typeof scope === 'string' && { scope: cleanScope(scope) }),
  }
}

/** Some servers send it as text. Without a usable one the token counts until the server refuses it. */
function readLifetime(lifetime: unknown): number | undefined {
  const seconds = typeof lifetime === 'string' ? Number(lifetime) : lifetime
  return typeof seconds === 'number' && Number.isFinite(seconds) && seconds > 0 ? seconds : undefined
}

/** The error code of a token endpoint, without its free text, which may repeat what was sent. */
export function readOAuthError(answer: unknown): string | undefined {
  const error = isJsonObject(answer) ? answer['error'] : undefined
  return typeof error === 'string' && /^[a-z_]{1,64}$/.test(error) ? error : undefined
}
