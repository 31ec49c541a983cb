/** The HTTP API: every route there is, in one list. */

import { Hono } from 'hono'
import { getPath } from 'hono/utils/url'
import { AppError, notFound, renderError } from './errors.ts'
import { openapi } from './openapi.ts'
import type { App, OpenRoute, Route, Web } from './route.ts'
import { adminRoutes } from './routes/admin.ts'
import { approvalRoutes } from './routes/approvals.ts'
import { auditRoutes } from './routes/audit.ts'
import { channelRoutes } from './routes/channels.ts'
import { chatRoutes } from './routes/chat-completions.ts'
import { checkpointRoutes } from './routes/checkpoints.ts'
import { credentialRoutes } from './routes/credentials.ts'
import { exportRoutes } from './routes/export.ts'
import { fileRoutes } from './routes/files.ts'
import { healthRoutes } from './routes/health.ts'
import { modelRoutes } from './routes/models.ts'
import { publicRoutes } from './routes/open.ts'
import { pairingRoutes } from './routes/pairing.ts'
import { responseRoutes } from './routes/responses.ts'
import { storedResponseRoutes } from './routes/stored-responses.ts'
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
  ...storedResponseRoutes,
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
export const openRoutes: readonly OpenRoute[] = [
  ...webhookRoutes,
  ...publicRoutes((origin) => openapi([...routes, ...openRoutes], origin)),
]

export function createApp(): App {
  const app: App = new Hono({ getPath: pathOf })
  app.onError((error) => renderError(error))
  app.use(cors)
  for (const one of [...openRoutes, ...routes]) one.mount(app)
  // What is thrown here would get past the middleware, and browsers of other origins could not read why.
  app.notFound((web) => elsewhere(web).catch(renderError))
  return app
}

/** Base addresses are configured with a slash at the end, or with /v1 twice; clients put their paths behind them. */
function pathOf(request: Request): string {
  const path = getPath(request)
  if (!/^\/+v1\//.test(path)) return path
  const single = path.replace(/\/{2,}/g, '/').replace(/^(?:\/v1)+(?=\/)/, '/v1')
  return single.endsWith('/') ? single.slice(0, -1) : single
}

/** What exists there is nobody's business without a key. */
const isHidden = (pathname: string): boolean => /^\/(v1|api)\//.test(pathname)

/** What no route answers: another method of a route, or a static file. */
async function elsewhere({ req, env, executionCtx }: Web): Promise<Response> {
  const pathname = req.path
  const shown = methodsOf(pathname, shownPatterns)
  if (shown.length) return notAllowed(req.method, shown)
  if (!isHidden(pathname)) return (await staticFile(req.raw, env)) ?? renderError(notFound())
  await authenticate(req.raw, env, (work) => executionCtx.waitUntil(work))
  const allowed = methodsOf(pathname, patterns)
  return allowed.length ? notAllowed(req.method, allowed) : renderError(notFound())
}

async function staticFile(request: Request, { ASSETS }: Env): Promise<Response | undefined> {
  const file = await ASSETS?.fetch(request)
  if (!file || file.status < 400) return file
  await file.body?.cancel()
  return undefined
}

function notAllowed(method: string, allowed: readonly string[]): Response {
  const refused = renderError(
    new AppError(405, 'method_not_allowed', `${method} is not allowed here; allowed: ${allowed.join(', ')}.`),
  )
  refused.headers.set('allow', allowed.join(', '))
  return refused
}

const patternOf = ({ path, method }: Pick<Route, 'path' | 'method'>) => ({
  method: method.toUpperCase(),
  pattern: new RegExp(`^${path.replace(/:\w+\{\.[*+]\}/g, '.*').replace(/:\w+/g, '[^/]+')}$`),
})
type Pattern = ReturnType<typeof patternOf>
const patterns = routes.map(patternOf)
const shownPatterns = [...openRoutes, ...routes.filter(({ path }) => !isHidden(path))].map(patternOf)

const methodsOf = (pathname: string, among: readonly Pattern[]): readonly string[] =>
  among.filter(({ pattern }) => pattern.test(pathname)).map(({ method }) => method)
