/** Stands in for GitHub's API. Each app has an installation, and each token an account, with comments of their own. */

import { exportPKCS8, generateKeyPair, jwtVerify } from 'jose'
import { decodeBase64Bytes, encodeBase64Bytes } from '#agent/core/base64.ts'
import { computeHmac } from '#channels/hmac.ts'
import { toHex } from '#durable/platform/hash.ts'
import { type ApiCall, FakeAccount, serveHost } from './json-api.ts'

const pair = await generateKeyPair('RS256', { extractable: true })
const pkcs8 = await exportPKCS8(pair.privateKey)
/** The form that GitHub gives: the inner key, behind 26 bytes that name the algorithm. */
const inner = decodeBase64Bytes(pkcs8.replace(/-----[A-Z ]+-----|\s/g, '')).slice(26)
export const githubKey = `-----BEGIN RSA PRIVATE KEY-----\n${encodeBase64Bytes(inner)}\n-----END RSA PRIVATE KEY-----\n`
export const githubKeyPkcs8 = pkcs8

class GithubAccount extends FakeAccount {
  readonly login: string
  issued = 0
  token = ''
  hook: unknown
  constructor(login: string) {
    super()
    this.login = login
  }
}

const byToken = new Map<string, GithubAccount>()
const apps = new Map<string, GithubAccount>()

export function createGithubApi() {
  const token = `ghp_${byToken.size + 1}`
  const api = new GithubAccount(`Talaria-Bot`)
  byToken.set(token, api)
  return { api, secrets: { token, webhook_secret: `webhook-secret-of-${token}` } }
}

export function createGithubApp() {
  const id = String(4_000 + apps.size)
  const api = new GithubAccount('talaria-app')
  apps.set(id, api)
  const webhook_secret = `webhook-secret-of-${id}`
  return { api, secrets: { app_id: id, private_key: githubKey, installation_id: `9${id}`, webhook_secret } }
}

export const signGithub = async (body: Uint8Array, secret: string) => ({
  'x-hub-signature-256': `sha256=${toHex(await computeHmac('SHA-256', secret, body))}`,
})

export const githubError = (status: number, message: string, errors: readonly unknown[] = [], headers = {}) =>
  Response.json({ message, errors }, { status, headers })

serveHost('github.test', async (call) => {
  const token = call.headers.get('authorization')?.replace('Bearer ', '') ?? ''
  if (!call.headers.get('user-agent')) return githubError(403, 'Request forbidden by administrative rules.')
  if (call.path.startsWith('/app')) return answerApp(token, call)
  const api = byToken.get(token) ?? [...apps.values()].find((one) => one.token !== '' && one.token === token)
  if (!api) return githubError(401, 'Bad credentials')
  if (api.isDown) throw new TypeError('Network connection lost.')
  api.calls.push(call)
  return answer(api, call)
})

async function answerApp(token: string, call: ApiCall): Promise<Response> {
  const checked = await jwtVerify(token, pair.publicKey).catch(() => undefined)
  const id = checked?.payload.iss ?? ''
  const api = apps.get(id)
  const { iat = 0, exp = 0 } = checked?.payload ?? {}
  if (!api || exp - iat > 660) return githubError(401, 'A JSON web token could not be decoded')
  api.calls.push(call)
  if (call.path === '/app') return Response.json({ slug: api.login })
  if (call.path === '/app/hook/config') {
    api.hook = call.body
    return Response.json(call.body)
  }
  if (call.path !== `/app/installations/9${id}/access_tokens`) return githubError(404, 'Not Found')
  api.token = `ghs_${id}_${++api.issued}`
  return Response.json({ token: api.token, expires_at: '2027-01-15T08:00:00Z' }, { status: 201 })
}

/** Issue 12 of `acme/shop` exists, and comment 500 on a line of its change. */
function answer(api: GithubAccount, { method, path, body }: ApiCall): Response {
  const text = String(body['body'] ?? '')
  const add = () =>
    text.length > 65_536
      ? githubError(422, 'Validation Failed', [{ message: 'body is too long (maximum is 65536 characters)' }])
      : api.send(() => Response.json({ id: Number(api.add(text)) }, { status: 201 }))
  switch (`${method} ${path}`) {
    case 'GET /user':
      return Response.json({ login: api.login, id: 1 })
    case 'GET /rate_limit':
    case 'GET /repos/acme/shop/issues/12':
      return Response.json({ number: 12 })
    case 'POST /repos/acme/shop/issues/12/comments':
    case 'POST /repos/acme/shop/pulls/12/comments/500/replies':
      return add()
    default:
      return edit(api, `${method} ${path}`, text)
  }
}

function edit(api: GithubAccount, route: string, text: string): Response {
  const [, deleted = ''] = /^DELETE \/repos\/acme\/shop\/(?:issues|pulls)\/comments\/(\d+)$/.exec(route) ?? []
  if (deleted && api.messages.delete(deleted)) return new Response(null, { status: 204 })
  const id = /^PATCH \/repos\/acme\/shop\/(?:issues|pulls)\/comments\/(\d+)$/.exec(route)?.[1] ?? ''
  if (!api.messages.has(id)) return githubError(404, 'Not Found')
  return api.send(() => Response.json({ id: Number(api.add(text, id)) }))
}
