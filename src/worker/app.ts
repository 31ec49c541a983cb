/** The HTTP API: every route there is, in one list. */

import { Hono } from 'hono'
import { docsPage } from './docs-page.ts'
import { AppError, notFound, renderError } from './errors.ts'
import { openapi } from './openapi.ts'
import type { App, OpenRoute, Route } from './route.ts'
import { adminRoutes } from './routes/admin.ts'
import { approvalRoutes } from './routes/approvals.ts'
import { auditRoutes } from './routes/audit.ts'
import { channelRoutes } from './routes/channels.ts'
import { chatRoutes } from './routes/chat-completions.ts'
import { checkpointRoutes } from './routes/checkpoints.ts'
import { credentialRoutes } from './routes/credentials.ts'
import { exportRoutes } from './routes/export.ts'
import { fileRoutes } from './routes/files.ts'
import { health, healthRoutes } from './routes/health.ts'
import { modelRoutes } from './routes/models.ts'
import { pairingRoutes } from './routes/pairing.ts'
import { responseRoutes } from './routes/responses.ts'
import { sessionChatRoutes } from './routes/session-chat.ts'
import { sessionRoutes } from './routes/sessions.ts'
import { tenantRoutes } from './routes/tenant.ts'
import { usageRoutes } from './routes/usage.ts'
import { webhookRoutes } from './routes/webhooks.ts'
import { authenticate } from './auth.ts'
import { cors } from './cors.ts'

export const routes: readonly Route[] = [
  ...modelRoutes,
  ...chatRoutes,
  ...responseRoutes,
  ...sessionRoutes,
  ...sessionChatRoutes,
  ...fileRoutes,
  ...checkpointRoutes,
  ...exportRoutes,
  ...tenantRoutes,
  ...approvalRoutes,
  ...credentialRoutes,
  ...auditRoutes,
  ...channelRoutes,
  ...pairingRoutes,
  ...usageRoutes,
  ...adminRoutes,
  ...healthRoutes,
]

/** Those without a key. */
export const openRoutes: readonly OpenRoute[] = [...webhookRoutes]

export function createApp(): App {
  const app: App = new Hono()
  app.onError((error) => renderError(error))
  app.use(cors)
  app.get('/health', ({ env }) => health(env))
  app.get('/v1/health', ({ env }) => health(env))
  app.get('/openapi.json', ({ req }) => Response.json(openapi([...routes, ...openRoutes], new URL(req.url).origin)))
  app.get('/docs', ({ html }) => html(docsPage))
  for (const one of [...openRoutes, ...routes]) one.mount(app)
  app.notFound(async ({ req, env, executionCtx }) => {
    const { pathname } = new URL(req.url)
    if (!/^\/(v1|api)\//.test(pathname)) return env.ASSETS?.fetch(req.raw) ?? renderError(notFound())
    // What exists is nobody's business without a key.
    await authenticate(req.raw, env, (work) => executionCtx.waitUntil(work))
    const allowed = methodsOf(pathname)
    if (!allowed.length) return renderError(notFound())
    const refused = renderError(
      new AppError(405, 'method_not_allowed', `${req.method} is not possible here, but ${allowed.join(', ')} is.`),
    )
    refused.headers.set('allow', allowed.join(', '))
    return refused
  })
  return app
}

const patterns = routes.map(({ path, method }) => ({
  method: method.toUpperCase(),
  pattern: new RegExp(`^${path.replace(/:\w+\{\.[*+]\}/g, '.*').replace(/:\w+/g, '[^/]+')}$`),
}))

const methodsOf = (pathname: string): readonly string[] =>
  patterns.filter(({ pattern }) => pattern.test(pathname)).map(({ method }) => method)
