/** Stands in for the self-hosted servers that call by webhook: Nextcloud Talk, Zulip and Rocket.Chat. */

import { computeHmac, concatBytes } from '#channels/hmac.ts'
import { toHex } from '#durable/platform/hash.ts'
import { type ApiCall, FakeAccount, serveHost } from './json-api.ts'

export const hookFile = new TextEncoder().encode('a file of the server')

const talk = new Map<string, FakeAccount>()
export const talkRoom = 'n3xtc10ud'

export function createTalkApi() {
  const secret = `${'s'.repeat(40)}${talk.size + 1}`
  const api = new FakeAccount()
  talk.set(secret, api)
  return { api, secret }
}

serveHost('nextcloud.test', async (call) => {
  if (call.path === '/ocs/v2.php/cloud/capabilities')
    return Response.json({ ocs: { meta: { status: 'ok' }, data: {} } })
  const text = String(call.body['message'] ?? '')
  const random = call.headers.get('x-nextcloud-talk-bot-random') ?? ''
  const signature = call.headers.get('x-nextcloud-talk-bot-signature')
  for (const [secret, api] of talk) {
    const expected = toHex(await computeHmac('SHA-256', secret, concatBytes(random, new TextEncoder().encode(text))))
    if (expected === signature && random.length >= 32) return answerTalk(api, call, text)
  }
  return Response.json({ ocs: { meta: { status: 'failure', message: 'unauthenticated' } } }, { status: 401 })
})

function answerTalk(api: FakeAccount, call: ApiCall, text: string): Response {
  if (api.isDown) throw new TypeError('Network connection lost.')
  api.calls.push(call)
  if (!call.path.includes(`/bot/${talkRoom}/`)) return Response.json({ ocs: { meta: {} } }, { status: 404 })
  if (text.length > 32_000) return new Response(null, { status: 413 })
  return api.send(() => {
    api.add(text)
    return new Response(null, { status: 201 })
  })
}

const zulipBots = new Map<string, FakeAccount>()
export const zulipStream = '7'

export function createZulipApi() {
  const [email, apiKey] = [`bot${zulipBots.size + 1}@zulip.test`, `key${zulipBots.size + 1}`]
  const api = new FakeAccount()
  zulipBots.set(`Basic ${btoa(`${email}:${apiKey}`)}`, api)
  return { api, secrets: { email, api_key: apiKey, token: `zulip-token-${zulipBots.size}` } }
}

export const zulipError = (status: number, code: string, msg: string, more: object = {}) =>
  Response.json({ result: 'error', code, msg, ...more }, { status })

serveHost('zulip.test', (call) => {
  if (call.path === '/user_uploads/temporary/1') return new Response(hookFile)
  const api = zulipBots.get(call.headers.get('authorization') ?? '')
  if (!api) return zulipError(401, 'UNAUTHORIZED', 'Invalid API key')
  if (api.isDown) throw new TypeError('Network connection lost.')
  api.calls.push(call)
  return answerZulip(api, call)
})

function answerZulip(api: FakeAccount, { method, path, body }: ApiCall): Response {
  const done = (more: object = {}) => Response.json({ result: 'success', msg: '', ...more })
  const route = `${method} ${path.replace('/api/v1/', '')}`
  switch (route) {
    case 'GET users/me':
      return done({ full_name: 'Talaria', user_id: 1 })
    case 'POST typing':
    case `GET streams/${zulipStream}`:
    case 'GET users/11':
      return done()
    case 'GET user_uploads/2/ab/file.txt':
      return done({ url: '/user_uploads/temporary/1' })
    case 'POST user_uploads':
      api.addFile(body['file'] as File)
      return done({ url: '/user_uploads/2/cd/new.txt' })
    case 'GET messages/55':
      return done({ message: { id: 55, subject: 'renamed' } })
    case 'POST messages':
      return sendZulip(api, body, done)
    default:
      if (route.startsWith('DELETE messages/') && api.messages.delete(route.slice(16))) return done()
      return route.startsWith('PATCH messages/')
        ? editZulip(api, route.slice(15), body)
        : zulipError(404, 'BAD_REQUEST', 'Invalid channel ID')
  }
}

