/** Seals the headers of custom providers in a patch of settings before it is stored. */

import { mergeSettings, type Settings } from '#agent/core/settings.ts'
import { isMaskedHeader, isSealedHeader, renderSealedHeader } from '#agent/core/secrets/provider-headers.ts'
import { headerOwner } from '#durable/models/provider-headers.ts'
import { sealForTenant } from '#durable/tenant/secrets/tenant-seal.ts'
import { invalid } from '../errors.ts'
import { requireEncryptionKey } from './require-encryption-key.ts'

const maxHeaderChars = 2_000

/**
 * `stored` names the addresses that the patch leaves as they are. Its headers that are not sealed yet are sealed too when
 * the patch changes providers, which is policy anyway.
 */
export async function sealHeaders<Patch extends object>(
  env: Env,
  tenantId: string,
  patch: Patch,
  stored: Settings = {},
): Promise<Patch> {
  let sealed: Patch = patch
  for (const { provider, header, value, address } of listPlainHeaders(patch, stored)) {
    requireEncryptionKey(env)
    const text = renderSealedHeader(value, await sealForTenant(env, value, headerOwner(tenantId, address, header)))
    sealed = mergeSettings(sealed, { providers: { [provider]: { headers: { [header]: text } } } })
  }
  return sealed
}

type PlainHeader = {
  readonly provider: string
  readonly header: string
  readonly value: string
  readonly address: string | undefined
}

/** Lists the headers that the patch names, and those that an earlier version has stored as they are. */
function listPlainHeaders(patch: object, stored: Settings): readonly PlainHeader[] {
  const given = (patch as Settings).providers ?? {}
  const named = Object.entries(given).flatMap(([provider, fields]) =>
    Object.entries(fields?.headers ?? {})
      .filter(([, value]) => value !== null && !isMaskedHeader(value))
      .map(([header, value]) => {
        validateHeader(provider, header, value)
        return { provider, header, value, address: fields?.base_url ?? stored.providers?.[provider]?.base_url }
      }),
  )
  const unsealed = Object.entries(stored.providers ?? {}).flatMap(([provider, { base_url: address, headers = {} }]) =>
    Object.entries(headers)
      .filter(([, value]) => !Object.hasOwn(given, provider) && !isSealedHeader(value))
      .map(([header, value]) => ({ provider, header, value, address })),
  )
  return Object.keys(given).length ? [...named, ...unsealed] : []
}

function validateHeader(provider: string, header: string, value: string): void {
  if (isSealedHeader(value) || value.length > maxHeaderChars)
    throw invalid(`A header has at most ${maxHeaderChars} characters.`, `providers.${provider}.headers.${header}`)
}
