/** Opens the secrets that a tenant has stored for commands. Values are only in the memory of the isolate. */

import { log } from '#agent/core/log.ts'
import { BoundedMap } from '#agent/core/bounded-map.ts'
import { rememberSecrets } from './redaction.ts'
import { type SecretOwner, unsealAll } from './seal.ts'

export type TenantSecret = {
  readonly name: string
  readonly lastFour: string
  readonly createdAt: number
  readonly sealed: string
}

/** Oldest first. The revision grows with every change, so that a late snapshot is recognised. */
export type StoredSecrets = { readonly revision: number; readonly list: readonly TenantSecret[] }

/** The secrets as a snapshot carries them. */
export type SealedSecrets = {
  readonly revision: number
  readonly list: readonly Pick<TenantSecret, 'name' | 'sealed'>[]
}

/** Values by name. */
export type OpenedSecrets = ReadonlyMap<string, string>

export const noSecrets: OpenedSecrets = new Map()

export const secretOwner = (tenant: string, name: string): SecretOwner => ({ tenant, kind: 'secret', id: name })

/** `masked`: also values that were replaced or deleted, because running commands may still print them. */
type OpenedRevision = { readonly revision: number; readonly secrets: OpenedSecrets; readonly masked: readonly string[] }

const maxMasked = 200
const openedSecrets = new BoundedMap<string, OpenedRevision>(5_000)

type TenantWithSecrets = { readonly id: string; readonly secrets?: SealedSecrets | undefined }

/** Opens the secrets of a snapshot, once for each revision in an isolate. One that cannot be opened is left out. */
export async function openSecrets(env: Env, { id, secrets: sealed }: TenantWithSecrets): Promise<OpenedSecrets> {
  if (!sealed) return noSecrets
  const cached = openedSecrets.get(id)
  if (cached && cached.revision >= sealed.revision) return cached.secrets
  const ownerOf = ({ name }: { readonly name: string }) => secretOwner(id, name)
  const opened = await unsealAll(env, sealed.list, ownerOf, ({ name }, reason) =>
    log.warn('secret.unusable', `The secret ${name} cannot be used.`, { reason, tenant_id: id }),
  )
  const secrets = new Map(opened.map(([{ name }, secret]) => [name, secret]))
  // A later revision may have been opened during the wait.
  const latest = openedSecrets.get(id)
  if (latest && latest.revision >= sealed.revision) return latest.secrets
  const masked = [...new Set([...secrets.values(), ...(latest?.masked ?? [])])].slice(0, maxMasked)
  rememberSecrets(id, 'secrets', masked)
  openedSecrets.set(id, { revision: sealed.revision, secrets, masked })
  return secrets
}
