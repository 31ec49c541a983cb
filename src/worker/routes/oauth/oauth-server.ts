/** The OAuth server of `/mcp`: apps such as Claude and ChatGPT sign in here, and a person decides what they may do. */

import * as z from 'zod'
import { clock } from '#durable/platform/clock.ts'
import { AppError } from '../../errors.ts'
import { readText, parseJson } from '../../input/body.ts'
import type { OpenRoute, RequestContext } from '../../route.ts'
import { nameSchemas } from '../../schema-names.ts'
import { created, ok } from '../../shapes.ts'
import { publicOrigin } from '../mcp-oauth.ts'

const tag = 'MCP server'
export const mcpPath = '/mcp'

const metadataShape = z.object({
  issuer: z.string(),
  authorization_endpoint: z.string(),
  token_endpoint: z.string(),
  registration_endpoint: z.string(),
  revocation_endpoint: z.string(),
  scopes_supported: z.array(z.string()),
  response_types_supported: z.array(z.string()),
  response_modes_supported: z.array(z.string()),
  grant_types_supported: z.array(z.string()),
  token_endpoint_auth_methods_supported: z.array(z.string()),
  revocation_endpoint_auth_methods_supported: z.array(z.string()),
  code_challenge_methods_supported: z.array(z.string()),
  authorization_response_iss_parameter_supported: z.boolean(),
  client_id_metadata_document_supported: z.boolean(),
})
const registrationShape = z.object({
  redirect_uris: z
    .array(z.string())
    .describe('Addresses with https, of the same computer, or with a scheme of an application.'),
  client_name: z.string().optional(),
  token_endpoint_auth_method: z.enum(['none', 'client_secret_basic', 'client_secret_post']).optional(),
})
const clientShape = z.object({
  client_id: z.string(),
  client_secret: z.string().optional(),
  client_secret_expires_at: z.int().optional(),
  client_id_issued_at: z.int(),
  client_name: z.string(),
  redirect_uris: z.array(z.string()),
  grant_types: z.array(z.string()),
  response_types: z.array(z.string()),
  token_endpoint_auth_method: z.string(),
})
const tokenShape = z.object({
  access_token: z.string(),
  token_type: z.literal('Bearer'),
  expires_in: z.int(),
  refresh_token: z.string(),
  scope: z.string(),
})
const errorShape = z.object({ error: z.string(), error_description: z.string() })
nameSchemas({ OAuthServer: metadataShape, OAuthClient: clientShape, OAuthTokens: tokenShape, OAuthError: errorShape })

const authorizationQuery = z.looseObject({
  response_type: z.string().describe('`code`.'),
  client_id: z.string().describe('The address of a metadata document, or the id of a registration.'),
  redirect_uri: z.string().describe('The address of the app that gets the code.'),
  code_challenge: z.string().describe('Of PKCE.'),
  code_challenge_method: z.string().describe('`S256`.'),
  scope: z.string().optional().describe('Default: all. The person decides.'),
  state: z.string().optional().describe('Comes back with the code.'),
  resource: z.string().optional().describe('The address of `/mcp`.'),
  ui_locales: z.string().optional().describe('`en` or `de`.'),
})

const addressesOf = (web: RequestContext) => {
  const issuer = publicOrigin(web.env, web.req.url)
  return { web, issuer, resource: issuer + mcpPath }
}

async function describeServer(web: RequestContext): Promise<Response> {
  const [{ appScopes }, { authenticationMethods }] = await Promise.all([
    import('#agent/mcp/app-client.ts'),
    import('./find-client.ts'),
  ])
  const { issuer } = addressesOf(web)
  return Response.json({
    issuer,
    authorization_endpoint: `${issuer}/oauth/authorize`,
    token_endpoint: `${issuer}/oauth/token`,
    registration_endpoint: `${issuer}/oauth/register`,
    revocation_endpoint: `${issuer}/oauth/revoke`,
    scopes_supported: [...appScopes],
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: ['authorization_code', 'refresh_token'],
    token_endpoint_auth_methods_supported: [...authenticationMethods],
    revocation_endpoint_auth_methods_supported: [...authenticationMethods],
    code_challenge_methods_supported: ['S256'],
    authorization_response_iss_parameter_supported: true,
    client_id_metadata_document_supported: true,
  } satisfies z.infer<typeof metadataShape>)
}

