/** Stands in for a Mattermost server. Each bot token has an account of its own, in one team. */

import { type ApiCall, FakeAccount, serveHost } from './json-api.ts'

export const mattermostDirect = 'directchannel0000000000001'
export const mattermostFile = new TextEncoder().encode('a file of Mattermost')

class MattermostAccount extends FakeAccount {
  readonly own: string
  readonly commands: Readonly<Record<string, unknown>>[] = []
  readonly pending = new Map<string, string>()
  constructor(own: string) {
    super()
    this.own = own
  }
}

const bots = new Map<string, MattermostAccount>()

export function createMattermostApi() {
  const token = `mm-token-${bots.size + 1}`
  const api = new MattermostAccount(`bot${bots.size + 1}`)
  bots.set(token, api)
  return { api, secrets: { bot_token: token, webhook_token: `hook-${bots.size}` } }
}

export const mattermostError = (status: number, id: string, message: string) =>
  Response.json({ id, message, status_code: status }, { status })

serveHost('mattermost.test', (call) => {
  const api = bots.get(call.headers.get('authorization')?.replace('Bearer ', '') ?? '')
  if (!api) return mattermostError(401, 'api.context.session_expired.app_error', 'Invalid or expired session.')
  if (api.isDown) throw new TypeError('Network connection lost.')
  api.calls.push(call)
  return answer(api, call)
})

function answer(api: MattermostAccount, { method, path, body }: ApiCall): Response {
  const route = `${method} ${path.replace('/api/v4/', '')}`
  switch (route) {
    case 'GET users/me':
      return Response.json({ id: api.own, username: 'talaria' })
    case 'GET users/me/teams':
      return Response.json([{ id: 'team1' }])
    case 'GET commands':
      return Response.json(api.commands)
    case 'POST commands': {
      const made = { ...body, id: 'cmd1', token: `command-${api.own}` }
      api.commands.push(made)
      return Response.json(made, { status: 201 })
    }
    case 'DELETE commands/cmd1':
      api.commands.length = 0
      return Response.json({ status: 'OK' })
    case 'POST users/me/typing':
      return Response.json({ status: 'OK' })
    case `GET channels/${mattermostDirect}`:
      return Response.json({ id: mattermostDirect, type: 'D' })
    case 'GET files/file1':
      return new Response(mattermostFile)
    case 'POST files':
      api.addFile(body['files'] as File)
      return Response.json({ file_infos: [{ id: 'f2' }] }, { status: 201 })
    case 'POST posts':
      return post(api, body)
    default:
      if (route.startsWith('DELETE posts/') && api.messages.delete(route.slice(13)))
        return Response.json({ status: 'OK' })
      return /^PUT posts\/.+\/patch$/.test(route)
        ? edit(api, path.split('/')[4] ?? '', body)
        : mattermostError(404, 'x', 'Not found')
  }
}

function post(
  api: MattermostAccount,
  { message, channel_id: chat, pending_post_id: pending, file_ids: files }: ApiCall['body'],
): Response {
  const text = String(message)
  if (chat !== mattermostDirect)
    return mattermostError(403, 'api.context.permissions.app_error', 'You do not have the appropriate permissions.')
  if (text.length > 16_383)
    return mattermostError(
      400,
      'model.post.is_valid.msg.app_error',
      'Post Message property is longer than the maximum permitted length.',
    )
  const known = api.pending.get(String(pending))
  if (known !== undefined) return Response.json({ id: known }, { status: 201 })
  return api.send(() => {
    const id = files ? 'file-post' : api.add(text)
    api.pending.set(String(pending), id)
    return Response.json({ id }, { status: 201 })
  })
}

function edit(api: MattermostAccount, id: string, { message }: ApiCall['body']): Response {
  if (!api.messages.has(id)) return mattermostError(404, 'app.post.get.app_error', 'Unable to get the post.')
  return api.send(() => Response.json({ id: api.add(String(message), id) }))
}
