/** Creates the HTTP application of all routes, and lists them. */

import { fetchTenantSnapshot } from '#durable/tenant/tenant-snapshot.ts'
import { AppError, renderError } from './errors.ts'
import type { App, OpenRoute, ApiRoute, RequestContext } from './route.ts'
import { createA2aRoutes } from './routes/a2a/a2a.ts'
import { adminRoutes } from './routes/admin.ts'
import { shardRoutes } from './routes/shards.ts'
import { backupRoutes } from './routes/backup.ts'
import { approvalRoutes } from './routes/approvals.ts'
import { agUiRoutes } from './routes/ag-ui.ts'
import { appRoutes } from './routes/apps.ts'
import { attachmentRoutes } from './routes/attachments.ts'
import { auditRoutes } from './routes/audit.ts'
import { batchRoutes } from './routes/batches.ts'
import { channelRoutes } from './routes/channels.ts'
import { chatRoutes } from './routes/v1/chat-completions.ts'
import { checkpointRoutes } from './routes/checkpoints.ts'
import { conversationRoutes } from './routes/v1/conversations.ts'
import { credentialRoutes } from './routes/credentials.ts'
import { embeddingRoutes } from './routes/v1/embeddings.ts'
import { exportRoutes } from './routes/export.ts'
import { fileRoutes } from './routes/files.ts'
import { genericWebhookRoutes } from './routes/webhooks/generic-webhooks.ts'
import { healthRoutes } from './routes/health.ts'
import { keyRoutes } from './routes/keys/keys.ts'
import { linkedFileRoutes } from './routes/linked-files.ts'
import { loginPageRoutes, signInRoutes } from './routes/login.ts'
import { loginRoutes } from './routes/logins.ts'
import { memoryRoutes } from './routes/memory.ts'
import { mcpRoutes } from './routes/mcp.ts'
import { outgoingHookRoutes } from './routes/outgoing-hooks.ts'
import { pluginRoutes } from './routes/plugins.ts'
import { createMcpServerRoutes } from './routes/mcp-server/mcp-server.ts'
import { mcpOAuthRoutes } from './routes/mcp-oauth.ts'
import { mediaRoutes } from './routes/v1/media.ts'
import { modelRoutes } from './routes/v1/models.ts'
import { livenessRoutes } from './routes/liveness.ts'
import { createOpenRoutes } from './routes/open.ts'
import { oauthServerRoutes } from './routes/oauth/oauth-server.ts'
import { pairingRoutes } from './routes/pairing.ts'
import { projectRoutes } from './routes/projects/projects.ts'
import { projectFileRoutes } from './routes/projects/project-files.ts'
import { pushRoutes } from './routes/push.ts'
import { responseRoutes } from './routes/v1/responses.ts'
import { responseToolRoutes } from './routes/v1/response-tools.ts'
import { runRoutes } from './routes/v1/runs.ts'
import { jobRoutes } from './routes/jobs.ts'
import { secretRoutes } from './routes/secrets.ts'
import { skillFileRoutes } from './routes/skills/skill-files.ts'
import { skillImportRoutes } from './routes/skills/skill-imports.ts'
import { skillRoutes } from './routes/skills/skills.ts'
import { storedResponseRoutes } from './routes/v1/stored-responses.ts'
import { sessionContextRoutes } from './routes/session-context.ts'
import { sessionChatRoutes } from './routes/session-chat.ts'
import { commandRoutes } from './routes/session/commands.ts'
import { deleteSessionsRoutes } from './routes/session/delete-sessions.ts'
import { sessionBrowserRoutes } from './routes/session/browser.ts'
import { sessionGoalRoutes } from './routes/session/goal.ts'
import { sharedPageRoutes, shareRoutes } from './routes/session/shares.ts'
import { sessionMessageRoutes } from './routes/session/messages.ts'
import { tenantEventRoutes } from './routes/session/tenant-events.ts'
import { sessionRoutes } from './routes/sessions.ts'
import { subagentRoutes } from './routes/subagents.ts'
import { tenantRoutes } from './routes/tenant.ts'
import { createToolRoutes } from './routes/tools.ts'
import { uploadRoutes } from './routes/v1/uploads.ts'
import { usageRoutes } from './routes/usage.ts'
import { vaultRoutes } from './routes/vault.ts'
import { webhookRoutes } from './routes/webhooks.ts'
import { requireAccess } from './access.ts'
import { authenticate } from './auth.ts'
import { createHono } from './routing/create-hono.ts'
import { compileRoute, type KnownRoute } from './routing/known-route.ts'
import { explainUnknownPath } from './routing/nearest-route.ts'

