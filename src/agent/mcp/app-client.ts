/** Judges the OAuth clients of the MCP server ("apps"): their addresses, their metadata documents and the rights they ask for. */

import { isLocalHost, isSameAddress } from '#agent/core/local-address.ts'
import { isJsonObject } from '#agent/core/parse-json.ts'
import type { Scope } from '#agent/core/permission/authority.ts'

export type AppClient = {
  readonly id: string
  /** The app chooses it, so it proves nothing. */
  readonly name: string
  readonly redirectUris: readonly string[]
}

/** The scopes that an app can get, in the order of the consent page. */
export const appScopes = ['chat', 'read', 'write', 'jobs', 'approve'] as const satisfies readonly Scope[]
export type AppScope = (typeof appScopes)[number]

export const maxRedirects = 10
export const maxNameChars = 80
const maxAddressChars = 500

/** Schemes that a browser runs or reads itself. */
const ownSchemes = new Set([
  'javascript',
  'data',
  'vbscript',
  'file',
  'blob',
  'about',
  'filesystem',
  'view-source',
  'ws',
  'wss',
  'ftp',
])

const isLoopback = ({ protocol, hostname }: URL): boolean => protocol === 'http:' && isLocalHost(hostname)

function parseRedirect(text: string): URL | undefined {
  const url = text.length <= maxAddressChars && !text.includes('#') ? URL.parse(text) : null
  return url && !url.username && !url.password ? url : undefined
}

/** Allows https, programs of the same computer, and schemes that an application has registered there. */
export function isRedirectUri(text: unknown): text is string {
  const url = typeof text === 'string' ? parseRedirect(text) : undefined
  if (!url) return false
  if (url.protocol === 'https:' || isLoopback(url)) return true
  const scheme = url.protocol.slice(0, -1)
  return scheme !== 'http' && !ownSchemes.has(scheme) && String(text).toLowerCase().startsWith(`${scheme}:/`)
}

/** A program of the same computer may listen on any port (RFC 8252, 7.3). Other addresses are compared as texts. */
export function isRegisteredRedirect({ redirectUris }: AppClient, asked: string): boolean {
  if (!isRedirectUri(asked)) return false
  const withoutPort = toWithoutPort(asked)
  return redirectUris.some((one) => one === asked || (withoutPort !== undefined && toWithoutPort(one) === withoutPort))
}

function toWithoutPort(text: string): string | undefined {
  const url = URL.parse(text)
  if (!url || !isLoopback(url)) return undefined
  url.port = ''
  return url.href
}

/** The receiver of the code as a person knows it: a host, this computer, or a scheme. */
export type Receiver = { readonly kind: 'host' | 'computer' | 'scheme'; readonly name: string }

export function describeReceiver(redirectUri: string): Receiver {
  const url = new URL(redirectUri)
  if (isLoopback(url)) return { kind: 'computer', name: url.hostname }
  return url.protocol === 'https:'
    ? { kind: 'host', name: url.host }
    : { kind: 'scheme', name: url.protocol.slice(0, -1) }
}

/** Whether a client id is the address of a metadata document. */
export function isDocumentId(id: string): boolean {
  const url = id.length <= maxAddressChars ? URL.parse(id) : null
  if (url?.protocol !== 'https:' || url.username || url.password || id.includes('#')) return false
  // Parsing resolves parts such as `..`: an address that changes by it is not the one that the document names.
  return url.pathname !== '/' && url.href === id
}

export type ReadClient = AppClient | { readonly refusal: 'id' | 'redirects' | 'authentication' }

/** Reads the metadata document that a client id names. */
export function readClientDocument(id: string, document: unknown): ReadClient {
  if (!isJsonObject(document) || document['client_id'] !== id) return { refusal: 'id' }
  const { token_endpoint_auth_method: method = 'none', client_name: name, redirect_uris: uris } = document
  // A document is public, and so is every secret in it.
  if (method !== 'none' || 'client_secret' in document) return { refusal: 'authentication' }
  if (!areRedirects(uris)) return { refusal: 'redirects' }
  return { id, name: cleanName(name) || new URL(id).host, redirectUris: uris }
}

export const areRedirects = (uris: unknown): uris is readonly string[] =>
  Array.isArray(uris) && uris.length > 0 && uris.length <= maxRedirects && uris.every(isRedirectUri)

/** Characters that hide or reorder text could make a name look like another one. */
export const cleanName = (name: unknown): string =>
  typeof name === 'string'
    ? name
        .replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '')
        .trim()
        .slice(0, maxNameChars)
    : ''

/** Requests of clients add scopes of identity providers, which mean nothing here. */
const ignoredScopes = new Set(['offline_access', 'openid', 'profile', 'email'])

/** Undefined when the app asks for rights that do not exist. Without any, it asks for all. */
export function readAppScopes(text: string | undefined): readonly AppScope[] | undefined {
  const asked = (text ?? '').split(' ').filter((one) => one && !ignoredScopes.has(one))
  if (!asked.length) return appScopes
  const known = appScopes.filter((scope) => asked.includes(scope))
  return known.length ? known : undefined
}

/** Whether an app wants tokens for this resource. Without any, there is but one. */
export const isOwnResource = (asked: string | undefined, resource: string): boolean =>
  asked === undefined || isSameAddress(asked, resource)
