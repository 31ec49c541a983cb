/** Loads a generic webhook with its secret. Each isolate caches it for ten seconds. */

import { BoundedMap } from '../../../agent/model/bounded-map.ts'
import { webhookSettings, type WebhookSettings } from '../../../channels/webhook/definition.ts'
import { type Connection, getConnectionById, webhookPlatform } from '../../../db/channel-connections.ts'
import { rememberSecrets } from '../../platform/redaction.ts'
import { unsealSecrets } from '../../tenant/channels/connection.ts'

export type LoadedWebhook = {
  readonly id: string
  readonly tenantId: string
  readonly name: string
  readonly status: Connection['status']
  readonly settings: WebhookSettings
  /** Undefined: it cannot be opened. */
  readonly secret: string | undefined
}

const freshMs = 10_000
const cache = new BoundedMap<string, { readonly at: number; readonly webhook: LoadedWebhook }>(2_000)

export async function loadWebhook(env: Env, id: string, now: number): Promise<LoadedWebhook | undefined> {
  const cached = cache.get(id)
  if (cached && now - cached.at < freshMs) return cached.webhook
  const stored = await getConnectionById(env.DB, id)
  if (stored?.platform !== webhookPlatform) return undefined
  const { tenantId, name, status, settings } = stored
  const { secret } = await unsealSecrets(env, stored)
  if (secret !== undefined) rememberSecrets(tenantId, `webhook ${id}`, [secret])
  const webhook = { id, tenantId, name, status, settings: webhookSettings.parse(settings), secret }
  cache.set(id, { at: now, webhook })
  return webhook
}

/** Other isolates use the old one for up to ten seconds. */
export const forgetWebhook = (id: string): void => void cache.delete(id)
