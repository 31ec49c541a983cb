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
  | {
      readonly status: number
      readonly description?: string
      readonly retryAfter?: number
      readonly movedTo?: number
      readonly raw?: string
    }
  | 'lost'
  | 'refused'
  | Gate

export class TelegramApi {
  readonly token: string
  /** All calls, in order. */
  readonly calls: BotCall[] = []
  /** Calls that concern the webhook. */
  readonly registrations: BotCall[] = []
  /** Current messages of the chat, by id. */
  readonly messages = new Map<number, string>()
  /** Files that people have sent, by their ids. */
  readonly files = new Map<string, Uint8Array>()
  /** Types of the known chats, by id. Without any, every chat is known. */
  readonly chats = new Map<number, string>()
  /** The owners of private chats, by the ids of their connections. */
  readonly businesses = new Map<string, object>()
  readonly sentFiles: { readonly name: string; readonly bytes: number }[] = []
  webhook: { readonly url?: string; readonly [more: string]: unknown } = {}
  /** As a proxy does that ends the wait for updates. */
  answersAtOnce = false
  /** Updates that nobody has confirmed. */
  updates: { readonly update_id: number; readonly [more: string]: unknown }[] = []
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

  readFile(id: string): Response {
    const bytes = this.files.get(id)
    return bytes ? new Response(bytes as Uint8Array<ArrayBuffer>) : notFound()
  }

  /** An upload is logged with its fields, and with the name and the size of its file. */
  answerUpload(method: string, form: FormData): Promise<Response> {
    const fields = [...form].map(([name, value]) => {
      if (!(value instanceof File)) return [name, value]
      this.sentFiles.push({ name: value.name, bytes: value.size })
      return [name, `${value.name} (${value.type}, ${value.size})`]
    })
    return this.answer(method, Object.fromEntries(fields) as BotCall['body'])
  }

  async answer(method: string, body: BotCall['body']): Promise<Response> {
    const at = this.#overrides.findIndex((one) => one.method === method)
    const [instead] = at < 0 ? [] : this.#overrides.splice(at, 1)
    const what = instead?.what
    if (what === 'refused') throw new TypeError('Network connection lost.')
    if (/Webhook|MyCommands/.test(method)) this.registrations.push({ method, body })
    else this.calls.push({ method, body })
    if (what instanceof Gate) await what.waitUntilOpen()
    else if (what && what !== 'lost') return refusal(what)
    // As the real one, it waits a while for messages.
    const isWaiting = method === 'getUpdates' && !this.webhook.url && !this.answersAtOnce
    if (isWaiting) await waitBriefly(() => this.updates.length > 0)
    const answer = this.#perform(method, body)
    if (what === 'lost') throw new TypeError('Network connection lost.')
    return answer
  }

  #perform(method: string, body: BotCall['body']): Response {
    if (method === 'getMe') return ok({ id: 4711, is_bot: true, username: 'TalariaBot' })
    if (/^send(Message|Photo|Voice|Audio|Video|Document)$/.test(method)) {
      const id = ++this.#next
      if (method === 'sendMessage') this.messages.set(id, body.text ?? '')
      return ok({ message_id: id })
    }
    if (method === 'editMessageText') return this.#edit(body)
    return this.#performOther(method, body)
  }

  #performOther(method: string, body: BotCall['body']): Response {
    switch (method) {
      case 'getFile':
        return this.files.has(String(body['file_id']))
          ? ok({ file_id: body['file_id'], file_path: `documents/${String(body['file_id'])}` })
          : refusal({ status: 400, description: 'Bad Request: wrong file_id or the file is temporarily unavailable' })
      case 'getBusinessConnection': {
        const business = this.businesses.get(String(body['business_connection_id']))
        return business
          ? ok(business)
          : refusal({ status: 400, description: 'Bad Request: business connection not found' })
      }
      case 'getChat': {
        const type = this.chats.size ? this.chats.get(Number(body.chat_id)) : 'private'
        return type
          ? ok({ id: body.chat_id, type })
          : refusal({ status: 400, description: 'Bad Request: chat not found' })
      }
      case 'setWebhook':
      case 'deleteWebhook':
        this.webhook = method === 'setWebhook' ? { ...body, url: String(body['url']) } : {}
        return ok(true)
      case 'deleteMessage':
        return this.messages.delete(Number(body.message_id))
          ? ok(true)
          : refusal({ status: 400, description: 'Bad Request: message to delete not found' })
      case 'getUpdates': {
        if (this.webhook.url) {
          const description = "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook first"
          return refusal({ status: 409, description })
        }
        const from = Number(body['offset'] ?? 0)
        this.updates = this.updates.filter(({ update_id: id }) => id >= from)
        return ok(this.updates.slice(0, 100))
      }
      case 'getWebhookInfo':
        return ok({ url: this.webhook.url ?? '' })
      default:
        return ok(true)
    }
  }

  #edit(body: BotCall['body']): Response {
    const id = Number(body.message_id)
    if (!this.messages.has(id)) return refusal({ status: 400, description: 'Bad Request: message to edit not found' })
    if (this.messages.get(id) === body.text)
      return refusal({ status: 400, description: 'Bad Request: message is not modified' })
    this.messages.set(id, body.text ?? '')
    return ok({ message_id: id })
  }
}

async function waitBriefly(isDone: () => boolean): Promise<void> {
  for (let n = 0; n < 20 && !isDone(); n++) await new Promise((resolve) => setTimeout(resolve, 10))
}

const notFound = () => new Response('{}', { status: 404 })
const ok = (result: unknown) => Response.json({ ok: true, result })

function refusal({
  status,
  description,
  retryAfter,
  movedTo,
  raw,
}: Extract<AnswerOverride, { status: number }>): Response {
  if (raw !== undefined) return new Response(raw, { status })
  const parameters =
    (retryAfter ?? movedTo) === undefined
      ? {}
      : { parameters: { retry_after: retryAfter, migrate_to_chat_id: movedTo } }
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
const fileAddress = /^https:\/\/telegram\.test\/file\/bot([^/]+)\/documents\/(.+)$/
const outside = globalThis.fetch.bind(globalThis)

globalThis.fetch = (input: RequestInfo | URL, init?: RequestInit) => {
  const url = input instanceof Request ? input.url : String(input)
  const [, owner, file] = fileAddress.exec(url) ?? []
  if (owner !== undefined && file !== undefined) return Promise.resolve(bots.get(owner)?.readFile(file) ?? notFound())
  const [, token, method] = address.exec(url) ?? []
  if (token === undefined || method === undefined) return outside(input, init)
  const bot = bots.get(token)
  if (!bot) return Promise.resolve(refusal({ status: 401, description: 'Unauthorized' }))
  if (init?.body instanceof FormData) return bot.answerUpload(method, init.body)
  return bot.answer(method, JSON.parse(String(init?.body ?? '{}')) as BotCall['body'])
}
