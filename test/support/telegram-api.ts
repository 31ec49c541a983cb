/**
 * Telegram's Bot API as a stand-in behind the address of TELEGRAM_API_BASE: it keeps a log, answers like the real one,
 * and does otherwise when a test says so. A bot's token decides whose log it is.
 */

import { Gate, until } from './scripted-model.ts'

export type Called = {
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

/** What a call gets instead of its usual answer. `lost`: taken, and the connection breaks. `refused`: breaks before. */
export type Instead =
  | { readonly status: number; readonly description?: string; readonly retryAfter?: number; readonly raw?: string }
  | 'lost'
  | 'refused'
  | Gate

export class TelegramApi {
  readonly token: string
  /** All calls, in order. */
  readonly calls: Called[] = []
  /** Messages as they stand in the chat, by their id. */
  readonly messages = new Map<number, string>()
  #next = 100
  #instead: { readonly method: string; readonly what: Instead }[] = []

  constructor(token: string) {
    this.token = token
  }

  /** The next call of this method is answered so. */
  next(method: string, ...what: readonly Instead[]): void {
    this.#instead.push(...what.map((one) => ({ method, what: one })))
  }

  of = (method: string) => this.calls.filter((call) => call.method === method)
  get sent() {
    return this.of('sendMessage').map(({ body }) => body.text ?? '')
  }
  /** What stands in the chat now. */
  get shown() {
    return [...this.messages.values()]
  }
  has = (text: string | RegExp) =>
    until(() => this.shown.some((one) => (typeof text === 'string' ? one.includes(text) : text.test(one))))

  async answer(method: string, body: Called['body']): Promise<Response> {
    const at = this.#instead.findIndex((one) => one.method === method)
    const [instead] = at < 0 ? [] : this.#instead.splice(at, 1)
    const what = instead?.what
    if (what === 'refused') throw new TypeError('Network connection lost.')
    this.calls.push({ method, body })
    if (what instanceof Gate) await what.opens()
    else if (what && what !== 'lost') return refusal(what)
    const answer = this.#take(method, body)
    if (what === 'lost') throw new TypeError('Network connection lost.')
    return answer
  }

  #take(method: string, body: Called['body']): Response {
    if (method === 'getMe') return taken({ id: 4711, is_bot: true, username: 'TalariaBot' })
    if (method === 'sendMessage') {
      const id = ++this.#next
      this.messages.set(id, body.text ?? '')
      return taken({ message_id: id })
    }
    if (method !== 'editMessageText') return taken(true)
    const id = Number(body.message_id)
    if (!this.messages.has(id)) return refusal({ status: 400, description: 'Bad Request: message to edit not found' })
    if (this.messages.get(id) === body.text)
      return refusal({ status: 400, description: 'Bad Request: message is not modified' })
    this.messages.set(id, body.text ?? '')
    return taken({ message_id: id })
  }
}

const taken = (result: unknown) => Response.json({ ok: true, result })

function refusal({ status, description, retryAfter, raw }: Extract<Instead, { status: number }>): Response {
  if (raw !== undefined) return new Response(raw, { status })
  const parameters = retryAfter === undefined ? {} : { parameters: { retry_after: retryAfter } }
  return Response.json({ ok: false, error_code: status, description, ...parameters }, { status })
}

const bots = new Map<string, TelegramApi>()
let names = 0

/** A bot of its own for each test. */
export function telegramApi(): TelegramApi {
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
  return bot.answer(method, JSON.parse(String(init?.body ?? '{}')) as Called['body'])
}
