/** Connects an app to the MCP server as a person with a key does, step by step. */

import { SELF } from 'cloudflare:test'
import { encodeBase64Url } from '#agent/core/base64.ts'
import { sha256 } from '#durable/platform/hash.ts'
import { request } from './client.ts'

export const redirectUri = 'https://app.example.com/callback'
export const resource = 'https://talaria.test/mcp'
export const verifier = 'v'.repeat(50)
const formType = { 'content-type': 'application/x-www-form-urlencoded' }

export type Tokens = {
  readonly access_token: string
  readonly refresh_token: string
  readonly expires_in: number
  readonly scope: string
  readonly error?: string
}
type Client = { readonly client_id: string; readonly client_secret?: string; readonly error?: string }

type FormOptions = { readonly key?: string | null; readonly headers?: object }

/** The browser that follows a redirect leaves this server. */
export const sendForm = (
  path: string,
  fields: Record<string, string> | URLSearchParams,
  { key = null, headers = {} }: FormOptions = {},
) =>
  SELF.fetch(`https://talaria.test${path}`, {
    method: 'POST',
    redirect: 'manual',
    headers: { ...formType, ...(key !== null && { authorization: `Bearer ${key}` }), ...headers },
    body: new URLSearchParams(fields).toString(),
  })

export async function registerApp(more: object = {}) {
  const body = { client_name: 'An app', redirect_uris: [redirectUri], ...more }
  const response = await request('POST', '/oauth/register', { key: null, body })
  return { status: response.status, body: (await response.json()) as Client }
}

export const authorization = async (clientId: string, more: Record<string, string> = {}) => ({
  response_type: 'code',
  client_id: clientId,
  redirect_uri: redirectUri,
  code_challenge: encodeBase64Url(await sha256(verifier)),
  code_challenge_method: 'S256',
  state: 'st',
  resource,
  ...more,
})

/** The page with the key in a header, as of somebody who is signed in. */
export async function openConsent(key: string | null, fields: Record<string, string>, headers = {}) {
  const response = await request('GET', `/oauth/authorize?${new URLSearchParams(fields)}`, { key, headers })
  const html = await response.text()
  return { status: response.status, html, headers: response.headers, holder: holderOf(html) }
}

export const holderOf = (html: string): string => /name="holder" value="(\w+)"/.exec(html)?.[1] ?? ''

export async function answerConsent(
  key: string | null,
  fields: Record<string, string>,
  {
    grant = ['chat', 'read', 'write'],
    headers = {},
    ...more
  }: { grant?: readonly string[]; headers?: object; action?: string; holder?: string; key?: string } = {},
) {
  const form = new URLSearchParams({ ...fields, action: 'allow', ...more } as Record<string, string>)
  for (const scope of grant) form.append('grant', scope)
  const response = await sendForm('/oauth/authorize', form, { key, headers })
  const html = await response.text()
  const location = URL.parse(response.headers.get('location') ?? '')
  return { status: response.status, html, location, query: location?.searchParams, headers: response.headers }
}

export async function exchange(fields: Record<string, string>, more: FormOptions = {}) {
  const response = await sendForm('/oauth/token', fields, more)
  return { status: response.status, body: (await response.json()) as Tokens, headers: response.headers }
}

export const redeem = (clientId: string, code: string, more: Record<string, string> = {}) =>
  exchange({
    grant_type: 'authorization_code',
    client_id: clientId,
    code,
    code_verifier: verifier,
    redirect_uri: redirectUri,
    resource,
    ...more,
  })

export const refresh = (clientId: string, token: string, more: Record<string, string> = {}) =>
  exchange({ grant_type: 'refresh_token', client_id: clientId, refresh_token: token, ...more })

type Wish = { readonly name?: string; readonly grant?: readonly string[] }

export async function connectApp(key: string, { name, grant = ['chat', 'read', 'write'] }: Wish = {}) {
  const { body: client } = await registerApp(name === undefined ? {} : { client_name: name })
  const fields = await authorization(client.client_id)
  const { holder } = await openConsent(key, fields)
  const { query } = await answerConsent(key, fields, { grant, holder })
  const { body: tokens } = await redeem(client.client_id, query?.get('code') ?? '')
  const listed = await request('GET', '/api/apps', { key })
  const { data } = (await listed.json()) as { data: { id: string; client_id: string }[] }
  const id = data.find((one) => one.client_id === client.client_id)?.id ?? ''
  return { id, clientId: client.client_id, tokens }
}
