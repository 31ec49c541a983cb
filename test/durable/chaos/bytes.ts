/**
 * Simulates a provider byte by byte: refused and cut connections, frames that end inside a character, endless streams.
 * It replaces `fetch` for every address, and the `AI` binding (binding.ts). The model name selects the script.
 */

import type { ModelRequest } from '../../support/scripted-model.ts'

export const cut = Symbol('the connection is cut here')
export const silence = Symbol('nothing comes any more')
/** Sent again and again, for ever. */
export type Endless = { readonly again: string; readonly everyMs: number }
export type Piece = string | Uint8Array | Endless | typeof cut | typeof silence
export type Answer = (signal: AbortSignal | undefined) => Response | Promise<Response>

const json = { 'content-type': 'application/json' }

/** An error with a status, its body as the dialect has it. */
export const failing =
  (code: number, body: object, headers: () => Readonly<Record<string, string>> = () => ({})): Answer =>
  () =>
    new Response(JSON.stringify(body), { status: code, headers: { ...json, ...headers() } })

export const whole =
  (body: string, contentType: string, code = 200): Answer =>
  () =>
    new Response(body, { status: code, headers: { 'content-type': contentType } })

export const bare =
  (code: number, headers: Readonly<Record<string, string>> = {}): Answer =>
  () =>
    new Response(null, { status: code, headers })

/** The connection is not even there, or breaks before the headers. */
export const breaks =
  (message: string, cause?: Error): Answer =>
  () =>
    Promise.reject(new TypeError(message, { cause }))

export const streamOf =
  (contentType: string) =>
  (...pieces: readonly Piece[]): Answer =>
  (signal) =>
    new Response(bytesOf(pieces, signal), { headers: { 'content-type': contentType } })
/** Server-sent events. */
export const stream = streamOf('text/event-stream')

const scripts = new Map<string, { asked: number; readonly answer: (nth: number, asked: ModelRequest) => Answer }>()
let names = 0

export type Provider = { readonly id: string; readonly asked: () => number }

/** `by`: the provider of the table under whose name the model is asked for. */
export function provider(answer: (nth: number, asked: ModelRequest) => Answer, by = 'openai'): Provider {
  const name = `chaos${++names}`
  const script = { asked: 0, answer }
  scripts.set(name, script)
  return { id: `${by}/${name}`, asked: () => script.asked }
}

/** The answer of a model that is not asked by `fetch`. */
export function answerTo(name: string, asked: ModelRequest, signal?: AbortSignal): Promise<Response> {
  const script = scripts.get(name)
  return script ? respond(script, asked, signal) : Promise.reject(new Error(`Nobody plays ${name}.`))
}

const behind = globalThis.fetch
const isProvider = /\/(?:chat\/completions|responses|messages)(?:\?|$)|:streamGenerateContent/

/** The model stands in the body, or in the address. Of streams, only those to providers are read: others may be endless. */
globalThis.fetch = async (input: RequestInfo | URL, given?: RequestInit) => {
  const url = input instanceof Request ? input.url : String(input)
  const [copy, body] = given?.body instanceof ReadableStream && isProvider.test(url) ? given.body.tee() : []
  const init = body ? { ...given, body } : given
  const text = copy ? await new Response(copy).text() : await bodyOf(input, given?.body)
  const [, name = ''] = /"model":"(chaos\d+)"/.exec(text.slice(0, 1_000)) ?? /\/model\/(chaos\d+)\//.exec(url) ?? []
  const script = scripts.get(name)
  const signal = init?.signal ?? (input instanceof Request ? input.signal : undefined)
  return script ? respond(script, JSON.parse(text) as ModelRequest, signal) : behind(input, init)
}

function bodyOf(input: RequestInfo | URL, body: unknown): string | Promise<string> {
  if (typeof body === 'string') return body
  if (body instanceof Uint8Array) return new Response(body).text()
  return input instanceof Request && input.url.includes('/model/chaos') ? input.clone().text() : ''
}

type Script = { asked: number; readonly answer: (nth: number, asked: ModelRequest) => Answer }

async function respond(script: Script, asked: ModelRequest, signal: AbortSignal | undefined): Promise<Response> {
  await scheduler.wait(1)
  signal?.throwIfAborted()
  return script.answer(script.asked++, asked)(signal)
}

function bytesOf(pieces: readonly Piece[], signal: AbortSignal | undefined): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  let next = 0
  const gone = () => new DOMException('The operation was aborted.', 'AbortError')
  return new ReadableStream({
    start: (controller) =>
      signal?.addEventListener('abort', () => {
        controller.error(gone())
      }),
    async pull(controller) {
      const piece = pieces[next]
      if (typeof piece === 'object' && 'again' in piece) {
        await scheduler.wait(piece.everyMs)
        if (!signal?.aborted) controller.enqueue(encoder.encode(piece.again))
        return
      }
      next++
      if (piece === silence) return new Promise<void>((go) => signal?.addEventListener('abort', () => go()))
      if (piece === undefined) controller.close()
      else if (piece === cut) controller.error(new TypeError('Network connection lost.'))
      else controller.enqueue(typeof piece === 'string' ? encoder.encode(piece) : (piece as Uint8Array))
    },
  })
}
