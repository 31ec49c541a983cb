// Simulates Telegram's Bot API in a separate server, which survives the kills. Its log shows what each chat received.
import { createServer } from 'node:http'

export async function startTelegram() {
  const calls = []
  const messages = new Map()
  /** The reply to the next message of a chat: 'hold' (accepted, never answered) or another answer. */
  const instead = new Map()
  const held = []
  let next = 100
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request) text += chunk
    const method = request.url.split('/').at(-1)
    const body = JSON.parse(text || '{}')
    const chat = String(body.chat_id)
    const what = method === 'sendMessage' ? instead.get(chat)?.shift() : undefined
    const call = { method, chat, text: body.text, id: body.message_id, taken: false }
    calls.push(call)
    const answer = (status, value) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
    if (what && what !== 'hold') return answer(what.status, { ok: false, error_code: what.status, ...what.body })
    call.taken = true
    let result = true
    if (method === 'getMe') result = { id: 4711, is_bot: true, username: 'TalariaBot' }
    if (method === 'sendMessage') {
      call.id = ++next
      messages.set(call.id, { chat, text: body.text })
      result = { message_id: call.id }
    }
    if (method === 'editMessageText') {
      if (!messages.has(body.message_id))
        return answer(400, { ok: false, description: 'Bad Request: message to edit not found' })
      messages.set(body.message_id, { chat, text: body.text })
      result = { message_id: body.message_id }
    }
    if (what === 'hold') return void held.push(response)
    return answer(200, { ok: true, result })
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    calls,
    /** Texts of the accepted messages of a chat, in order. */
    sent: (chat) =>
      calls.filter((call) => call.method === 'sendMessage' && call.chat === chat && call.taken).map(({ text }) => text),
    edits: (chat) => calls.filter((call) => call.method === 'editMessageText' && call.chat === chat),
    /** Current texts of a chat. */
    shown: (chat) => [...messages.values()].filter((message) => message.chat === chat).map(({ text }) => text),
    meets: (chat, ...what) => instead.set(chat, what),
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections()
        server.close(resolve)
      }),
  }
}
