/** Stands in for the Graph APIs of Messenger and Instagram. Each access token has an account of its own. */

import { type ApiCall, FakeAccount, serveHost } from './json-api.ts'
import { graphError } from './whatsapp-api.ts'

class MetaAccount extends FakeAccount {
  subscribed: string | undefined
}

const accounts = new Map<string, MetaAccount>()
export const metaFile = new TextEncoder().encode('a file of Meta')

/** The largest text: 2000 characters on Messenger, 1000 bytes on Instagram. */
const hosts = {
  'messenger.test': {
    id: '101580000000001',
    fields: { id: '101580000000001', name: 'Talaria' },
    size: (text: string) => text.length / 2,
  },
  'instagram.test': {
    id: '178414000000001',
    fields: { user_id: '178414000000001', username: 'talaria' },
    size: (text: string) => new TextEncoder().encode(text).length,
  },
} as const

export function createMetaApi() {
  const token = `EAAmeta${accounts.size + 1}`
  const api = new MetaAccount()
  accounts.set(token, api)
  return { api, token }
}

type Host = (typeof hosts)[keyof typeof hosts]

for (const [host, own] of Object.entries(hosts))
  serveHost(host, (call) => {
    if (call.path === '/file-1') return new Response(metaFile)
    if (call.path === '/file-2') return new Response(null, { status: 404 })
    const api = accounts.get(call.headers.get('authorization')?.replace('Bearer ', '') ?? '')
    if (!api) return graphError(401, 190, 'Invalid OAuth access token')
    if (api.isDown) throw new TypeError('Network connection lost.')
    api.calls.push(call)
    return answer(api, own, call)
  })

function answer(api: MetaAccount, own: Host, call: ApiCall): Response {
  switch (call.path.replace('/v23.0/', '')) {
    case 'me':
      return Response.json(own.fields)
    case 'me/messages':
      return call.body['sender_action'] === 'typing_on'
        ? Response.json({ recipient_id: '11' })
        : answerMessage(api, own, call.body)
    case `${own.id}/subscribed_apps`:
      api.subscribed = call.method === 'POST' ? (call.query.get('subscribed_fields') ?? '') : undefined
      return Response.json({ success: true })
    default:
      return graphError(400, 100, 'Unsupported request')
  }
}

type Message = { readonly text: string; readonly quick_replies?: readonly { readonly title: string }[] }

function answerMessage(api: MetaAccount, own: Host, { recipient, message }: ApiCall['body']): Response {
  const { text, quick_replies: buttons = [] } = message as Message
  if (!(recipient as { readonly id?: string }).id) return graphError(400, 100, 'No matching user found')
  if (own.size(text) > 1_000) return graphError(400, 100, 'Length of param message[text] must be less than or equal to')
  if (buttons.length > 13 || buttons.some(({ title }) => title.length > 20)) return graphError(400, 100, 'Invalid')
  return api.send(() => Response.json({ recipient_id: '11', message_id: `m_${api.add(text)}` }))
}
