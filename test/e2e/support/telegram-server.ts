/** Stands in for Telegram on a local port: the methods of the Bot API that a chat needs, and a list of their calls. */

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export type BotCall = { readonly method: string; readonly body: Readonly<Record<string, unknown>> }

/** `GET /calls/TOKEN` lists the calls of a bot, because tests run in other processes than this server. */
export async function startTelegram() {
  const calls = new Map<string, BotCall[]>()
  const http = createServer((request, response) => void answer(request, response))

  async function answer(request: IncomingMessage, response: ServerResponse) {
    const [, listed] = /^\/calls\/(.+)$/.exec(request.url ?? '') ?? []
    const body = await readBody(request)
    const { status, ...result } = listed === undefined ? callBot(request.url ?? '', body) : listOf(listed)
    response.writeHead(status, { 'content-type': 'application/json' })
    response.end(JSON.stringify(result))
  }

  const listOf = (token: string) => ({ status: 200, data: calls.get(token) ?? [] })

  function callBot(url: string, body: BotCall['body']) {
    const [, token, method] = /^\/bot([^/]+)\/(\w+)$/.exec(url) ?? []
    if (token === undefined || method === undefined || !/^\d+:[\w-]{10,}$/.test(token))
      return { status: 401, ok: false, error_code: 401, description: 'Unauthorized' }
    const own = calls.get(token) ?? []
    calls.set(token, [...own, { method, body }])
    const fault = findFault(method, body)
    if (fault) return { status: 400, ok: false, error_code: 400, description: `Bad Request: ${fault}` }
    return { status: 200, ok: true, result: resultOf(method, own) }
  }

  function resultOf(method: string, before: readonly BotCall[]): unknown {
    if (method === 'getMe') return { id: 4711, is_bot: true, username: 'TalariaBot' }
    if (method === 'getWebhookInfo')
      return { url: before.findLast((call) => call.method === 'setWebhook')?.body['url'] ?? '' }
    return method === 'sendMessage' ? { message_id: 100 + before.length } : true
  }

  await new Promise<void>((ready) => http.listen(0, '127.0.0.1', ready))
  const { port } = http.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}`, close: () => void http.close() }
}

function findFault(method: string, { text, url, secret_token: secret }: BotCall['body']): string | undefined {
  if (/^(sendMessage|editMessageText)$/.test(method) && !(typeof text === 'string' && text && text.length <= 4_096))
    return 'message text is empty or too long'
  if (method === 'setWebhook' && !(typeof url === 'string' && /^[\w-]{1,256}$/.test(String(secret))))
    return 'secret token contains unallowed characters'
  return undefined
}

async function readBody(request: IncomingMessage): Promise<BotCall['body']> {
  let text = ''
  for await (const part of request) text += String(part)
  return text ? (JSON.parse(text) as BotCall['body']) : {}
}

/** The calls of a bot, oldest first. */
export async function callsOf(telegramUrl: string, token: string): Promise<readonly BotCall[]> {
  const answer = await fetch(`${telegramUrl}/calls/${token}`)
  return ((await answer.json()) as { data: readonly BotCall[] }).data
}
