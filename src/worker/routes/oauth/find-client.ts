/**
 * Registers and finds OAuth clients. A registration stores nothing: the id of the client is its metadata, signed by this
 * deployment, and its secret is a keyed hash of the id. A client with a metadata document has its address as the id.
 */

import { decodeBase64Url, encodeBase64Url } from '#agent/core/base64.ts'
import {
  type AppClient,
  areRedirects,
  cleanName,
  isDocumentId,
  type ReadClient,
  readClientDocument,
} from '#agent/mcp/app-client.ts'
import { createGuardedFetch } from '#durable/platform/guarded-fetch.ts'
import { deriveKey, getMasterKeys } from '#durable/platform/master-key.ts'
import { requireEncryptionKey } from '../../secrets/require-encryption-key.ts'
import { OAuthError } from './oauth-error.ts'

const prefix = 'app_'
const idPattern = /^app_([\w-]{1,6000})\.([\w-]{43})$/
const encoder = new TextEncoder()

export const authenticationMethods = ['none', 'client_secret_basic', 'client_secret_post'] as const
type Authentication = (typeof authenticationMethods)[number]

export type RegisteredClient = AppClient & { readonly authentication: Authentication }

type Registration = {
  readonly redirect_uris?: unknown
  readonly client_name?: unknown
  readonly token_endpoint_auth_method?: unknown
}

async function sign(master: Uint8Array, purpose: 'id' | 'secret', text: string): Promise<Uint8Array> {
  const key = await deriveKey(master, `v1 app ${purpose}`, 'HMAC')
  return new Uint8Array(await crypto.subtle.sign('HMAC', key, encoder.encode(text)))
}

const isEqual = (one: Uint8Array, other: Uint8Array): boolean =>
  one.length === other.length && crypto.subtle.timingSafeEqual(one, other)

export async function registerClient(env: Env, { redirect_uris: uris, client_name: name, ...more }: Registration) {
  requireEncryptionKey(env)
  const { token_endpoint_auth_method: asked = 'none' } = more
  if (!areRedirects(uris))
    throw new OAuthError(
      'invalid_redirect_uri',
      'redirect_uris: one to ten addresses with https, of this computer, or with a scheme of an application.',
    )
  const authentication = authenticationMethods.find((method) => method === asked)
  if (!authentication)
    throw new OAuthError('invalid_client_metadata', `token_endpoint_auth_method: ${authenticationMethods.join(', ')}.`)
  const [master] = await getMasterKeys(env)
  if (!master) throw new Error('ENCRYPTION_KEY was checked before.')
  const body = encodeBase64Url(encoder.encode(JSON.stringify([cleanName(name), uris, authentication])))
  const id = `${prefix}${body}.${encodeBase64Url(await sign(master.bytes, 'id', body))}`
  const secret = authentication === 'none' ? undefined : encodeBase64Url(await sign(master.bytes, 'secret', id))
  return { id, name: cleanName(name), redirectUris: uris, authentication, secret }
}

/** Undefined when this deployment has not signed the id. */
export async function openClientId(env: Env, id: string): Promise<RegisteredClient | undefined> {
  const [, body = '', signature = ''] = idPattern.exec(id) ?? []
  if (!body) return undefined
  const given = decodeBase64Url(signature)
  for (const { bytes } of await getMasterKeys(env))
    if (isEqual(await sign(bytes, 'id', body), given)) return toClient(id, body)
  return undefined
}

function toClient(id: string, body: string): RegisteredClient {
  const text = new TextDecoder().decode(decodeBase64Url(body))
  const [name, redirectUris, authentication] = JSON.parse(text) as [string, readonly string[], Authentication]
  return { id, name: name || 'Unnamed', redirectUris, authentication }
}

/** Whether the secret is that of the client. */
export async function isClientSecret(env: Env, id: string, secret: string): Promise<boolean> {
  if (!/^[\w-]{43}$/.test(secret)) return false
  const given = decodeBase64Url(secret)
  for (const { bytes } of await getMasterKeys(env)) if (isEqual(await sign(bytes, 'secret', id), given)) return true
  return false
}

const documentLimits = { timeoutMs: 5_000, maxBytes: 64 * 1024 }

/** Fetches the metadata document of a client, or opens its signed id. Called only for people who have signed in. */
export async function findClient(
  env: Env,
  id: string,
): Promise<ReadClient | { readonly refusal: 'unknown' | 'unreachable' }> {
  if (!isDocumentId(id)) return (await openClientId(env, id)) ?? { refusal: 'unknown' }
  try {
    const headers = { accept: 'application/json' }
    const { response } = await createGuardedFetch(env)({ url: id, headers, ...documentLimits })
    if (response.status === 200) return readClientDocument(id, await response.json())
    await response.body?.cancel()
  } catch {
    // The page says so. The reason would tell strangers what can be reached from here.
  }
  return { refusal: 'unreachable' }
}
