/** Stands in for the Graph API of WhatsApp. Each access token has an account of its own. */

import { type ApiCall, FakeAccount, serveHost } from './json-api.ts'

const accounts = new Map<string, FakeAccount>()
export const whatsappFile = new TextEncoder().encode('a file of WhatsApp')

export function createWhatsappApi() {
  const token = `EAAtoken${accounts.size + 1}`
  const api = new FakeAccount()
  accounts.set(token, api)
  return { api, token }
}

export const graphError = (status: number, code: number, message: string) =>
  Response.json({ error: { message, type: 'OAuthException', code } }, { status })

serveHost('whatsapp.test', (call) => {
  const api = accounts.get(call.headers.get('authorization')?.replace('Bearer ', '') ?? '')
  if (!api) return graphError(401, 190, 'Invalid OAuth access token')
  api.calls.push(call)
  return answer(api, call)
})

function answer(api: FakeAccount, { path, body, method }: ApiCall): Response {
  switch (path.replace('/v23.0/', '')) {
    case 'PNID/messages':
      if (body['status'] !== undefined) return answerRead(body)
      return api.send(() => Response.json({ messaging_product: 'whatsapp', messages: [{ id: store(api, body) }] }))
    case 'PNID/media':
      return body['file'] instanceof File
        ? Response.json({ id: `media-${api.addFile(body['file'])}` })
        : graphError(400, 100, 'no file')
    case 'PNID':
      if (method === 'POST') return answerOverride(body)
      return Response.json({ display_phone_number: '+1 555-000-1111', verified_name: 'Talaria' })
    case 'file-1':
      return Response.json({
        url: 'https://whatsapp.test/download',
        mime_type: 'text/plain',
        file_size: whatsappFile.length,
      })
    case '/download':
      return new Response(whatsappFile)
    default:
      return graphError(method === 'GET' ? 404 : 400, 100, 'Unsupported request')
  }
}

/** Sets another address for the webhooks of the number, or takes it back. */
function answerOverride({ webhook_configuration: to }: ApiCall['body']) {
  const { override_callback_uri: url, verify_token: token } = (to ?? {}) as Readonly<Record<string, unknown>>
  const isLegal = url === '' || (typeof url === 'string' && url.length <= 200 && typeof token === 'string')
  return isLegal ? Response.json({ success: true }) : graphError(400, 100, 'Invalid parameter')
}

/** Marks a message as read, and shows typing. Meta accepts nothing else with a status. */
function answerRead({
  messaging_product: product,
  status,
  message_id: id,
  typing_indicator: typing,
  ...more
}: ApiCall['body']) {
  const isLegal =
    product === 'whatsapp' &&
    status === 'read' &&
    typeof id === 'string' &&
    id.startsWith('wamid.') &&
    JSON.stringify(typing) === '{"type":"text"}' &&
    Object.keys(more).length === 0
  return isLegal ? Response.json({ success: true }) : graphError(400, 100, 'Invalid parameter')
}

type Sent = { text?: { body: string }; interactive?: { body: { text: string } } }

const store = (api: FakeAccount, body: Sent) =>
  body.text || body.interactive ? api.add(body.text?.body ?? body.interactive?.body.text ?? '') : 'wamid.file'
