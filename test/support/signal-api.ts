/** Stands in for signal-cli-rest-api behind a tunnel with a bearer token. Each token has an account of its own. */

import { type ApiCall, FakeAccount, serveHost } from './json-api.ts'

export const signalPerson = '+15550002222'
export const signalUuid = '0a1b2c3d-0000-4000-8000-000000000001'
export const signalFile = new TextEncoder().encode('a file of Signal')

const accounts = new Map<string, FakeAccount>()

export function createSignalApi() {
  const token = `tunnel-${accounts.size + 1}`
  const api = new FakeAccount()
  accounts.set(token, api)
  return { api, secrets: { number: '+15550001111', webhook_secret: `${'s'.repeat(20)}${accounts.size}`, token } }
}

export const signalError = (error: string, status = 400) => Response.json({ error }, { status })

serveHost('signal.test', (call) => {
  const api = accounts.get(call.headers.get('authorization')?.replace('Bearer ', '') ?? '')
  if (!api) return signalError('denied', 403)
  if (api.isDown) throw new TypeError('Network connection lost.')
  api.calls.push(call)
  return answer(api, call)
})

function answer(api: FakeAccount, { method, path, body }: ApiCall): Response {
  switch (`${method} ${decodeURIComponent(path)}`) {
    case 'GET /v1/about':
      return Response.json({ versions: ['v1', 'v2'], mode: 'json-rpc' })
    case 'GET /v1/attachments/file1':
      return new Response(signalFile)
    case 'PUT /v1/typing-indicator/+15550001111':
      return new Response(null, { status: 204 })
    case 'POST /v2/send':
      return send(api, body)
    default:
      return signalError('not found', 404)
  }
}

function send(api: FakeAccount, { message, base64_attachments: files }: ApiCall['body']): Response {
  const text = String(message)
  if (text.length > 8_000) return signalError('Message too long')
  return api.send(() => {
    for (const file of (files ?? []) as readonly string[]) {
      const [, name = '', data = ''] = /filename=([^;]*);base64,(.*)$/.exec(file) ?? []
      api.files.push({ name, bytes: atob(data).length })
    }
    return Response.json({ timestamp: files ? '1' : api.add(text) }, { status: 201 })
  })
}
