/**
 * A provider down to its bytes: connections that are refused or cut, frames that end in the middle of a character,
 * streams that never end. Like scripted-model.ts it stands behind OPENAI_BASE_URL and tells scripts apart by model name.
 */

import { type Asked, says } from '../../support/scripted-model.ts'

export const cut = Symbol('the connection is cut here')
export const silence = Symbol('nothing comes any more')
/** Sent again and again, for ever. */
export type Endless = { readonly again: string; readonly everyMs: number }
export type Piece = string | Uint8Array | Endless | typeof cut | typeof silence
export type Answer = (signal: AbortSignal | undefined) => Response | Promise<Response>

const json = { 'content-type': 'application/json' }
const events = { 'content-type': 'text/event-stream' }

export const status =
  (code: number, message: string, headers: () => Readonly<Record<string, string>> = () => ({})): Answer =>
  () =>
    new Response(JSON.stringify({ error: { message } }), { status: code, headers: { ...json, ...headers() } })

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

export const stream =
  (...pieces: readonly Piece[]): Answer =>
  (signal) =>
    new Response(bytesOf(pieces, signal), { headers: events })

/** One frame with these fields beside `choices`. */
export const frame = (choice: object, more: object = {}): string =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', choices: [{ index: 0, ...choice }], ...more })}\n\n`
export const text = (content: string, more: object = {}): string => frame({ delta: { content } }, more)
export const finish = (reason = 'stop'): string => frame({ delta: {}, finish_reason: reason })
export const usage = (fields: object): string => `data: ${JSON.stringify({ choices: [], usage: fields })}\n\n`
export const done = 'data: [DONE]\n\n'
/** A fragment of a call, its arguments exactly as written here. */
export const fragment = (index: number, id: string, name: string, args: string): string =>
  frame({ delta: { tool_calls: [{ index, id, type: 'function', function: { name, arguments: args } }] } })

export const answers = (...words: readonly string[]): Answer => stream(...(says(...words) as readonly string[]))

const scripts = new Map<string, { asked: number; readonly answer: (nth: number, asked: Asked) => Answer }>()
let names = 0

export type Provider = { readonly id: string; readonly asked: () => number }

export function provider(answer: (nth: number, asked: Asked) => Answer): Provider {
  const name = `chaos${++names}`
  const script = { asked: 0, answer }
  scripts.set(name, script)
  return { id: `openai/${name}`, asked: () => script.asked }
}

const behind = globalThis.fetch

/** As text or as bytes; what is a stream is none of ours. */
globalThis.fetch = async (input: RequestInfo | URL, init?: RequestInit) => {
  const { body } = init ?? {}
  const asked = typeof body === 'string' || body instanceof Uint8Array ? askedIn(await textOf(body)) : undefined
  const script = asked && scripts.get(asked.model)
  return script ? respond(script, asked, init?.signal ?? undefined) : behind(input, init)
}

const textOf = (body: string | Uint8Array) => new Response(body).text()

function askedIn(body: string): Asked | undefined {
  return body.startsWith('{"model":"chaos') ? (JSON.parse(body) as Asked) : undefined
}

type Script = { asked: number; readonly answer: (nth: number, asked: Asked) => Answer }

async function respond(script: Script, asked: Asked, signal: AbortSignal | undefined): Promise<Response> {
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
