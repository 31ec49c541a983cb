/** Stands in for the API of Formpost. Each access token has an API of its own, with a list of the messages in its chats. */

import { until } from '../../support/scripted-model.ts'
import { formpost, signatureOf } from './formpost.ts'

type Sent = {
  readonly key: string
  readonly chat: string
  readonly text: string
  readonly editedMessageId?: string
  readonly buttons?: readonly (readonly { readonly label: string; readonly data: string }[])[]
}

/** `lost`: the message is stored, and the connection breaks. */
export type FormpostFailure = { readonly status: number; readonly retryAfter?: number } | 'lost'

export class FormpostApi {
  readonly secrets: { readonly access_token: string; readonly signing_secret: string; readonly verify_token: string }
  /** Every request to send or edit a message. */
  readonly requests: Sent[] = []
  readonly pressAnswers: string[] = []
  readonly #messages = new Map<string, { readonly key: string; text: string }>()
  readonly #failures: FormpostFailure[] = []

  constructor() {
    const n = apis.size
    this.secrets = { access_token: `token-${n}`, signing_secret: `signing-${n}`, verify_token: `verify-${n}` }
    apis.set(this.secrets.access_token, this)
  }

  /** Fails the next requests to send or edit a message. */
  failNext(...failures: readonly FormpostFailure[]): void {
    this.#failures.push(...failures)
  }

  get texts(): readonly string[] {
    return [...this.#messages.values()].map(({ text }) => text)
  }

  waitFor = (text: string) => until(() => this.texts.some((each) => each.includes(text)))

  async answer(method: string, body: string): Promise<Response> {
    const failure = method === 'messages' ? this.#failures.shift() : undefined
    if (failure && failure !== 'lost') {
      const headers = { 'retry-after': String(failure.retryAfter ?? 0) }
      return new Response(null, { status: failure.status, headers })
    }
    const response = this.#perform(method, body)
    if (failure === 'lost') throw new TypeError('Network connection lost.')
    return response
  }

  #perform(method: string, body: string): Response {
    if (method === 'account') return Response.json({ id: '4712' })
    if (method === 'presses') this.pressAnswers.push((JSON.parse(body) as { text: string }).text)
    return method === 'messages' ? this.#store(JSON.parse(body) as Sent) : Response.json({})
  }

  #store(sent: Sent): Response {
    this.requests.push(sent)
    const { key, text, editedMessageId } = sent
    const edited = editedMessageId === undefined ? undefined : this.#messages.get(editedMessageId)
    if (edited) edited.text = text
    if (editedMessageId !== undefined) return edited ? Response.json({ id: editedMessageId }) : gone()
    const [existing] = [...this.#messages].find(([, message]) => message.key === key) ?? []
    const id = existing ?? `m${this.#messages.size + 1}`
    if (existing === undefined) this.#messages.set(id, { key, text })
    return Response.json({ id })
  }
}

const gone = () => new Response(null, { status: 410 })
const apis = new Map<string, FormpostApi>()
const platformFetch = globalThis.fetch.bind(globalThis)

globalThis.fetch = (input: RequestInfo | URL, init?: RequestInit) => {
  const url = input instanceof Request ? input.url : String(input)
  if (!url.startsWith(`${formpost.apiBase.url}/`)) return platformFetch(input, init)
  const token = new Headers(init?.headers).get('authorization')?.replace('Bearer ', '') ?? ''
  const api = apis.get(token)
  return Promise.resolve(
    api?.answer(url.split('/').at(-1) ?? '', String(init?.body)) ?? new Response(null, { status: 401 }),
  )
}

/** Builds the body of a request: one form field for each event. */
export const formOf = (...events: readonly Readonly<Record<string, string>>[]): string =>
  new URLSearchParams(events.map((event) => ['event', new URLSearchParams(event).toString()])).toString()

/** Signs a body as Formpost does. */
export async function signedHeaders(secret: string, body: Uint8Array, at: number): Promise<Record<string, string>> {
  const timestamp = String(Math.floor(at / 1_000))
  return {
    'content-type': 'application/x-www-form-urlencoded',
    'x-formpost-timestamp': timestamp,
    'x-formpost-signature': await signatureOf(secret, timestamp, body),
  }
}
