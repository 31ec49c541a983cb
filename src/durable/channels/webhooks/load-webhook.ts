/** Loads a generic webhook with its secrets. Each isolate caches it for ten seconds. */

import { BoundedMap } from '#agent/core/bounded-map.ts'
import { webhookSettings, type WebhookSettings } from '#channels/webhook/definition.ts'
import { type Connection, getConnectionById, webhookPlatform } from '#db/channel-connections.ts'
import { rememberSecrets } from '#durable/platform/redaction.ts'
import { unsealSecrets } from '#durable/tenant/channels/connection.ts'
import { listSecrets } from './webhook-secrets.ts'

export type LoadedWebhook = {
  readonly id: string
  readonly tenantId: string
  readonly name: string
  readonly status: Connection['status']
  readonly settings: WebhookSettings
  /** Of each request, one of them signs it. Empty: they cannot be opened. */
  readonly secrets: readonly string[]
}

const freshMs = 10_000
const cache = new BoundedMap<string, { readonly at: number; readonly webhook: LoadedWebhook }>(2_000)

export async function loadWebhook(env: Env, id: string, now: number): Promise<LoadedWebhook | undefined> {
  const cached = cache.get(id)
  if (cached && now - cached.at < freshMs) return cached.webhook
  const stored = await getConnectionById(env.DB, id)
  if (stored?.platform !== webhookPlatform) return undefined
  const { tenantId, name, status, settings } = stored
  const secrets = listSecrets(await unsealSecrets(env, stored), now)
  if (secrets.length) rememberSecrets(tenantId, `webhook ${id}`, secrets)
  const webhook = { id, tenantId, name, status, settings: webhookSettings.parse(settings), secrets }
  cache.set(id, { at: now, webhook })
  return webhook
}

/** Other isolates use the old one for up to ten seconds. */
export const forgetWebhook = (id: string): void => void cache.delete(id)
