/** Stands in for DingTalk's API. Each app has messages of its own. */

import { encodeBase64Bytes } from '#agent/core/base64.ts'
import { computeHmac } from '#channels/hmac.ts'
import { type ApiCall, FakeAccount, serveHost } from './json-api.ts'

export const dingtalkPerson = 'staff-anna'
export const dingtalkFile = new TextEncoder().encode('a file of DingTalk')

class DingtalkAccount extends FakeAccount {
  token = ''
  issued = 0
}

const apps = new Map<string, DingtalkAccount>()

export function createDingtalkApi() {
  const app_key = `ding-${apps.size + 1}`
  const api = new DingtalkAccount()
  apps.set(app_key, api)
  return { api, secrets: { app_key, app_secret: `secret-of-${app_key}` } }
}

export async function signDingtalk(secret: string, at: number) {
  const signed = new TextEncoder().encode(`${at}\n${secret}`)
  return { timestamp: String(at), sign: encodeBase64Bytes(await computeHmac('SHA-256', secret, signed)) }
}

export const dingtalkError = (status: number, code: string, message: string, headers = {}) =>
  Response.json({ code, message, requestid: 'R' }, { status, headers })

serveHost('dingtalk.test', (call) => {
  if (call.path === '/v1.0/oauth2/accessToken') return grant(call)
  if (call.path === '/files/1') return new Response(dingtalkFile)
  const token = call.headers.get('x-acs-dingtalk-access-token')
  const api = [...apps.values()].find((one) => one.token !== '' && one.token === token)
  if (!api) return dingtalkError(403, 'InvalidAuthentication', 'The access token is invalid.')
  if (api.isDown) throw new TypeError('Network connection lost.')
  api.calls.push(call)
  return answer(api, call)
})

function grant({ body }: ApiCall): Response {
  const api = apps.get(String(body['appKey']))
  if (!api || body['appSecret'] !== `secret-of-${String(body['appKey'])}`)
    return dingtalkError(400, 'invalidClientIdOrSecret', 'The clientId or clientSecret is invalid.')
  api.token = `token-${String(body['appKey'])}-${++api.issued}`
  return Response.json({ accessToken: api.token, expireIn: 7_200 })
}

function answer(api: DingtalkAccount, { path, body }: ApiCall): Response {
  if (path === '/v1.0/robot/messageFiles/download')
    return body['downloadCode'] === 'known'
      ? Response.json({ downloadUrl: 'https://dingtalk.test/files/1' })
      : dingtalkError(400, 'invalidParameter', 'unknown download code')
  const { text } = JSON.parse(String(body['msgParam'])) as { readonly text: string }
  if (new TextEncoder().encode(text).length > 20_000)
    return dingtalkError(400, 'invalidParameter', 'The message exceeds the size limit.')
  const people = (body['userIds'] ?? []) as readonly string[]
  if (people.some((one) => one !== dingtalkPerson)) return Response.json({ invalidStaffIdList: people })
  return api.send(() => Response.json({ processQueryKey: api.add(text) }))
}
