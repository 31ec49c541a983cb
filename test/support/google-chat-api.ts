/** Stands in for Google Chat's API and for Google's login. Each service account has messages of its own. */

import { exportJWK, exportPKCS8, generateKeyPair, jwtVerify, SignJWT } from 'jose'
import { type ApiCall, FakeAccount, serveHost } from './json-api.ts'

const chatAccount = 'chat@system.gserviceaccount.com'
export const googleSpace = 'spaces/AAAA'
export const googleFile = new TextEncoder().encode('a file of Google Chat')

/** The key with which Google signs, those of the accounts, and one that nobody has published. */
const [google, accounts, stranger] = [
  await generateKeyPair('RS256', { extractable: true }),
  await generateKeyPair('RS256', { extractable: true }),
  await generateKeyPair('RS256', { extractable: true }),
]
const published = { keys: [{ ...(await exportJWK(google.publicKey)), kid: 'k1', alg: 'RS256', use: 'sig' }] }
const privateKey = await exportPKCS8(accounts.privateKey)

class GoogleAccount extends FakeAccount {
  token = ''
  /** Tokens that were issued. */
  issued = 0
  /** Names of messages by the ids of their requests. */
  readonly requests = new Map<string, string>()
}

const known = new Map<string, GoogleAccount>()

export function createGoogleChatApi() {
  const email = `bot-${known.size + 1}@project.iam.gserviceaccount.com`
  const api = new GoogleAccount()
  known.set(email, api)
  const file = { type: 'service_account', client_email: email, private_key: privateKey, token_uri: 'https://evil.test' }
  return { api, serviceAccount: JSON.stringify(file) }
}

type TokenOptions = {
  readonly audience: string
  /** Seconds since 1970. */
  readonly at: number
  readonly claims?: object
  readonly isForged?: boolean
  readonly expiresAfter?: number
}

/** A project number gets a token of the chat account, an address an ID token. */
export function signGoogleToken({ audience, at, claims = {}, isForged, expiresAfter = 3_600 }: TokenOptions) {
  const isNumber = /^\d+$/.test(audience)
  const identity = isNumber
    ? { iss: chatAccount }
    : { iss: 'https://accounts.google.com', email: chatAccount, email_verified: true }
  return new SignJWT({ ...identity, aud: audience, iat: at, exp: at + expiresAfter, ...claims })
    .setProtectedHeader({ alg: 'RS256', kid: 'k1' })
    .sign(isForged ? stranger.privateKey : google.privateKey)
}

export const googleError = (code: number, status: string, message: string) =>
  Response.json({ error: { code, status, message } }, { status: code })

serveHost('googlelogin.test', async (call) => {
  if (call.path === `/service_accounts/v1/jwk/${chatAccount}` || call.path === '/oauth2/v3/certs')
    return Response.json(published)
  if (call.path !== '/token') return googleError(404, 'NOT_FOUND', 'no')
  try {
    const { payload } = await jwtVerify(String(call.body['assertion']), accounts.publicKey, {
      audience: 'https://oauth2.googleapis.com/token',
    })
    const api = known.get(payload.iss ?? '')
    if (!api) return Response.json({ error: 'invalid_grant' }, { status: 400 })
    api.token = `ya29.${payload.iss}.${++api.issued}`
    return Response.json({ access_token: api.token, expires_in: 3_599, token_type: 'Bearer' })
  } catch {
    return Response.json({ error: 'invalid_grant' }, { status: 400 })
  }
})

serveHost('googlechat.test', (call) => {
  const token = call.headers.get('authorization')?.replace('Bearer ', '') ?? ''
  const api = [...known.values()].find((one) => one.token && one.token === token)
  if (!api) return googleError(401, 'UNAUTHENTICATED', 'Request had invalid authentication credentials.')
  if (api.isDown) throw new TypeError('Network connection lost.')
  api.calls.push(call)
  return answer(api, call)
})

function answer(api: GoogleAccount, call: ApiCall): Response {
  const path = call.path.replace('/v1/', '')
  if (path === 'spaces') return Response.json({ spaces: [] })
  if (path === googleSpace) return Response.json({ name: googleSpace, spaceType: 'DIRECT_MESSAGE' })
  if (path === 'media/file-1') return new Response(googleFile)
  if (path === `${googleSpace}/messages`) return create(api, call)
  if (call.method === 'DELETE' && api.messages.delete(path)) return Response.json({})
  if (call.method === 'PATCH') return edit(api, path, call)
  return googleError(404, 'NOT_FOUND', 'Resource not found')
}

function create(api: GoogleAccount, { query, body }: ApiCall): Response {
  const request = query.get('requestId') ?? ''
  const stored = api.requests.get(request)
  if (stored !== undefined) return Response.json({ name: stored })
  if (JSON.stringify(body).length > 32_000)
    return googleError(400, 'INVALID_ARGUMENT', 'Message exceeds the size limit.')
  return api.send(() => {
    const name = `${googleSpace}/messages/${api.messages.size + 1}`
    api.add(String(body['text']), name)
    if (request) api.requests.set(request, name)
    return Response.json({ name, thread: body['thread'] ?? { name: `${googleSpace}/threads/T9` } })
  })
}

function edit(api: GoogleAccount, name: string, { body }: ApiCall): Response {
  if (!api.messages.has(name)) return googleError(404, 'NOT_FOUND', 'Message not found')
  return api.send(() => {
    api.messages.set(name, String(body['text']))
    return Response.json({ name })
  })
}