function sendZulip(api: FakeAccount, { content, to }: ApiCall['body'], done: (more: object) => Response): Response {
  const text = String(content)
  if (text.length > 10_000) return zulipError(400, 'BAD_REQUEST', 'Message too long')
  if (!['7', '[11]'].includes(String(to))) return zulipError(400, 'STREAM_DOES_NOT_EXIST', 'Channel does not exist')
  return api.send(() => done({ id: Number(text.includes('/user_uploads/') ? '999' : api.add(text)) }))
}

function editZulip(api: FakeAccount, id: string, { content }: ApiCall['body']): Response {
  if (!api.messages.has(id)) return zulipError(400, 'BAD_REQUEST', 'Invalid message(s)')
  return api.send(() => {
    api.add(String(content), id)
    return Response.json({ result: 'success', msg: '' })
  })
}

class RocketAccount extends FakeAccount {
  /** Messages of people, by id. */
  readonly written = new Map<string, object>()
  readonly own: string
  constructor(own: string) {
    super()
    this.own = own
  }
}

const rockets = new Map<string, RocketAccount>()
export const rocketRoom = 'directRoom'

export function createRocketApi() {
  const authToken = `rocket-token-${rockets.size + 1}`
  const api = new RocketAccount(`botid${rockets.size + 1}`)
  rockets.set(authToken, api)
  return { api, secrets: { user_id: api.own, auth_token: authToken, token: `hook-${rockets.size}` } }
}

export const rocketError = (status: number, error: string, errorType?: string) =>
  Response.json({ success: false, error, ...(errorType && { errorType }) }, { status })

serveHost('rocketchat.test', (call) => {
  const api = rockets.get(call.headers.get('x-auth-token') ?? '')
  if (api?.own !== call.headers.get('x-user-id'))
    return Response.json({ status: 'error', message: 'You must be logged in to do this.' }, { status: 401 })
  if (!api) return rocketError(500, 'no')
  if (api.isDown) throw new TypeError('Network connection lost.')
  api.calls.push(call)
  return answerRocket(api, call)
})

const answerWritten = (message: object | undefined) =>
  message ? Response.json({ success: true, message }) : rocketError(400, 'none')

function answerRocket(api: RocketAccount, { method, path, query, body }: ApiCall): Response {
  const done = (more: object = {}) => Response.json({ success: true, ...more })
  switch (`${method} ${path.replace('/api/v1/', '')}`) {
    case 'GET me':
      return done({ _id: api.own, username: 'talaria' })
    case 'GET rooms.info':
      return query.get('roomId') === rocketRoom
        ? done({ room: { t: 'd' } })
        : rocketError(400, 'not allowed', 'error-room-not-found')
    case 'GET chat.getMessage':
      return query.get('msgId') === 'file1'
        ? done({ message: { file: { _id: 'f1', name: 'a.txt', type: 'text/plain' } } })
        : answerWritten(api.written.get(query.get('msgId') ?? ''))
    case 'GET /file-upload/f1/a.txt':
      return new Response(hookFile)
    case `POST rooms.media/${rocketRoom}`:
      api.addFile(body['file'] as File)
      return done({ file: { _id: 'f2' } })
    case `POST rooms.mediaConfirm/${rocketRoom}/f2`:
      return done({ message: { _id: 'm2' } })
    case 'POST chat.sendMessage':
      return sendRocket(api, body['message'] as Readonly<Record<string, string>>)
    case 'POST chat.delete':
      return api.messages.delete(String(body['msgId'])) ? done() : rocketError(400, 'No message found.')
    case 'POST chat.update': {
      if (!api.messages.has(String(body['msgId']))) return rocketError(400, 'No message found with the id of "999".')
      return api.send(() => done({ message: { _id: api.add(String(body['text']), String(body['msgId'])) } }))
    }
    default:
      return rocketError(404, 'not found')
  }
}

/** A message whose id exists is dropped. */
function sendRocket(api: RocketAccount, message: Readonly<Record<string, string>>): Response {
  const { _id: id = '', rid, msg = '' } = message
  if (rid !== rocketRoom) return rocketError(400, 'The room does not exist', 'error-invalid-room')
  if (msg.length > 5_000)
    return rocketError(400, 'Message size exceeds Message_MaxAllowedSize', 'error-message-size-exceeded')
  if (api.messages.has(id)) return Response.json({ success: true })
  return api.send(() => {
    api.add(msg, id)
    return Response.json({ success: true, message: { _id: id } })
  })
}
