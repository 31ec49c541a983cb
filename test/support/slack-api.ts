/** Stands in for Slack's Web API. Each bot token has a workspace of its own. */

import { type ApiCall, FakeAccount, serveHost } from './json-api.ts'

const accounts = new Map<string, FakeAccount>()
export const slackFile = new TextEncoder().encode('a file of Slack')

export function createSlackApi() {
  const token = `xoxb-${accounts.size + 1}`
  const api = new FakeAccount()
  accounts.set(token, api)
  return { api, token }
}

const ok = (fields: object = {}) => Response.json({ ok: true, ...fields })
export const slackError = (error: string) => Response.json({ ok: false, error })

serveHost('slack.test', (call) => {
  const api = accounts.get(call.headers.get('authorization')?.replace('Bearer ', '') ?? '')
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
