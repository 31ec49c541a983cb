/** Tests what is judged of OAuth clients: addresses to return to, metadata documents, and scopes. */

import { describe, expect, it } from 'vitest'
import {
  cleanName,
  describeReceiver,
  isDocumentId,
  isOwnResource,
  isRedirectUri,
  isRegisteredRedirect,
  readAppScopes,
  readClientDocument,
} from '#agent/mcp/app-client.ts'

it.each([
  ['https://claude.ai/api/mcp/auth_callback', 'host', 'claude.ai'],
  ['http://127.0.0.1:33418/', 'computer', '127.0.0.1'],
  ['http://localhost/callback', 'computer', 'localhost'],
  ['http://[::1]:8000/cb', 'computer', '[::1]'],
  ['cursor://anysphere.cursor-retrieval/oauth/callback', 'scheme', 'cursor'],
  ['com.example.app:/oauth', 'scheme', 'com.example.app'],
])('allows %s, which a person sees as %s %s', (uri, kind, name) => {
  expect(isRedirectUri(uri)).toBe(true)
  expect(describeReceiver(uri)).toEqual({ kind, name })
})

it.each([
  'http://example.com/',
  'http://localhost.example.com/',
  'https://user@example.com/',
  'https://example.com/#x',
  'javascript:alert(1)',
  'javascript://x/%0aalert(1)',
  'JavaScript:/x',
  'data:text/html,x',
  'file:///etc/passwd',
  'blob:https://example.com/1',
  'mailto:a@example.com',
  '/relative',
  '',
  `https://example.com/${'a'.repeat(500)}`,
  7,
  null,
])('refuses %j as an address to return to', (uri) => expect(isRedirectUri(uri)).toBe(false))

it.each([
  ['https://app.example.com/cb', 'https://app.example.com/cb', true],
  ['https://app.example.com/cb', 'https://app.example.com/cb/', false],
  ['https://app.example.com/cb', 'https://app.example.com/cb?a=1', false],
  ['https://app.example.com/cb', 'https://APP.example.com/cb', false],
  ['https://app.example.com/cb', 'https://app.example.com:8443/cb', false],
  ['http://127.0.0.1:1/cb', 'http://127.0.0.1:2/cb', true],
  ['http://127.0.0.1/cb', 'http://127.0.0.1:2/other', false],
  ['http://127.0.0.1/cb', 'http://localhost:2/cb', false],
  ['http://localhost/cb', 'https://localhost/cb', false],
])('compares the registered %s with %s: %j', (registered, asked, isSame) => {
  expect(isRegisteredRedirect({ id: 'a', name: 'a', redirectUris: [registered] }, asked)).toBe(isSame)
})

it.each([
  ['https://client.example.com/oauth.json', true],
  ['https://client.example.com', false],
  ['https://client.example.com/', false],
  ['http://client.example.com/a', false],
  ['https://client.example.com/a/../b', false],
  ['https://CLIENT.example.com/a', false],
  ['https://client.example.com/a#b', false],
  ['https://a:b@client.example.com/a', false],
  ['app_abc.def', false],
])('tells whether %s is the address of a document: %j', (id, isDocument) => expect(isDocumentId(id)).toBe(isDocument))

it.each([
  [undefined, 'https://a.example.com/mcp', true],
  ['https://a.example.com/mcp', 'https://a.example.com/mcp', true],
  ['https://a.example.com/mcp/', 'https://a.example.com/mcp', true],
  ['http://localhost:8787/mcp', 'http://127.0.0.1:8787/mcp', true],
  ['http://127.0.0.1:8787/mcp', 'http://localhost:8787/mcp', true],
  ['http://[::1]:8787/mcp/', 'http://localhost:8787/mcp', true],
  ['http://localhost:8788/mcp', 'http://127.0.0.1:8787/mcp', false],
  ['https://localhost:8787/mcp', 'http://127.0.0.1:8787/mcp', false],
  ['http://localhost:8787/mcp/a', 'http://127.0.0.1:8787/mcp', false],
  ['http://localhost.example.com:8787/mcp', 'http://127.0.0.1:8787/mcp', false],
  ['http://u@localhost:8787/mcp', 'http://127.0.0.1:8787/mcp', false],
  ['https://b.example.com/mcp', 'https://a.example.com/mcp', false],
  ['localhost', 'http://localhost:8787/mcp', false],
])('takes %j as the resource %s: %j', (asked, resource, isOwn) => expect(isOwnResource(asked, resource)).toBe(isOwn))

describe('a metadata document', () => {
  const id = 'https://client.example.com/a.json'
  const document = { client_id: id, redirect_uris: ['https://client.example.com/cb'] }
  it.each<[object | string, object]>([
    [document, { id, name: 'client.example.com', redirectUris: document.redirect_uris }],
    [{ ...document, client_name: ' Name\u200B ' }, { name: 'Name' }],
    [{ ...document, client_id: 'https://other.example.com/a.json' }, { refusal: 'id' }],
    ['text', { refusal: 'id' }],
    [{ ...document, redirect_uris: ['javascript:alert(1)'] }, { refusal: 'redirects' }],
    [{ ...document, redirect_uris: 'https://client.example.com/cb' }, { refusal: 'redirects' }],
    [
      { ...document, redirect_uris: Array.from({ length: 11 }, () => 'https://client.example.com/cb') },
      { refusal: 'redirects' },
    ],
    [{ ...document, client_secret: 's' }, { refusal: 'authentication' }],
    [{ ...document, token_endpoint_auth_method: 'private_key_jwt' }, { refusal: 'authentication' }],
  ])('%j is read as %j', (given, read) => expect(readClientDocument(id, given)).toMatchObject(read))
})

it.each([
  [undefined, ['chat', 'read', 'write', 'jobs', 'approve']],
  ['offline_access', ['chat', 'read', 'write', 'jobs', 'approve']],
  ['read chat openid other', ['chat', 'read']],
  ['admin', undefined],
  ['root', undefined],
])('reads the scopes %j as %j', (text, scopes) => expect(readAppScopes(text)).toEqual(scopes))

it('cuts names, and removes what hides or reorders text', () => {
  expect(cleanName(`a\u202Eb\n${'c'.repeat(100)}`)).toHaveLength(80)
  expect(cleanName(`a\u202Eb\nc`)).toBe('abc')
  expect(cleanName({})).toBe('')
})
