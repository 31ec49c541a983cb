/** Tests how challenges and metadata of OAuth are read, and which of them are refused. */

import { describe, expect, it } from 'vitest'
import {
  chooseClientAuthentication,
  listIssuerMetadataUrls,
  listResourceMetadataUrls,
  parseChallenge,
  readAuthorizationServer,
  readOAuthError,
  readResource,
  readTokens,
  renderAuthorizationUrl,
  unionScopes,
} from '../../../src/agent/mcp/oauth.ts'

const issuer = 'https://as.example.com'
const good = {
  issuer,
  authorization_endpoint: `${issuer}/authorize`,
  token_endpoint: `${issuer}/token`,
  code_challenge_methods_supported: ['S256'],
}

describe('a challenge', () => {
  it.each([
    [null, undefined],
    ['Basic realm="x"', undefined],
    ['Bearer', { isScopeMissing: false }],
    [
      'Bearer realm="a, b", resource_metadata="https://a.example.com/m", scope="read write"',
      { metadataUrl: 'https://a.example.com/m', scope: 'read write', isScopeMissing: false },
    ],
    ['bearer error=insufficient_scope, scope="admin"', { scope: 'admin', isScopeMissing: true }],
    ['Basic realm="x", Bearer scope="a\u0007 b"', { scope: 'b', isScopeMissing: false }],
  ])('%s', (header, read) => {
    expect(parseChallenge(header)).toEqual(read)
  })
})

describe('metadata of the resource', () => {
  const url = 'https://mcp.example.com/a/mcp'
  it('is looked for at its path, then at the host', () => {
    expect(listResourceMetadataUrls(url)).toEqual([
      'https://mcp.example.com/.well-known/oauth-protected-resource/a/mcp',
      'https://mcp.example.com/.well-known/oauth-protected-resource',
    ])
    expect(listResourceMetadataUrls('https://mcp.example.com/')).toHaveLength(1)
  })

  it.each(['https://mcp.example.com/a/mcp', 'https://mcp.example.com/a', 'https://mcp.example.com', `${url}/`])(
    'covers the server as %s',
    (resource) => {
      const read = readResource({ resource, authorization_servers: [issuer], scopes_supported: ['a', 5, 'b'] }, url)
      expect(read).toEqual({ resource, issuer, scope: 'a b' })
    },
  )

  it.each([
    'https://other.example.com/a/mcp',
    'http://mcp.example.com/a/mcp',
    'https://mcp.example.com/a/mc',
    'https://mcp.example.com/b',
    'https://u@mcp.example.com/a/mcp',
    7,
    undefined,
  ])('of %s is refused', (resource) => {
    expect(readResource({ resource, authorization_servers: [issuer] }, url)).toMatch(/another resource/)
  })

  it('without an authorization server is refused', () => {
    expect(readResource({ resource: url }, url)).toMatch(/no authorization server/)
  })
})

describe('metadata of the authorization server', () => {
  it('is looked for in three places', () => {
    expect(listIssuerMetadataUrls('https://as.example.com/t1')).toEqual([
      'https://as.example.com/.well-known/oauth-authorization-server/t1',
      'https://as.example.com/.well-known/openid-configuration/t1',
      'https://as.example.com/t1/.well-known/openid-configuration',
    ])
    expect(listIssuerMetadataUrls(issuer)).toHaveLength(2)
  })

  it('is read', () => {
    expect(readAuthorizationServer({ ...good, scopes_supported: ['offline_access'] }, issuer)).toMatchObject({
      issuer,
      tokenEndpoint: `${issuer}/token`,
      offersRefresh: true,
      namesItself: false,
    })
  })

  it.each([
    [{ issuer: `${issuer}/` }, /calls itself/],
    [{ issuer: 'https://AS.example.com' }, /calls itself/],
    [{ issuer: undefined }, /calls itself/],
    [{ authorization_endpoint: 'javascript:alert(1)' }, /does not use https/],
    [{ authorization_endpoint: 'http://as.example.com/authorize' }, /does not use https/],
    [{ authorization_endpoint: 'https://u:p@as.example.com/' }, /user name/],
    [{ token_endpoint: undefined }, /not a valid address/],
    [{ registration_endpoint: 'ftp://as.example.com/' }, /does not use https/],
    [{ code_challenge_methods_supported: undefined }, /PKCE/],
    [{ code_challenge_methods_supported: ['plain'] }, /PKCE/],
  ])('with %j is refused', (change, reason) => {
    expect(readAuthorizationServer({ ...good, ...change }, issuer)).toMatch(reason)
  })
})

it('sends the browser with PKCE, state and resource, and keeps the query of the endpoint', () => {
  const server = readAuthorizationServer({ ...good, authorization_endpoint: `${issuer}/authorize?p=1` }, issuer)
  if (typeof server === 'string') throw new Error(server)
  const url = new URL(
    renderAuthorizationUrl(server, {
      clientId: 'c',
      redirectUri: 'https://t.example.com/cb',
      state: 's',
      challenge: 'x',
      resource: 'https://m.example.com/',
      scope: '',
    }),
  )
  expect(Object.fromEntries(url.searchParams)).toEqual({
    p: '1',
    response_type: 'code',
    client_id: 'c',
    redirect_uri: 'https://t.example.com/cb',
    state: 's',
    code_challenge: 'x',
    code_challenge_method: 'S256',
    resource: 'https://m.example.com/',
  })
})

it.each([
  ['read offline_access', 'consent'],
  ['read', null],
  ['', null],
])('has a person asked again for the right to renew, which is left out else: %j', (scope, prompt) => {
  const server = readAuthorizationServer(good, issuer)
  if (typeof server === 'string') throw new Error(server)
  const request = { clientId: 'c', redirectUri: `${issuer}/cb`, state: 's', challenge: 'x', resource: issuer, scope }
  expect(new URL(renderAuthorizationUrl(server, request)).searchParams.get('prompt')).toBe(prompt)
})

it.each([
  [
    { access_token: 'a', token_type: 'Bearer', expires_in: '60' },
    { access: 'a', lifetime: 60 },
  ],
  [
    { access_token: 'a', token_type: 'bearer', refresh_token: 'r', expires_in: -1 },
    { access: 'a', refresh: 'r' },
  ],
  [{ access_token: 'a\nb', token_type: 'bearer' }, undefined],
  [{ access_token: 'a', token_type: 'mac' }, undefined],
  [{ access_token: 'a' }, undefined],
  ['a', undefined],
])('reads the tokens of %j', (answer, tokens) => {
  expect(readTokens(answer)).toEqual(tokens)
})

it('joins scopes, chooses how the client proves itself, and reads error codes alone', () => {
  expect(unionScopes('a b', undefined, 'b c')).toBe('a b c')
  const server = (methods: string[]) => ({ clientAuthentication: methods }) as never
  expect(chooseClientAuthentication(server([]), false)).toBe('none')
  expect(chooseClientAuthentication(server(['client_secret_post']), true)).toBe('client_secret_post')
  expect(chooseClientAuthentication(server([]), true)).toBe('client_secret_basic')
  expect(readOAuthError({ error: 'invalid_grant', error_description: 'code abc' })).toBe('invalid_grant')
  expect(readOAuthError({ error: 'Bearer abc!' })).toBeUndefined()
})
