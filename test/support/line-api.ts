/** Stands in for LINE's Messaging API. Each access token has an account of its own. */

import { type ApiCall, FakeAccount, serveHost } from './json-api.ts'

class LineAccount extends FakeAccount {
  /** Messages by the retry keys under which they were accepted. */
  readonly keys = new Map<string, string>()
  readonly usedTokens = new Set<string>()
  endpoint = ''
  isActive = true
}

const accounts = new Map<string, LineAccount>()
export const lineFile = new TextEncoder().encode('a file of LINE')
export const linePerson = `U${'1'.repeat(32)}`
export const lineGroup = `C${'2'.repeat(32)}`
export const lineBot = `U${'b'.repeat(32)}`

export function createLineApi() {
  const token = `line-token-${accounts.size + 1}`
  const api = new LineAccount()
  accounts.set(token, api)
  return { api, token }
}

export const lineError = (status: number, message: string, details: readonly object[] = []) =>
  Response.json({ message, details }, { status })

serveHost('line.test', (call) => {
  const api = accounts.get(call.headers.get('authorization')?.replace('Bearer ', '') ?? '')
  if (!api) return lineError(401, 'Authentication failed. Confirm that the access token is valid.')
  if (api.isDown) throw new TypeError('Network connection lost.')
  api.calls.push(call)
  return answer(api, call)
})

function answer(api: LineAccount, call: ApiCall): Response {
  const path = call.path.replace('/v2/bot/', '')
  switch (path) {
    case 'info':
      return Response.json({ userId: lineBot, basicId: '@talaria', displayName: 'Talaria', chatMode: 'bot' })
    case 'message/push':
      return push(api, call)
    case 'message/reply':
      return reply(api, call)
    case 'chat/loading/start':
      return call.body['chatId'] === linePerson ? Response.json({}, { status: 202 }) : lineError(400, 'Invalid chatId')
    case 'channel/webhook/endpoint':
      return answerEndpoint(api, call)
    case `profile/${linePerson}`:
      return Response.json({ userId: linePerson, displayName: 'Anna' })
    case `group/${lineGroup}/summary`:
      return Response.json({ groupId: lineGroup, groupName: 'Team' })
    case 'message/file-1/content':
      return new Response(lineFile, { headers: { 'content-type': 'image/jpeg' } })
    case 'message/video-1/content':
      return new Response(null, { status: 202 })
    default:
      return lineError(404, 'Not found')
  }
}

type Message = {
  readonly type: string
  readonly text: string
  readonly quickReply?: { readonly items: readonly object[] }
}

/** Refuses what LINE refuses: five messages at most, 5000 UTF-16 units, and 13 quick replies with labels of 20. */
function problemOf({ messages }: ApiCall['body']): Response | undefined {
  const list = Array.isArray(messages) ? (messages as Message[]) : []
  if (!list.length || list.length > 5) return lineError(400, "The property, 'messages', in the request body is invalid")
  const isLong = list.some(({ text }) => !text || text.length > 5_000)
  if (isLong)
    return lineError(400, 'A message (messages[0]) in the request body is invalid', [
      { message: 'Length must be between 1 and 5000', property: 'messages[0].text' },
    ])
  return list.some(({ quickReply }) => (quickReply?.items.length ?? 0) > 13)
    ? lineError(400, 'A message (messages[0]) in the request body is invalid')
    : undefined
}

function push(api: LineAccount, { headers, body }: ApiCall): Response {
  const key = headers.get('x-line-retry-key') ?? ''
  if (!/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(key)) return lineError(400, 'Invalid retry key')
  const accepted = api.keys.get(key)
  if (accepted !== undefined)
    return Response.json(
      { message: 'The retry key is already accepted', sentMessages: [{ id: accepted }] },
      { status: 409 },
    )
  const problem = problemOf(body)
  return api.send(() => problem ?? Response.json({ sentMessages: [{ id: store(api, body, key) }] }))
}

function reply(api: LineAccount, { headers, body }: ApiCall): Response {
  if (headers.has('x-line-retry-key')) return lineError(400, 'Retry keys are not supported here')
  const token = String(body['replyToken'])
  if (!token.startsWith('reply-') || api.usedTokens.has(token)) return lineError(400, 'Invalid reply token')
  const problem = problemOf(body)
  return api.send(() => {
    if (problem) return problem
    api.usedTokens.add(token)
    return Response.json({ sentMessages: [{ id: store(api, body) }] })
  })
}

function store(api: LineAccount, { messages }: ApiCall['body'], key?: string): string {
  const id = api.add((messages as Message[]).map(({ text }) => text).join('\n'))
  if (key !== undefined) api.keys.set(key, id)
  return id
}

function answerEndpoint(api: LineAccount, { method, body }: ApiCall): Response {
  if (method === 'GET') return Response.json({ endpoint: api.endpoint, active: api.isActive })
  if (method !== 'PUT' || typeof body['endpoint'] !== 'string') return lineError(400, 'Invalid webhook endpoint URL')
  api.endpoint = body['endpoint']
  return Response.json({})
}