async function register(web: RequestContext): Promise<Response> {
  const [{ registerClient }, { noStore, OAuthError }] = await Promise.all([
    import('./find-client.ts'),
    import('./oauth-error.ts'),
  ])
  const given = parseJson(await readText(web.req.raw))
  if (typeof given !== 'object' || given === null) throw new OAuthError('invalid_client_metadata', 'Send an object.')
  const { id, name, redirectUris, authentication, secret } = await registerClient(web.env, given)
  const body: z.infer<typeof clientShape> = {
    client_id: id,
    ...(secret !== undefined && { client_secret: secret, client_secret_expires_at: 0 }),
    client_id_issued_at: Math.floor(clock.now() / 1_000),
    client_name: name,
    redirect_uris: [...redirectUris],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: authentication,
  }
  return Response.json(body, { status: 201, headers: noStore })
}

/** Clients read the errors of these endpoints in the form of the protocol. */
const withOAuthErrors =
  (handle: (web: RequestContext) => Promise<Response>) =>
  async (web: RequestContext): Promise<Response> => {
    try {
      return await handle(web)
    } catch (error) {
      const { OAuthError, renderOAuthError } = await import('./oauth-error.ts')
      if (error instanceof OAuthError) return renderOAuthError(error)
      if (!(error instanceof AppError) || error.status !== 400) throw error
      return renderOAuthError(new OAuthError('invalid_request', error.message))
    }
  }

type Definition = Omit<OpenRoute, 'scope' | 'tag' | 'mount'> & {
  readonly handle: (web: RequestContext) => Promise<Response>
}
const openRoute = ({ handle, ...described }: Definition): OpenRoute => ({
  ...described,
  scope: null,
  tag,
  mount: (app) => void app.on(described.method.toUpperCase(), described.path, handle),
})

const page = (description: string) => ({ description, type: 'text/html' })
const pages = {
  200: page('The page, when somebody else is signed in by now'),
  303: { description: 'Back to the app, with a code or a refusal' },
  400: page('The request of the app is refused, or nothing was chosen'),
  401: page('The key is wrong'),
  403: page('The form was sent by another page'),
}
const failed = { description: 'Refused', schema: errorShape }

export const oauthServerRoutes: readonly OpenRoute[] = [
  openRoute({
    method: 'get',
    path: '/.well-known/oauth-authorization-server',
    id: 'getOAuthServer',
    summary: 'The OAuth server of `/mcp`',
    responses: ok('Metadata of the authorization server', metadataShape),
    handle: describeServer,
  }),
  openRoute({
    method: 'post',
    path: '/oauth/register',
    id: 'createOAuthClient',
    summary: 'Register an app that has no metadata document',
    example: { client_name: 'An app', redirect_uris: ['https://app.example.com/callback'] },
    body: registrationShape,
    responses: { ...created('The client', clientShape), 400: failed },
    handle: withOAuthErrors(register),
  }),
  openRoute({
    method: 'get',
    path: '/oauth/authorize',
    id: 'getOAuthConsent',
    summary: 'The page on which a person decides what an app may do',
    query: authorizationQuery,
    responses: { 200: page('The page'), 400: pages[400] },
    handle: async (web) => (await import('./authorize.ts')).showConsent(addressesOf(web)),
  }),
  openRoute({
    method: 'post',
    path: '/oauth/authorize',
    id: 'answerOAuthConsent',
    summary: 'The answer of the person on that page',
    bytes: true,
    responses: pages,
    handle: async (web) => (await import('./authorize.ts')).answerConsent(addressesOf(web)),
  }),
  openRoute({
    method: 'post',
    path: '/oauth/token',
    id: 'createOAuthTokens',
    summary: 'Exchange a code or a refresh token for tokens',
    bytes: true,
    responses: { ...ok('The tokens', tokenShape), 400: failed, 401: failed },
    handle: withOAuthErrors(async (web) =>
      (await import('./issue-tokens.ts')).serveToken(web, addressesOf(web).resource),
    ),
  }),
  openRoute({
    method: 'post',
    path: '/oauth/revoke',
    id: 'deleteOAuthTokens',
    summary: 'End the access of an app by one of its tokens',
    bytes: true,
    responses: { 200: { description: 'Whether or not there was such a token' }, 400: failed, 401: failed },
    handle: withOAuthErrors(async (web) => (await import('./issue-tokens.ts')).serveRevocation(web)),
  }),
]
