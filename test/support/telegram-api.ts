/**
 * Simulates Telegram's Bot API at the address of TELEGRAM_API_BASE. It logs every call, answers like the real API, and
 * lets a test override the next answers. Each bot token has its own log.
 */

import { Gate, until } from './scripted-model.ts'

export type BotCall = {
  readonly method: string
  readonly body: {
    readonly chat_id?: number
    readonly message_thread_id?: number
    readonly message_id?: number
    readonly text?: string
    readonly entities?: readonly { readonly type: string; readonly offset: number; readonly length: number }[]
    readonly reply_parameters?: { readonly message_id: number }
    readonly reply_markup?: {
      readonly inline_keyboard: readonly (readonly { text: string; callback_data: string }[])[]
    }
    readonly [more: string]: unknown
  }
}

/** An answer that replaces the usual one. `lost`: the call is executed, then the connection breaks. `refused`: not executed. */
export type AnswerOverride =
  | { readonly status: number; readonly description?: string; readonly retryAfter?: number; readonly raw?: string }
  | 'lost'
  | 'refused'
  | Gate

export class TelegramApi {
  readonly token: string
  /** All calls, in order. */
  readonly calls: BotCall[] = []
  /** Current messages of the chat, by id. */
  readonly messages = new Map<number, string>()
  #next = 100
  #overrides: { readonly method: string; readonly what: AnswerOverride }[] = []

  constructor(token: string) {
    this.token = token
  }

  /** Overrides the answers of the next calls of this method. */
  overrideNext(method: string, ...what: readonly AnswerOverride[]): void {
    this.#overrides.push(...what.map((one) => ({ method, what: one })))
  }

  callsOf = (method: string) => this.calls.filter((call) => call.method === method)
  get sentTexts() {
    return this.callsOf('sendMessage').map(({ body }) => body.text ?? '')
  }
  /** Texts of the current messages. */
  get messageTexts() {
    return [...this.messages.values()]
  }
  waitForText = (text: string | RegExp) =>
    until(() => this.messageTexts.some((one) => (typeof text === 'string' ? one.includes(text) : text.test(one))))

  async answer(method: string, body: BotCall['body']): Promise<Response> {
    const at = this.#overrides.findIndex((one) => one.method === method)
    const [instead] = at < 0 ? [] : this.#overrides.splice(at, 1)
    const what = instead?.what
    if (what === 'refused') throw new TypeError('Network connection lost.')
    this.calls.push({ method, body })
    if (what instanceof Gate) await what.waitUntilOpen()
    else if (what && what !== 'lost') return refusal(what)
    const answer = this.#perform(method, body)
    if (what === 'lost') throw new TypeError('Network connection lost.')
    return answer
  }

  #perform(method: string, body: BotCall['body']): Response {
    if (method === 'getMe') return ok({ id: 4711, is_bot: true, username: 'TalariaBot' })
    if (method === 'sendMessage') {
      const id = ++this.#next
      this.messages.set(id, body.text ?? '')
      return ok({ message_id: id })
    }
    if (method !== 'editMessageText') return ok(true)
    const id = Number(body.message_id)
    if (!this.messages.has(id)) return refusal({ status: 400, description: 'Bad Request: message to edit not found' })
    if (this.messages.get(id) === body.text)
      return refusal({ status: 400, description: 'Bad Request: message is not modified' })
    this.messages.set(id, body.text ?? '')
    return ok({ message_id: id })
  }
}

const ok = (result: unknown) => Response.json({ ok: true, result })

function refusal({ status, description, retryAfter, raw }: Extract<AnswerOverride, { status: number }>): Response {
  if (raw !== undefined) return new Response(raw, { status })
  const parameters = retryAfter === undefined ? {} : { parameters: { retry_after: retryAfter } }
  return Response.json({ ok: false, error_code: status, description, ...parameters }, { status })
}

const bots = new Map<string, TelegramApi>()
let names = 0

/** Creates a bot with a token of its own. */
export function createTelegramApi(): TelegramApi {
  const api = new TelegramApi(`4711:token-${++names}`)
  bots.set(api.token, api)
  return api
}

const address = /^https:\/\/telegram\.test\/bot([^/]+)\/(\w+)$/
const outside = globalThis.fetch.bind(globalThis)

globalThis.fetch = (input: RequestInfo | URL, init?: RequestInit) => {
  const url = input instanceof Request ? input.url : String(input)
  const [, token, method] = address.exec(url) ?? []
  if (token === undefined || method === undefined) return outside(input, init)
  const bot = bots.get(token)
  if (!bot) return Promise.resolve(refusal({ status: 401, description: 'Unauthorized' }))
  return bot.answer(method, JSON.parse(String(init?.body ?? '{}')) as BotCall['body'])
}
