/** Stands in for Slack's Web API and for its sockets. Each bot token has a workspace of its own. */

import { type ApiCall, FakeAccount, performAsked, serveHost } from './json-api.ts'

const accounts = new Map<string, SlackAccount>()
export const slackFile = new TextEncoder().encode('a file of Slack')

/** One socket of an app. */
export type SlackLink = {
  /** What the app has sent: acknowledgements. */
  readonly received: { readonly envelope_id: string; readonly payload?: unknown }[]
  readonly send: (frame: object) => void
  readonly close: () => void
  isClosed: boolean
}

class SlackAccount extends FakeAccount {
  /** All sockets, oldest first. */
  readonly links: SlackLink[] = []
  /** Answers the next request for the address of a socket. */
  socketFailure: (() => Response) | undefined
}

const appTokens = new Map<string, SlackAccount>()

export function createSlackApi() {
  const token = `xoxb-${accounts.size + 1}`
  const appToken = `xapp-${accounts.size + 1}`
  const api = new SlackAccount()
  accounts.set(token, api)
  appTokens.set(appToken, api)
  return { api, token, appToken }
}

function openConnection(appToken: string, api: SlackAccount): Response {
  const failure = api.socketFailure
  api.socketFailure = undefined
  return failure?.() ?? ok({ url: `wss://slack.test/link/?ticket=${appToken}` })
}

function openLink(api: SlackAccount): Response {
  const [client, server] = Object.values(new WebSocketPair())
  if (!client || !server) throw new Error('no sockets')
  const asked: (() => void)[] = []
  const link: SlackLink = {
    received: [],
    send: (frame) => void asked.push(() => server.send(JSON.stringify(frame))),
    close: () => void asked.push(() => server.close(1_000, 'closed by a test')),
    isClosed: false,
  }
  server.addEventListener('message', ({ data }) => void link.received.push(JSON.parse(String(data)) as never))
  server.addEventListener('close', () => void (link.isClosed = true))
  server.accept()
  void performAsked(server, asked)
  api.links.push(link)
  link.send({ type: 'hello', num_connections: 1 })
  return new Response(null, { status: 101, webSocket: client })
}

const ok = (fields: object = {}) => Response.json({ ok: true, ...fields })
export const slackError = (error: string) => Response.json({ ok: false, error })

serveHost('slack.test', (call) => {
  const token = call.headers.get('authorization')?.replace('Bearer ', '') ?? ''
  const app = appTokens.get(call.path === '/link/' ? (call.query.get('ticket') ?? '') : token)
  if (app) return call.path === '/link/' ? openLink(app) : openConnection(token, app)
  const api = accounts.get(token)
  if (call.path === '/response/p1') return new Response('ok')
  if (call.path.startsWith('/upload/')) return receiveUpload(call)
  if (!api) return slackError('invalid_auth')
  api.calls.push(call)
  return answer(api, call)
})

const uploads = new Map<string, { readonly api: FakeAccount; readonly name: string }>()

function receiveUpload({ path, bytes }: ApiCall): Response {
  const upload = uploads.get(path)
  upload?.api.files.push({ name: upload.name, bytes: bytes.length })
  return new Response('OK')
}

function answer(api: FakeAccount, { path, body }: ApiCall): Response {
  switch (path.replace('/api/', '')) {
    case 'auth.test':
      return ok({ user_id: 'UBOT', user: 'talaria' })
    case 'chat.postMessage':
      return api.send(() => ok({ ts: api.add(String(body['text'])), channel: body['channel'] }))
    case 'chat.update':
      return api.send(() => edit(api, String(body['ts']), String(body['text'])))
    case 'chat.delete':
      return api.messages.delete(String(body['ts'])) ? ok() : slackError('message_not_found')
    case 'conversations.info':
      return ['C11', 'D11'].includes(String(body['channel']))
        ? ok({ channel: { id: body['channel'] } })
        : slackError('channel_not_found')
    case 'files.getUploadURLExternal': {
      const upload = `/upload/${uploads.size + 1}`
      uploads.set(upload, { api, name: String(body['filename']) })
      return ok({ upload_url: `https://slack.test${upload}`, file_id: 'F9' })
    }
    case 'files/known':
      return new Response(slackFile)
    case 'files/unknown':
      return new Response(null, { status: 404 })
    default:
      return ok()
  }
}

function edit(api: FakeAccount, ts: string, text: string): Response {
  if (!api.messages.has(ts)) return slackError('message_not_found')
  return ok({ ts: api.add(text, ts) })
}
