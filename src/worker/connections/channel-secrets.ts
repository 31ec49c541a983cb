/** Validates, generates and replaces the secrets of a channel. */

import type { Channel, Secrets } from '#channels/channel.ts'
import type { Connection, ConnectionChange } from '#db/channel-connections.ts'
import { sealSecrets, unsealSecrets } from '#durable/tenant/channels/connection.ts'
import { AppError, invalid } from '../errors.ts'

/** Throws unless all secrets of the platform are given, and no others. */
export function validateSecrets({ platform, secrets: required }: Channel, secrets: Secrets): Secrets {
  for (const key of Object.keys(secrets))
    if (!Object.hasOwn(required, key)) throw invalid(`${platform} has no secret ${key}.`, `secrets.${key}`)
  for (const [needed, { shape, hint }] of Object.entries(required)) {
    const value = Object.hasOwn(secrets, needed) ? secrets[needed] : undefined
    if (value === undefined) throw invalid(`${platform} needs the secret ${needed}: ${hint}`, `secrets.${needed}`)
    if (!shape.test(value)) throw invalid(`secrets.${needed}: ${hint}`, `secrets.${needed}`)
  }
  return secrets
}

/** Generates the secrets that are not given and that need not come from the platform. */
export const generateSecrets = ({ secrets }: Channel, given: Secrets): Secrets =>
  Object.fromEntries(
    Object.entries(secrets)
      .filter(([key, { isGenerated }]) => isGenerated && !Object.hasOwn(given, key))
      .map(([key]) => [key, [...crypto.getRandomValues(new Uint8Array(32))].map(toHex).join('')]),
  )

const toHex = (byte: number) => byte.toString(16).padStart(2, '0')

type SealedSecrets = Pick<Connection, 'secrets' | 'endings'>

export const sealChannelSecrets = async (
  env: Env,
  { tenantId, id }: Pick<Connection, 'tenantId' | 'id'>,
  secrets: Secrets,
): Promise<SealedSecrets> => ({ secrets: await sealSecrets(env, tenantId, id, secrets), endings: endingsOf(secrets) })

/** The end of a short secret would reveal too much of it. */
const endingsOf = (secrets: Secrets) =>
  Object.fromEntries(Object.entries(secrets).map(([key, value]) => [key, value.length < 8 ? '****' : value.slice(-4)]))

type SecretsUpdate = {
  readonly channel: Channel
  readonly given: Secrets
  readonly load: () => Promise<Connection>
  /** Undefined when the secrets changed since they were loaded. */
  readonly write: (secrets: NonNullable<ConnectionChange['secrets']>) => Promise<Connection | undefined>
}

/** Of several concurrent changes, one succeeds in each round. */
const maxAttempts = 8

/**
 * Secrets are sealed as one value, so a change of one reads and replaces all of them. A change that another one overtook
 * starts again from the new value.
 */
export async function updateSecrets(env: Env, { channel, given, load, write }: SecretsUpdate): Promise<Connection> {
  for (let attempt = 0; attempt < maxAttempts; attempt++) {
    const stored = await load()
    // Secrets that cannot be opened any more are missing here, so the request must give all of them.
    const merged = validateSecrets(channel, { ...(await unsealSecrets(env, stored)), ...given })
    const changed = await write({ ...(await sealChannelSecrets(env, stored, merged)), before: stored.secrets })
    if (changed) return changed
  }
  throw new AppError(409, 'conflict', 'These secrets are being changed by another request. Try again.', {
    param: 'secrets',
  })
}
