/** `POST /mcp`: the MCP server, and the document that tells its clients how to sign in. */

import * as z from 'zod'
import { AppError, renderError } from '../../errors.ts'
import { authenticate } from '../../auth.ts'
import { readText } from '../../input/body.ts'
import { isForeignPage } from '../../login/same-origin.ts'
import type { ApiRoute, OpenRoute, RequestContext } from '../../route.ts'
import { ok } from '../../shapes.ts'
import { publicOrigin } from '../mcp-oauth.ts'
import { mcpPath } from '../oauth/oauth-server.ts'

const tag = 'MCP server'
const path = mcpPath
const resourcePath = `/.well-known/oauth-protected-resource${path}`

const originOf = (web: RequestContext): string => publicOrigin(web.env, web.req.url)

const resourceShape = z.object({
  resource: z.string(),
  resource_name: z.string(),
  authorization_servers: z.array(z.string()),
  bearer_methods_supported: z.array(z.string()),
  scopes_supported: z.array(z.string()),
})

/** `list`: the routes of the API, which exist after this. */
export const createMcpServerRoutes = (list: () => readonly ApiRoute[]): readonly OpenRoute[] => [
  {
    method: 'post',
    path,
    id: 'sendMcpMessage',
    scope: null,
    tag,
    summary: 'MCP server: one JSON-RPC message of a client',
    description:
      'Needs a key in `Authorization`, or a token of a connected app. Tools, resources and prompts are those that the scopes of the key allow.',
    example: { jsonrpc: '2.0', id: 1, method: 'tools/list' },
    body: z.looseObject({ jsonrpc: z.literal('2.0') }),
    responses: { ...ok('The answer', z.looseObject({})), 202: { description: 'A notification was taken' } },
    mount: (app) => void app.post(path, (web) => serve(web, list)),
  },
  {
    method: 'get',
    path: resourcePath,
    id: 'getMcpResource',
    scope: null,
    tag,
    summary: 'How clients of the MCP server sign in',
    responses: ok('Metadata of the protected resource', resourceShape),
    mount: (app) =>
      void app.get(resourcePath, (web) =>
        Response.json({
          resource: originOf(web) + path,
          resource_name: 'Talaria',
          authorization_servers: [originOf(web)],
          bearer_methods_supported: ['header'],
          scopes_supported: ['chat', 'read', 'write', 'jobs', 'approve'],
        }),
      ),
  },
]

async function serve(web: RequestContext, list: () => readonly ApiRoute[]): Promise<Response> {
  requireOwnOrigin(web)
  // A cookie would let pages of others act: browsers send it by themselves.
  const hasKey = web.req.header('authorization') !== undefined
  if (!hasKey) return askForKey(web, new AppError(401, 'invalid_api_key', noKey))
  try {
    const identity = await identifyClient(web)
    const { serveMcp } = await import('./serve.ts')
    return await serveMcp({ web, identity, routes: list(), text: await readText(web.req.raw) })
  } catch (error) {
    if (!(error instanceof AppError) || error.status !== 401) throw error
    return askForKey(web, error)
  }
}

const noKey = 'Send a key in the header: Authorization: Bearer KEY.'

const tokenPattern = /^Bearer\s{1,8}(talat_\S{1,400})\s{0,8}$/i

/** Undefined for a key, which `authenticate` verifies. */
async function verifyToken(web: RequestContext) {
  const { raw: request } = web.req
  const [, token] = tokenPattern.exec(request.headers.get('authorization') ?? '') ?? []
  if (token === undefined) return undefined
  const { verifyAppToken } = await import('../oauth/app-token.ts')
  const identity = await verifyAppToken({ env: web.env, request, resource: originOf(web) + path }, token)
  if (!identity) throw new AppError(401, 'invalid_api_key', 'The access has expired or was ended. Sign in again.')
  return identity
}

async function identifyClient(web: RequestContext) {
  const known =
    (await verifyToken(web)) ?? (await authenticate(web.req.raw, web.env, (work) => web.executionCtx.waitUntil(work)))
  return { ...known, requestId: web.get('requestId') }
}

function askForKey(web: RequestContext, error: AppError): Response {
  const response = renderError(error)
  response.headers.set('www-authenticate', `Bearer resource_metadata="${originOf(web)}${resourcePath}"`)
  return response
}

function requireOwnOrigin(web: RequestContext): void {
  if (isForeignPage(web.req.raw, web.env.PUBLIC_URL))
    throw new AppError(403, 'policy', 'Pages of other origins may not use this server.', { param: 'Origin' })
}
