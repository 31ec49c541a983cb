/** Entry of the worker: exports the HTTP handler and the Durable Object classes. */

import { createFirstApp, isFirstRoute } from './routing/first-app.ts'
import type { App } from './route.ts'

const firstApp = createFirstApp()
let app: App | undefined

async function loadApp(): Promise<App> {
  const { createApp } = await import('./app.ts')
  return (app ??= createApp())
}

export default {
  fetch: async (request, env, context) => {
    const handler = app ?? (isFirstRoute(request) ? firstApp : await loadApp())
    return handler.fetch(request, env, context)
  },
  email: async (message, env, context) => {
    const { receiveMail } = await import('./receive-mail.ts')
    await receiveMail(message, env, context)
  },
} satisfies ExportedHandler<Env>

export { ConnectionDO } from '../durable/channels/connection-object.ts'
export { SessionDO } from '../durable/session/session-object.ts'
export { TenantDO } from '../durable/tenant/tenant-object.ts'
