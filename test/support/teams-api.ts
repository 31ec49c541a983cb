/** Stands in for the Bot Connector of Teams and for Microsoft's login. Each application has messages of its own. */

import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { type ApiCall, FakeAccount, serveHost } from './json-api.ts'

export const teamsChat = 'a:1direct'
export const teamsChannel = '19:channel@thread.tacv2'
export const teamsTenant = '11111111-2222-3333-4444-555555555555'
export const teamsService = 'https://smba.trafficmanager.net/emea/'
export const teamsFile = new TextEncoder().encode('a file of Teams')

const [microsoft, stranger] = [await generateKeyPair('RS256', { extractable: true }), await generateKeyPair('RS256')]
const jwk = await exportJWK(microsoft.publicKey)
const published = {
  keys: [
    { ...jwk, kid: 'k1', alg: 'RS256', use: 'sig', endorsements: ['msteams', 'skype'] },
    { ...jwk, kid: 'web', alg: 'RS256', use: 'sig', endorsements: ['webchat'] },
  ],
}

class TeamsAccount extends FakeAccount {
  token = ''
  issued = 0
}

const known = new Map<string, TeamsAccount>()

export function createTeamsApi() {
  const id = `app-${known.size + 1}`
  const api = new TeamsAccount()
  known.set(id, api)
  return { api, secrets: { app_id: id, app_password: `password-${id}`, tenant_id: teamsTenant } }
}

type TokenOptions = {
  readonly audience: string
  /** Seconds since 1970. */
  readonly at: number
  readonly claims?: object
  readonly isForged?: boolean
  readonly kid?: string
}

export const signTeamsToken = ({ audience, at, claims = {}, isForged, kid = 'k1' }: TokenOptions) =>
  new SignJWT({
    iss: 'https://api.botframework.com',
    aud: audience,
    nbf: at,
    exp: at + 3_600,
    serviceurl: teamsService,
    ...claims,
  })
    .setProtectedHeader({ alg: 'RS256', kid })
    .sign(isForged ? stranger.privateKey : microsoft.privateKey)

export const teamsError = (status: number, code: string, message = code) =>
  Response.json({ error: { code, message } }, { status })

serveHost('teamslogin.test', (call) => {
  if (call.path === '/v1/.well-known/keys') return Response.json(published)
  const id = String(call.body['client_id'])
  const api = known.get(id)
  if (call.path !== `/${teamsTenant}/oauth2/v2.0/token` || !api || call.body['client_secret'] !== `password-${id}`)
    return Response.json({ error: 'invalid_client' }, { status: 401 })
  api.token = `eyJ.${id}.${++api.issued}`
  return Response.json({ access_token: api.token, expires_in: 3_599, token_type: 'Bearer' })
})

const serve = (call: ApiCall): Response => {
  const token = call.headers.get('authorization')?.replace('Bearer ', '') ?? ''
  const api = [...known.values()].find((one) => one.token && one.token === token)
  if (!api) return teamsError(401, 'Unauthorized')
  if (api.isDown) throw new TypeError('Network connection lost.')
  api.calls.push(call)
  return answer(api, call)
}
serveHost('smba.trafficmanager.net', serve)
serveHost('teams.test', serve)

function answer(api: TeamsAccount, call: ApiCall): Response {
  const path = decodeURIComponent(call.path).replace(/^\/(?:teams|emea)\/v3\//, '')
  if (path === 'attachments/1') return new Response(teamsFile)
  const [, id = '', rest = ''] = /^conversations\/([^/]+)\/(.*)$/.exec(path) ?? []
  if (![teamsChat, teamsChannel].includes(id.split(';')[0] ?? '')) return teamsError(404, 'ConversationNotFound')
  if (rest === 'pagedmembers') return Response.json({ members: [{ id: '29:anna' }] })
  const edited = /^activities\/(.+)$/.exec(rest)?.[1]
  if (call.method === 'DELETE')
    return api.messages.delete(edited ?? '') ? Response.json({}) : teamsError(404, 'ActivityNotFoundInConversation')
  const text = textOf(call.body)
  if (text.length > 28_000) return teamsError(413, 'MessageSizeTooBig')
  if (call.body['type'] === 'typing') return Response.json({ id: '1' }, { status: 201 })
  if (call.method === 'PUT') {
    if (!api.messages.has(edited ?? '')) return teamsError(404, 'ActivityNotFoundInConversation')
    return api.send(() => Response.json({ id: api.add(text, edited) }))
  }
  return api.send(() => Response.json({ id: api.add(text) }, { status: 201 }))
}

type Card = {
  readonly attachments?: readonly { readonly content: { readonly body: readonly { readonly text: string }[] } }[]
}

const textOf = (body: ApiCall['body']): string =>
  String(body['text'] ?? (body as Card).attachments?.[0]?.content.body[0]?.text ?? '')
