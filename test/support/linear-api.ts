/** Stands in for Linear's API. Each application has activities of its own. */

import { computeHmac } from '#channels/hmac.ts'
import { toHex } from '#durable/platform/hash.ts'
import { type ApiCall, FakeAccount, serveHost } from './json-api.ts'

export const linearSession = '1b9d6bcd-bbfd-4b2d-9b5d-ab8dfbbd4bed'

class LinearAccount extends FakeAccount {
  token = ''
  issued = 0
}

const known = new Map<string, LinearAccount>()

export function createLinearApi() {
  const client_id = `client-${known.size + 1}`
  const api = new LinearAccount()
  known.set(client_id, api)
  return {
    api,
    secrets: { client_id, client_secret: `secret-of-${client_id}`, webhook_secret: `hook-of-${client_id}` },
  }
}

export const linearError = (status: number, code: string, message: string, headers = {}) =>
  Response.json({ errors: [{ message, extensions: { code, userPresentableMessage: message } }] }, { status, headers })

/** A body with the time, and its signature. */
export async function signLinear(text: string, secret: string, at: number) {
  const body = new TextEncoder().encode(text.replace('{', `{"webhookTimestamp":${at},`))
  return { body, headers: { 'linear-signature': toHex(await computeHmac('SHA-256', secret || 'none', body)) } }
}

serveHost('linear.test', (call) => {
  if (call.path === '/oauth/token') return grant(call)
  const token = call.headers.get('authorization')?.replace('Bearer ', '')
  const api = [...known.values()].find((one) => one.token !== '' && one.token === token)
  if (!api) return linearError(401, 'AUTHENTICATION_ERROR', 'Authentication required')
  if (api.isDown) throw new TypeError('Network connection lost.')
  api.calls.push(call)
  return answer(api, call)
})

function grant({ body }: ApiCall): Response {
  const api = known.get(String(body['client_id']))
  if (!api || body['client_secret'] !== `secret-of-${String(body['client_id'])}`)
    return Response.json({ error: 'invalid_client' }, { status: 400 })
  api.token = `lin_oauth_${String(body['client_id'])}_${++api.issued}`
  return Response.json({ access_token: api.token, token_type: 'Bearer', expires_in: 2_591_999 })
}

type Input = {
  readonly id?: string
  readonly agentSessionId?: string
  readonly ephemeral?: boolean
  readonly content?: { readonly type: string; readonly body: string }
}

function answer(api: LinearAccount, { body }: ApiCall): Response {
  const { query, variables } = body as { query: string; variables: { id?: string; input?: Input } }
  if (query.includes('viewer')) return Response.json({ data: { viewer: { id: 'app1', name: 'Talaria' } } })
  const { input, id } = variables
  if ((input?.agentSessionId ?? id) !== linearSession)
    return linearError(400, 'INPUT_ERROR', 'Entity not found: AgentSession')
  if (!input) return Response.json({ data: { agentSession: { id } } })
  const made = (of: string) =>
    Response.json({ data: { agentActivityCreate: { success: true, agentActivity: { id: of } } } })
  if (input.ephemeral) return made('thought')
  const activity = input.id ?? ''
  if (api.messages.has(activity)) return linearError(400, 'INPUT_ERROR', 'AgentActivity already exists')
  return api.send(() => made(api.add(input.content?.body ?? '', activity)))
}