export const routes: readonly ApiRoute[] = [
  ...modelRoutes,
  ...chatRoutes,
  ...responseRoutes,
  ...responseToolRoutes,
  ...conversationRoutes,
  ...storedResponseRoutes,
  ...runRoutes,
  ...uploadRoutes,
  ...embeddingRoutes,
  ...mediaRoutes,
  ...sessionRoutes,
  ...projectRoutes,
  ...projectFileRoutes,
  ...sessionMessageRoutes,
  ...shareRoutes,
  ...tenantEventRoutes,
  ...deleteSessionsRoutes,
  ...sessionGoalRoutes,
  ...sessionBrowserRoutes,
  ...commandRoutes,
  ...sessionChatRoutes,
  ...agUiRoutes,
  ...sessionContextRoutes,
  ...fileRoutes,
  ...attachmentRoutes,
  ...checkpointRoutes,
  ...subagentRoutes,
  ...exportRoutes,
  ...tenantRoutes,
  ...approvalRoutes,
  ...credentialRoutes,
  ...secretRoutes,
  ...vaultRoutes,
  ...memoryRoutes,
  ...mcpRoutes,
  ...appRoutes,
  ...pluginRoutes,
  ...outgoingHookRoutes,
  ...jobRoutes,
  ...batchRoutes,
  ...skillRoutes,
  ...skillImportRoutes,
  ...skillFileRoutes,
  ...auditRoutes,
  ...channelRoutes,
  ...pairingRoutes,
  ...pushRoutes,
  ...genericWebhookRoutes,
  ...usageRoutes,
  ...keyRoutes,
  ...createToolRoutes(() => [...openRoutes, ...routes]),
  ...adminRoutes,
  ...shardRoutes,
  ...backupRoutes,
  ...loginRoutes,
  ...loginPageRoutes,
  ...healthRoutes,
]

/** Routes that need no key. */
export const openRoutes: readonly OpenRoute[] = [
  ...signInRoutes,
  ...webhookRoutes,
  ...linkedFileRoutes,
  ...sharedPageRoutes,
  ...createMcpServerRoutes(() => routes),
  ...createA2aRoutes(() => routes),
  ...mcpOAuthRoutes,
  ...oauthServerRoutes,
  ...livenessRoutes,
  ...createOpenRoutes(() => [...routes, ...openRoutes]),
]

export function createApp(): App {
  const app = createHono([...openRoutes, ...routes])
  // An error thrown here would skip the CORS middleware, and browsers of other origins could not read it.
  app.notFound((web) => respondToUnmatched(web).catch(renderError))
  return app
}

/** Below these prefixes a request without a key gets a 401, whether or not the path exists. */
const requiresKey = (pathname: string): boolean => /^\/(v1|api)\//.test(pathname)

/** Answers requests that no route matches: a 405 with the allowed methods, a static file, or a 404. */
async function respondToUnmatched({ req, env, executionCtx }: RequestContext): Promise<Response> {
  const pathname = req.path
  const publicMethods = listMethods(pathname, publicPatterns)
  if (publicMethods.length) return methodNotAllowed(req.method, publicMethods)
  if (!requiresKey(pathname)) return (await fetchStaticFile(req.raw, env)) ?? renderUnknownPath(req.method, pathname)
  const identity = await authenticate(req.raw, env, (work) => executionCtx.waitUntil(work))
  requireAccess(await fetchTenantSnapshot(env, identity.tenantId), identity)
  const allowed = listMethods(pathname, patterns)
  return allowed.length ? methodNotAllowed(req.method, allowed) : renderUnknownPath(req.method, pathname)
}

const renderUnknownPath = (method: string, pathname: string): Response =>
  renderError(new AppError(404, 'not_found', explainUnknownPath(method, pathname, [...publicPatterns, ...patterns])))

async function fetchStaticFile(request: Request, { ASSETS }: Env): Promise<Response | undefined> {
  const file = await ASSETS?.fetch(request)
  if (!file || file.status < 400) return file
  await file.body?.cancel()
  return undefined
}

function methodNotAllowed(method: string, allowed: readonly string[]): Response {
  const refused = renderError(
    new AppError(405, 'method_not_allowed', `${method} is not allowed here; allowed: ${allowed.join(', ')}.`),
  )
  refused.headers.set('allow', allowed.join(', '))
  return refused
}

const patterns = routes.map(compileRoute)
const publicPatterns = [...openRoutes, ...routes.filter(({ path }) => !requiresKey(path))].map(compileRoute)

const listMethods = (pathname: string, among: readonly KnownRoute[]): readonly string[] =>
  among.filter(({ pattern }) => pattern.test(pathname)).map(({ method }) => method)
