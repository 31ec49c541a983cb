/** Serves what browsers and authorization servers need for the sign-in to MCP servers, without a key. */

import { isSameAddress } from '#agent/core/local-address.ts'
import { forgetSnapshot } from '#durable/tenant/tenant-snapshot.ts'
import { plainPage } from '../files/plain-page.ts'
import type { OpenRoute, RequestContext } from '../route.ts'

const tag = 'MCP servers'
const cookieName = 'talaria_oauth'
const cookieSeconds = 600
const maxCookieChars = 500
const callbackPath = '/oauth/mcp/callback'

/** Clients compare it with the address that they were given, which may have another name of this computer. */
export function publicOrigin({ PUBLIC_URL: set }: Env, url: string): string {
  const { origin } = new URL(url)
  return !set || isSameAddress(set, origin) ? origin : set.replace(/\/{1,20}$/, '')
}

/** The return of the browser comes from another site, so the cookie of the page would not be sent with it. */
export const renderOAuthCookie = (origin: string, value: string): string =>
  `${cookieName}=${value}; Path=${callbackPath}; HttpOnly;${origin.startsWith('https:') ? ' Secure;' : ''} SameSite=Lax; Max-Age=${cookieSeconds}`

function readCookie(header: string | null): string {
  const start = `${cookieName}=`
  const found = header
    ?.split(';')
    .map((part) => part.trim())
    .find((part) => part.startsWith(start))
  return found?.slice(start.length, start.length + maxCookieChars) ?? ''
}

const failure = {
  en: 'The sign-in did not succeed: it was refused, is too old, or belongs to another browser. Close this window and begin again.',
  de: 'Die Anmeldung ist nicht gelungen: Sie wurde abgelehnt, ist zu alt oder gehört zu einem anderen Browser. Schließe dieses Fenster und beginne noch einmal.',
}

/** Nothing of the query is shown: whoever has sent the browser here has written it. */
async function finish(context: RequestContext): Promise<Response> {
  const { req, env, executionCtx } = context
  const { code, state = '', iss, error } = req.query()
  const { endSignIn } = await import('#durable/tenant/mcp/oauth/sign-in.ts')
  const cookie = readCookie(req.raw.headers.get('cookie'))
  const done = await endSignIn(env, { code: error === undefined ? code : undefined, state, iss, cookie })
  if (!done) return plainPage(context, 400, failure)
  const { tenantId, alias } = done
  const { connectSignedIn } = await import('#durable/tenant/mcp/oauth/sign-in.ts')
  executionCtx.waitUntil(connectSignedIn(env, tenantId, alias).finally(() => forgetSnapshot(tenantId)))
  forgetSnapshot(tenantId)
  return new Response(null, {
    status: 303,
    headers: {
      location: `${publicOrigin(env, req.url)}/#/mcp/${encodeURIComponent(alias)}`,
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'set-cookie': renderOAuthCookie(publicOrigin(env, req.url), '').replace(/Max-Age=\d+/, 'Max-Age=0'),
    },
  })
}

async function describeClient({ req, env }: RequestContext): Promise<Response> {
  const { clientDocumentOf, createClientMetadata, redirectUriOf } =
    await import('#durable/tenant/mcp/oauth/client-metadata.ts')
  const origin = publicOrigin(env, req.url)
  const document = {
    client_id: clientDocumentOf(origin),
    ...createClientMetadata(redirectUriOf(origin)),
    token_endpoint_auth_method: 'none',
  }
  return Response.json(document, { headers: { 'cache-control': 'public, max-age=3600' } })
}

export const mcpOAuthRoutes: readonly OpenRoute[] = [
  {
    method: 'get',
    path: callbackPath,
    id: 'receiveMcpSignIn',
    scope: null,
    tag,
    summary: 'The return of the browser from the sign-in to an MCP server',
    responses: {
      303: { description: 'Signed in: back to the page' },
      400: { description: 'Not signed in', type: 'text/html' },
    },
    mount: (app) => void app.get(callbackPath, finish),
  },
  {
    method: 'get',
    path: '/oauth/client.json',
    id: 'getOAuthClient',
    scope: null,
    tag,
    summary: 'The metadata of Talaria as an OAuth client',
    responses: { 200: { description: 'The metadata document', type: 'application/json' } },
    mount: (app) => void app.get('/oauth/client.json', describeClient),
  },
]
