/** Entry of the worker: exports the HTTP handler and the Durable Object classes. */

import { inJurisdiction } from '#durable/platform/jurisdiction.ts'
import { normalizePath } from './routing/create-hono.ts'
import { createFirstApp, isFirstRoute, isWebhook } from './routing/first-app.ts'
import type { App } from './route.ts'

const firstApp = createFirstApp()
let app: App | undefined
let webhookApp: App | undefined

async function loadApp(): Promise<App> {
  const { createApp } = await import('./app.ts')
  return (app ??= createApp())
}

/** The webhooks of platforms have an application of their own, so that a cold isolate acknowledges without all routes. */
async function loadWebhookApp(): Promise<App> {
  const { createWebhookApp } = await import('./routing/webhook-app.ts')
  return (webhookApp ??= createWebhookApp())
}

/** Older text is moved to R2 (docs/design/scale.md#old-text). */
const coldAfterMonths = 12

export default {
  fetch: async (request, env, context) => {
    const path = normalizePath(request)
    const handler = isWebhook(request, path)
      ? (webhookApp ?? (await loadWebhookApp()))
      : isFirstRoute(request, path)
        ? firstApp
        : (app ?? (await loadApp()))
    return handler.fetch(request, inJurisdiction(env), context)
  },
  email: async (message, env, context) => {
    const { receiveMail } = await import('./receive-mail.ts')
    await receiveMail(message, inJurisdiction(env), context)
  },
  /** By the triggers of wrangler.toml: old text each hour, backups every ten minutes. */
  scheduled: async ({ scheduledTime: at, cron }, given) => {
    const env = inJurisdiction(given)
    const { BLOBS } = env
    if (cron.startsWith('*/')) return void (await (await import('./backup/nightly.ts')).runNightly(env))
    if (!BLOBS) return
    const { coolSlice } = await import('#db/cool-pages.ts')
    const before = new Date(at).setUTCMonth(new Date(at).getUTCMonth() - coldAfterMonths)
    await coolSlice({ ...env, BLOBS }, { at, before })
  },
} satisfies ExportedHandler<Env>

export { ConnectionDO } from '#durable/channels/connection-object.ts'
export { SessionDO } from '#durable/session/session-object.ts'
export { TenantDO } from '#durable/tenant/tenant-object.ts'
