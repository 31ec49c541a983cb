/** A small authorization server in place of `fetch`, and an MCP server behind it that wants its tokens. */

import { vi } from 'vitest'

export type OAuthServer = {
  readonly issuer: string
  /** Replaces fields of the metadata. */
  metadata: Record<string, unknown>
  resourceMetadata: Record<string, unknown> | undefined
  /** The header of a 401. */
  challenge: string
  /** Scopes that the MCP server wants, by tool. */
  readonly wanted: Record<string, string>
  /** Valid access tokens with their scopes. */
  readonly valid: Map<string, string>
  lifetime: number | undefined
  /** How long the token endpoint takes. */
  tokenMs: number
  /** Replaces the answer of the token endpoint. */
  tokenAnswer: (() => Response) | undefined
  /** Requests to the token endpoint, to the registration, and to hosts that nobody should ask. */
  readonly tokenRequests: { readonly parameters: URLSearchParams; readonly headers: Headers }[]
  readonly registrations: Record<string, unknown>[]
  readonly asked: string[]
  /** Makes the code of a person who agrees. */
  readonly agree: (authorizeUrl: string) => string
}

type Issued = {
  readonly challenge: string
  readonly redirectUri: string
  readonly scope: string
  readonly resource: string
}

const mcpHost = 'mcp.example.com'
export const mcpUrl = `https://${mcpHost}/mcp`

export function serveOAuth(): OAuthServer {
  const issuer = 'https://as.example.com'
  const codes = new Map<string, Issued>()
  const refreshes = new Map<string, string>()
  let serial = 0
  const server: OAuthServer = {
    issuer,
    metadata: {
      issuer,
      authorization_endpoint: `${issuer}/authorize`,
      token_endpoint: `${issuer}/token`,
      registration_endpoint: `${issuer}/register`,
      code_challenge_methods_supported: ['S256'],
      scopes_supported: ['read', 'offline_access'],
      authorization_response_iss_parameter_supported: true,
    },
    resourceMetadata: { resource: mcpUrl, authorization_servers: [issuer] },
    challenge: `Bearer resource_metadata="https://${mcpHost}/.well-known/oauth-protected-resource/mcp", scope="read"`,
    wanted: {},
    valid: new Map(),
    lifetime: 3_600,
    tokenAnswer: undefined,
    tokenRequests: [],
    registrations: [],
    tokenMs: 0,
    asked: [],
    agree: (authorizeUrl) => {
      const { searchParams } = new URL(authorizeUrl)
      const code = `code-${++serial}`
      codes.set(code, {
        challenge: searchParams.get('code_challenge') ?? '',
        redirectUri: searchParams.get('redirect_uri') ?? '',
        // The person may not give every right.
        scope: (searchParams.get('scope') ?? '').replace(/ ?\bnever\b/, ''),
        resource: searchParams.get('resource') ?? '',
      })
      return code
    },
  }
  const issue = (scope: string): Response => {
    const [access, refresh] = [`access-token-${++serial}`, `refresh-token-${serial}`]
    server.valid.set(access, scope)
    refreshes.set(refresh, scope)
    const expires = server.lifetime === undefined ? {} : { expires_in: server.lifetime }
    return Response.json({ access_token: access, token_type: 'Bearer', refresh_token: refresh, scope, ...expires })
  }
  const refuse = () => Response.json({ error: 'invalid_grant', error_description: 'secret words' }, { status: 400 })
  const redeem = async (parameters: URLSearchParams): Promise<Response> => {
    if (server.tokenAnswer) return server.tokenAnswer()
    if (parameters.get('grant_type') === 'refresh_token') {
      const used = parameters.get('refresh_token') ?? ''
      const scope = refreshes.get(used)
      refreshes.delete(used)
      return scope === undefined ? refuse() : issue(scope)
    }
    const code = parameters.get('code') ?? ''
    const issued = codes.get(code)
    codes.delete(code)
    const isSame =
      issued?.challenge === (await hashOf(parameters.get('code_verifier') ?? '')) &&
      issued.redirectUri === parameters.get('redirect_uri') &&
      issued.resource === parameters.get('resource')
    return isSame && issued ? issue(issued.scope) : refuse()
  }
  // A second spy on `fetch` is the first one, so its implementation is what goes on.
  const before = vi.isMockFunction(fetch) ? vi.mocked(fetch).getMockImplementation() : undefined
  const goOn: typeof fetch = before ?? fetch
  vi.spyOn(globalThis, 'fetch').mockImplementation(async (input, init) => {
    const { host, pathname } = new URL(input instanceof Request ? input.url : input)
    if (host !== mcpHost && !host.endsWith('as.example.com')) return goOn(input, init)
    const request = new Request(input, init)
    if (host === mcpHost) return serveResource(server, request, goOn)
    server.asked.push(pathname)
    if (pathname === '/.well-known/oauth-authorization-server') return Response.json(server.metadata)
    if (pathname === '/register') {
      server.registrations.push((await request.json()) as Record<string, unknown>)
      return Response.json({ client_id: `registered-client-${server.registrations.length}` }, { status: 201 })
    }
    if (pathname !== '/token') return new Response('', { status: 404 })
    const parameters = new URLSearchParams(await request.text())
    server.tokenRequests.push({ parameters, headers: request.headers })
    await scheduler.wait(server.tokenMs)
    return redeem(parameters)
  })
  return server
}

async function serveResource(server: OAuthServer, request: Request, goOn: typeof fetch): Promise<Response> {
  if (new URL(request.url).pathname.startsWith('/.well-known/'))
    return server.resourceMetadata ? Response.json(server.resourceMetadata) : new Response('', { status: 404 })
  const token = request.headers.get('authorization')?.replace('Bearer ', '') ?? ''
  const scope = server.valid.get(token)
  if (scope === undefined) return new Response('', { status: 401, headers: { 'www-authenticate': server.challenge } })
  const { method, params } = (await request.clone().json()) as { method: string; params?: { name?: string } }
  const wanted = method === 'tools/call' ? server.wanted[params?.name ?? ''] : undefined
  if (wanted === undefined || scope.split(' ').includes(wanted)) return goOn(request)
  const challenge = `Bearer error="insufficient_scope", scope="${wanted}"`
  return new Response('', { status: 403, headers: { 'www-authenticate': challenge } })
}

async function hashOf(text: string): Promise<string> {
  const bytes = new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)))
  return btoa(String.fromCharCode(...bytes)).replace(/[+/=]/g, (one) => ({ '+': '-', '/': '_' })[one] ?? '')
}
