/** Checks and stores a key of a provider: text without spaces, or the JSON of a service account for Vertex AI. */

import { decodeBase64Bytes } from '#agent/core/base64.ts'
import { isJsonObject, parseJson } from '#agent/core/parse-json.ts'
import type { Authority } from '#agent/core/permission/authority.ts'
import { memoryProviders } from '#agent/core/recall/memory-provider.ts'
import { customProviderName } from '#agent/core/settings.ts'
import { getProvider } from '#agent/providers/profiles/providers.ts'
import { acceptsKeys } from '#agent/routing/availability.ts'
import { isToolVendor } from '#agent/routing/tool-vendors.ts'
import { type Credential, credentialOwner, maxCredentials, providerOwner } from '#durable/models/credentials.ts'
import { tenantStub } from '#durable/platform/addresses.ts'
import { newCredentialId } from '#durable/platform/ids.ts'
import { fingerprintSecret } from '#durable/platform/seal.ts'
import { sealForTenant } from '#durable/tenant/secrets/tenant-seal.ts'
import { forgetSnapshot } from '#durable/tenant/tenant-snapshot.ts'
import { AppError, invalid, notFound } from '../errors.ts'
import { requireEncryptionKey } from './require-encryption-key.ts'

type CredentialCall = {
  readonly env: Env
  readonly authority: Authority
  readonly tenant: { readonly id: string }
  readonly body: { readonly provider: string; readonly key: string; readonly name?: string | undefined }
}

export async function storeCredential({ env, authority, tenant, body }: CredentialCall): Promise<Credential> {
  const provider = resolveProvider(body.provider)
  requireEncryptionKey(env)
  const { key, lastFour } = readProviderKey(provider, body.key)
  const id = newCredentialId()
  const credential = {
    id,
    provider,
    name: body.name ?? null,
    lastFour,
    createdAt: Date.now(),
    sealed: await sealForTenant(env, key, credentialOwner(tenant.id, { id, provider })),
    mark: await fingerprintSecret(env, key, providerOwner(tenant.id, provider)),
  }
  const outcome = await tenantStub(env, tenant.id).credentials.add(authority, credential)
  if (outcome === 'foreign') throw notFound()
  if (outcome === 'known')
    throw new AppError(409, 'conflict', `This key is already stored for ${provider}.`, { param: 'key' })
  if (outcome === 'full')
    throw new AppError(409, 'conflict', `There are already ${maxCredentials} credentials. Delete one first.`)
  forgetSnapshot(tenant.id)
  return credential
}

/** Accepts custom providers that are not in the settings yet, so that the order of the two calls does not matter. */
function resolveProvider(name: string): string {
  if (customProviderName.test(name)) return name
  if ((memoryProviders as readonly string[]).includes(name) || isToolVendor(name)) return name
  const provider = getProvider(name)
  if (!provider)
    throw invalid(
      `There is no provider ${name}. Use one of docs/providers.md, or custom: and a name of your own.`,
      'provider',
    )
  if (provider.signIn) throw invalid(`Sign in to ${provider.id} with POST /api/credentials/oauth.`, 'provider')
  if (!acceptsKeys(provider)) throw invalid(`${provider.id} needs no key.`, 'provider')
  return provider.id
}

type ProviderKey = { readonly key: string; readonly lastFour: string }

/** The end of a short key would reveal too much of it. */
const lastFourOf = (key: string) => (key.length < 8 ? '' : key.slice(-4))

function readProviderKey(provider: string, key: string): ProviderKey {
  if (provider === 'vertex') return readServiceAccount(key)
  if (!/^[!-~]*$/.test(key)) throw invalid('Printable ASCII without spaces.', 'key')
  return { key, lastFour: lastFourOf(key) }
}

const neededFields = ['client_email', 'private_key', 'project_id'] as const

/** Keeps what calls need of the file. Its fields always have the same order, so that the same key is recognised. */
function readServiceAccount(text: string): ProviderKey {
  const file = parseJson(text.startsWith('{') ? text : decode(text))
  if (!isJsonObject(file)) throw invalid('Paste the JSON file of a key of the service account, or its base64.', 'key')
  const missing = neededFields.filter((name) => typeof file[name] !== 'string' || !file[name])
  if (missing.length) throw invalid(`The file of the service account has no ${missing.join(', ')}.`, 'key')
  if (!/-----BEGIN (RSA )?PRIVATE KEY-----/.test(String(file['private_key'])))
    throw invalid('private_key is not in PEM.', 'key')
  const names = [...neededFields, 'private_key_id', 'location']
  const kept = Object.fromEntries(names.flatMap((name) => (typeof file[name] === 'string' ? [[name, file[name]]] : [])))
  return { key: JSON.stringify(kept), lastFour: lastFourOf(String(kept['private_key_id'] ?? '')) }
}

function decode(text: string): Uint8Array | string {
  try {
    return decodeBase64Bytes(text)
  } catch {
    return ''
  }
}
