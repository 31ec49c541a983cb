/**
 * Stands in for the HTTP API of a messaging platform: it records every call, holds the messages of the chats, and lets a
 * test override the next answers. Each host has one handler for all tests of an isolate.
 */

import { watchFileEnd } from './file-end.ts'

export type ApiCall = {
  readonly method: string
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: Headers
  /** JSON as an object, a form as its fields. */
  readonly body: Readonly<Record<string, unknown>>
  readonly bytes: Uint8Array
  readonly signal: AbortSignal
}

/** Answers instead of the API. `lost`: the call is executed, and the connection breaks. */
export type Override = (() => Response) | 'lost'

type Handler = (call: ApiCall) => Response | Promise<Response>

const hosts = new Map<string, Handler>()
const outside = globalThis.fetch.bind(globalThis)

export const serveHost = (host: string, handler: Handler): void => void hosts.set(host, handler)

globalThis.fetch = async (input: RequestInfo | URL, init?: RequestInit) => {
  const address = input instanceof Request ? input.url : String(input)
  const handler = URL.canParse(address) ? hosts.get(new URL(address).host) : undefined
  if (!handler) return outside(input, init)
  const request = input instanceof Request ? input : new Request(address, init)
  const url = new URL(request.url)
  const { method, headers, signal } = request
  const { body, bytes } = await readBody(request)
  return handler({ method, path: url.pathname, query: url.searchParams, headers, body, bytes, signal })
}

async function readBody(request: Request) {
  const type = request.headers.get('content-type') ?? ''
  if (type.startsWith('multipart/')) {
    const fields = Object.fromEntries((await request.formData()).entries())
    return { body: fields, bytes: new Uint8Array() }
  }
  const bytes = new Uint8Array(await request.arrayBuffer())
  const text = new TextDecoder().decode(bytes)
  if (type.includes('x-www-form-urlencoded')) return { body: Object.fromEntries(new URLSearchParams(text)), bytes }
  return { body: type.includes('json') && text ? (JSON.parse(text) as Record<string, unknown>) : {}, bytes }
}

/** Performs on a socket what the test asks for, because sockets belong to the object that has opened them. */
export async function performAsked(socket: WebSocket, asked: (() => void)[]): Promise<void> {
  const isOver = watchFileEnd()
  while (socket.readyState === WebSocket.OPEN && !isOver()) {
    for (const perform of asked.splice(0)) perform()
    await scheduler.wait(2)
  }
}

/** The messages of the chats of one account, and the calls that it made. */
export class FakeAccount {
  readonly calls: ApiCall[] = []
  readonly messages = new Map<string, string>()
  readonly files: { readonly name: string; readonly bytes: number }[] = []
  /** The API cannot be reached: every connection breaks. */
  isDown = false
  readonly #overrides: Override[] = []
  #last = 100

  /** Overrides the next calls that send or edit a message. */
  overrideNext(...overrides: readonly Override[]): void {
    this.#overrides.push(...overrides)
  }

  get texts(): readonly string[] {
    return [...this.messages.values()]
  }

  callsTo = (path: string | RegExp) =>
    this.calls.filter((call) => (typeof path === 'string' ? call.path.endsWith(path) : path.test(call.path)))

  add(text: string, id = String(++this.#last)): string {
    this.messages.set(id, text)
    return id
  }

  addFile(file: File): string {
    this.files.push({ name: file.name, bytes: file.size })
    return String(++this.#last)
  }

  /** Performs a call that sends, unless the test overrides it. */
  send(perform: () => Response): Response {
    const override = this.#overrides.shift()
    if (override && override !== 'lost') return override()
    const answer = perform()
    if (override === 'lost') throw new TypeError('Network connection lost.')
    return answer
  }
}
