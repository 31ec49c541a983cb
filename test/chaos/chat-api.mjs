// Simulates the APIs of platforms in a separate server, which survives the kills. It keeps what each chat received.
import { createServer } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { acceptedAnswer } from '../../bench/chat-platforms.ts'

/** The chat and the texts of a call that sends, on each of the platforms. */
function readMessages(body) {
  const { chat_id: chat, text, to, replyToken, messages, recipient, message } = body
  if (chat !== undefined) return { chat, texts: [text] }
  if (messages) return { chat: to ?? replyToken.split(' ')[0], texts: messages.map((one) => one.text) }
  return { chat: recipient?.id, texts: [message?.text] }
}

/** `slowMs`: the time before a message is accepted. A request whose client has died by then is none. */
export async function startChatApi({ slowMs = 0 } = {}) {
  const received = new Map()
  /** Keys and tokens of LINE that a message has used. */
  const keys = new Set()
  let calls = 0
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    if (slowMs) await delay(slowMs)
    if (request.socket.destroyed) return
    const content = JSON.parse(body || '{}')
    const { chat, texts } = readMessages(content)
    const { replyToken } = content
    const key = request.headers['x-line-retry-key']
    // A message of LINE has a key, or the token of the answer, which is accepted once too.
    const once = key ?? replyToken
    const isNew = once === undefined || !keys.has(once)
    if (once !== undefined) keys.add(once)
    const shown = texts.filter((text) => typeof text === 'string')
    if (isNew && shown.length) received.set(String(chat), [...(received.get(String(chat)) ?? []), ...shown])
    response.writeHead(isNew ? 200 : key === undefined ? 400 : 409, { 'content-type': 'application/json' })
    response.end(JSON.stringify(isNew ? acceptedAnswer(++calls) : { message: 'Invalid reply token' }))
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    /** Texts of the accepted messages of a chat, in order. */
    sent: (chat) => received.get(chat) ?? [],
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections()
        server.close(resolve)
      }),
  }
}
