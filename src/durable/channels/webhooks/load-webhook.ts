/** Loads a generic webhook with its secrets. Each isolate caches it for ten seconds. */

import type { Authority } from '#agent/core/permission/authority.ts'
import { combineAuthorities, type TurnAuthority } from '#agent/core/permission/contribution.ts'
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
  /** The common rights of everybody who has made or changed it. Absent in webhooks that are older than this field. */
  readonly authors?: TurnAuthority | undefined
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
  const webhook = {
    id,
    tenantId,
    name,
    status,
    settings: webhookSettings.parse(settings),
    authors: readAuthors(settings),
    secrets,
  }
  cache.set(id, { at: now, webhook })
  return webhook
}

/** The name in the stored settings. It is a text, because changes of settings are merged field by field. */
const authorsField = 'authors'

const readAuthors = (settings: unknown): TurnAuthority | undefined => {
  const text = (settings as { readonly [authorsField]?: string } | null)?.[authorsField]
  return text === undefined ? undefined : (JSON.parse(text) as TurnAuthority)
}

/** Returns the stored field with the author of a change among the authors. */
export function addAuthor(settings: unknown, by: Authority): { readonly [authorsField]: string } {
  const { requestId: _, ...author } = by
  const before = readAuthors(settings)
  return { [authorsField]: JSON.stringify(combineAuthorities([author, ...(before ? [before] : [])])) }
}

/** Other isolates use the old one for up to ten seconds. */
export const forgetWebhook = (id: string): void => void cache.delete(id)
