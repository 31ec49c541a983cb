/** Stands in for a Matrix homeserver. Each access token has an account of its own, with one timeline. */

import { type ApiCall, FakeAccount, serveHost } from './json-api.ts'

export const matrixRoom = '!room:matrix.test'
export const matrixGroup = '!group:matrix.test'
export const matrixPerson = '@anna:matrix.test'
export const matrixFile = new TextEncoder().encode('a file of Matrix')

type MatrixEvent = { readonly room: string } & Readonly<Record<string, unknown>>

class MatrixAccount extends FakeAccount {
  readonly own: string
  readonly events: MatrixEvent[] = []
  readonly invites: { readonly room: string; readonly sender: string }[] = []
  readonly members = new Map([
    [matrixRoom, [matrixPerson, 'bot']],
    [matrixGroup, [matrixPerson, '@bob:matrix.test', 'bot']],
  ])
  readonly joined: string[] = []
  readonly transactions = new Map<string, string>()
  pusher: Readonly<Record<string, unknown>> | undefined
  /** The most events that a `/sync` names for a room. */
  maxTimeline = 50
  syncs = 0
  /** The next calls of `/sync` fail so. */
  readonly failures: (() => Response)[] = []

  constructor(own: string) {
    super()
    this.own = own
  }

  /** Adds an event, and returns its id. */
  receive(fields: object, room = matrixRoom): string {
    const id = `$e${this.events.length + 1}`
    const event = {
      type: 'm.room.message',
      sender: matrixPerson,
      origin_server_ts: Date.now(),
      event_id: id,
      ...fields,
    }
    this.events.push({ ...event, room })
    return id
  }

  say(body: string, more: object = {}, room = matrixRoom): string {
    return this.receive({ content: { msgtype: 'm.text', body, ...more } }, room)
  }
}

const accounts = new Map<string, MatrixAccount>()

export function createMatrixApi() {
  const token = `syt_${accounts.size + 1}_token`
  const api = new MatrixAccount(`@talaria${accounts.size + 1}:matrix.test`)
  accounts.set(token, api)
  return { api, token }
}

export const matrixError = (status: number, errcode: string, more: object = {}) =>
  Response.json({ errcode, error: `${errcode} happened`, ...more }, { status })

serveHost('matrix.test', (call) => {
  const api = accounts.get(call.headers.get('authorization')?.replace('Bearer ', '') ?? '')
  if (!api) return matrixError(401, 'M_UNKNOWN_TOKEN')
  if (api.isDown) throw new TypeError('Network connection lost.')
  api.calls.push(call)
  return answer(api, call)
})

function answer(api: MatrixAccount, call: ApiCall): Response {
  const path = decodeURIComponent(call.path.replace(/^\/_matrix\//, ''))
  const [, room = '', rest = ''] = /^client\/v3\/rooms\/([^/]+)\/(.*)$/.exec(path) ?? []
  if (room) return answerRoom(api, call, { room, rest })
  switch (path) {
    case 'client/v3/account/whoami':
      return Response.json({ user_id: api.own, device_id: 'D' })
    case 'client/v3/pushers/set':
      api.pusher = call.body['kind'] === null ? undefined : call.body
      return Response.json({})
    case 'client/v3/sync':
      return sync(api, call)
    case 'client/v1/media/download/matrix.test/file1':
      return new Response(matrixFile)
    case 'media/v3/upload':
      api.files.push({ name: call.query.get('filename') ?? '', bytes: call.bytes.length })
      return Response.json({ content_uri: 'mxc://matrix.test/new' })
    default:
      return matrixError(404, 'M_NOT_FOUND')
  }
}

type RoomCall = { readonly room: string; readonly rest: string }

function answerRoom(api: MatrixAccount, call: ApiCall, { room, rest }: RoomCall): Response {
  const members = api.members.get(room)
  if (rest === 'join') {
    api.joined.push(room)
    return Response.json({ room_id: room })
  }
  if (!members) return matrixError(403, 'M_FORBIDDEN')
  if (rest === 'joined_members')
    return Response.json({ joined: Object.fromEntries(members.map((one) => [one, { display_name: nameOf(one) }])) })
  if (rest.startsWith('typing/')) return Response.json({})
  if (rest.startsWith('event/')) {
    const found = api.events.find((one) => one['event_id'] === rest.slice('event/'.length))
    return found ? Response.json(found) : matrixError(404, 'M_NOT_FOUND')
  }
  if (rest === 'messages') return listMessages(api, call, room)
  const [, redacted = ''] = /^redact\/([^/]+)\//.exec(rest) ?? []
  if (redacted && api.messages.delete(redacted)) return Response.json({ event_id: '$redaction' })
  return rest.startsWith('send/') ? send(api, call, rest) : matrixError(404, 'M_NOT_FOUND')
}

const nameOf = (user: string) => (user === matrixPerson ? 'Anna' : user)

function sync(api: MatrixAccount, { query }: ApiCall): Response {
  api.syncs++
  const failure = api.failures.shift()
  if (failure) return failure()
  const since = Number(query.get('since') ?? 0)
  const events = api.events.slice(since)
  const rooms = [...new Set(events.map(({ room }) => room))].map((room) => {
    const own = events.filter((one) => one.room === room)
    const shown = own.slice(-api.maxTimeline)
    const start = api.events.indexOf(shown[0] as MatrixEvent)
    return [
      room,
      { timeline: { events: shown, limited: shown.length < own.length, prev_batch: String(start) } },
    ] as const
  })
  const invite = Object.fromEntries(
    api.invites.splice(0).map(({ room, sender }) => [
      room,
      {
        invite_state: {
          events: [{ type: 'm.room.member', sender, state_key: api.own, content: { membership: 'invite' } }],
        },
      },
    ]),
  )
  return Response.json({ next_batch: String(api.events.length), rooms: { join: Object.fromEntries(rooms), invite } })
}

function listMessages(api: MatrixAccount, { query }: ApiCall, room: string): Response {
  const [from, to] = [Number(query.get('from')), Number(query.get('to'))]
  const limit = Number(query.get('limit'))
  const start = Math.max(to, from - limit)
  const chunk = api.events
    .slice(start, from)
    .filter((one) => one.room === room)
    .toReversed()
  return Response.json({ chunk, ...(start > to && { end: String(start) }) })
}

function send(api: MatrixAccount, { body }: ApiCall, transaction: string): Response {
  const known = api.transactions.get(transaction)
  if (known !== undefined) return Response.json({ event_id: known })
  if (JSON.stringify(body).length > 65_536) return matrixError(413, 'M_TOO_LARGE')
  return api.send(() => {
    const relation = body['m.relates_to'] as { readonly rel_type?: string; readonly event_id?: string } | undefined
    if (relation?.rel_type === 'm.replace') {
      const edited = relation.event_id ?? ''
      if (!api.messages.has(edited)) return matrixError(404, 'M_NOT_FOUND')
      api.messages.set(edited, String((body['m.new_content'] as { readonly body?: string }).body))
      return Response.json({ event_id: '$edit' })
    }
    const id = `$own${api.messages.size + 1}`
    if (body['url'] === undefined) api.add(String(body['body']), id)
    api.transactions.set(transaction, id)
    return Response.json({ event_id: id })
  })
}
