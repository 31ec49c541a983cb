/**
 * Replaces the provider with scripted replies. It intercepts `fetch` for the address of OPENAI_BASE_URL and answers with
 * the bytes of server-sent events, so that the SDK and everything behind it are real. Each script has its own model name.
 */

import { atFileEnd, watchFileEnd } from './file-end.ts'

export type ChatMessage = {
  readonly role: string
  readonly content?: unknown
  readonly tool_call_id?: string
  readonly tool_calls?: readonly { readonly id: string; readonly function: { name: string; arguments: string } }[]
}
/** A request as the provider received it. */
export type ModelRequest = {
  readonly model: string
  readonly messages: readonly ChatMessage[]
  readonly tools?: readonly { readonly function: { readonly name: string } }[]
  readonly [more: string]: unknown
}

/** A part of a reply: bytes, a lost connection, or a pause until a gate opens. */
export type ReplyPart = string | Gate | 'drop'
export type Reply =
  | readonly ReplyPart[]
  | { readonly status: number; readonly headers?: HeadersInit; readonly body: string }
export type Script = (asked: ModelRequest, nth: number) => Reply

const longestPauseMs = 100
const longestGatePauseMs = 10
/** Of a gate that its file has left closed. */
const forgottenGatePauseMs = 2_000
/** Some tests with it run in Node, which has no `scheduler`. */
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

/**
 * Polls until the value is truthy, ever less often: a look may be a request. Twenty seconds are enough on a busy machine.
 */
export async function until<T>(look: () => T | Promise<T>, timeoutMs = 20_000): Promise<NonNullable<T>> {
  const end = Date.now() + timeoutMs
  for (let pauseMs = 2; ; pauseMs = Math.min(pauseMs * 1.5, longestPauseMs)) {
    const seen = await Promise.resolve()
      .then(look)
      .then(
        (value) => ({ value }),
        (error: unknown) => ({ error }),
      )
    if ('value' in seen && seen.value) return seen.value
    if (Date.now() > end)
      throw 'error' in seen ? seen.error : new Error(`Still ${String(seen.value)}: ${look.toString()}`)
    await pause(pauseMs)
  }
}

/** Pauses a stream until the test opens it. Polled, because test and stream run in different I/O contexts. */
export class Gate {
  readonly at = 'gate'
  isReached = false
  isOpen = false
  open = () => void (this.isOpen = true)
  waitUntilReached = () => until(() => this.isReached)
  async waitUntilOpen(signal?: AbortSignal): Promise<void> {
    this.isReached = true
    const isOver = watchFileEnd()
    let pauseMs = 2
    while (!this.isOpen) {
      if (signal?.aborted) return
      await scheduler.wait(isOver() ? forgottenGatePauseMs : pauseMs)
      pauseMs = Math.min(pauseMs + 1, longestGatePauseMs)
    }
  }
}

const frame = (choice: object) =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', choices: [{ index: 0, ...choice }] })}\n\n`
const delta = (fields: object) => frame({ delta: fields })
const finish = (reason: string) => frame({ delta: {}, finish_reason: reason })
const usage = `data: ${JSON.stringify({
  choices: [],
  usage: { prompt_tokens: 100, completion_tokens: 10, prompt_tokens_details: { cached_tokens: 40 } },
})}\n\n`
const done = 'data: [DONE]\n\n'

/** Usage of each reply, in the fields of the public API. */
export const usageOfOne = { input: 60, output: 10, cached_read: 40, cached_write: 0, reasoning: 0 }

export const createTextParts = (...parts: readonly (string | Gate)[]): readonly ReplyPart[] => pieces(parts)
const pieces = (parts: readonly ReplyPart[]) =>
  parts.map((part) => (typeof part !== 'string' || part === 'drop' ? part : delta({ content: part })))

/** Replies with text, one chunk per part. The stream waits at a gate between parts. */
export const says = (...parts: readonly (string | Gate)[]): Reply => [...pieces(parts), finish('stop'), usage, done]
/** Replies like `says`, with reasoning first. */
export const thinks = (thought: string, ...parts: readonly (string | Gate)[]): Reply => [
  delta({ reasoning_content: thought }),
  ...(says(...parts) as readonly ReplyPart[]),
]

export type ScriptedCall = { readonly id?: string; readonly name: string; readonly input: unknown }

let callIds = 0
export const calls = (...asked: readonly ScriptedCall[]): Reply => [
  ...asked.map(({ id = `call_${++callIds}`, name, input }, index) =>
    delta({ tool_calls: [{ index, id, type: 'function', function: { name, arguments: JSON.stringify(input) } }] }),
  ),
  finish('tool_calls'),
  usage,
  done,
]
/** Replies with these parts and then loses the connection. */
export const drops = (...parts: readonly (string | Gate)[]): Reply => [...pieces(parts), 'drop']
/** Sends nothing until the gate opens, then replies `released`. */
export const hangs = (gate: Gate): Reply => [gate, ...(says('released') as readonly ReplyPart[])]
export const fails = (status: number, message: string, headers: HeadersInit = {}): Reply => ({
  status,
  headers: { 'content-type': 'application/json', ...headers },
  body: JSON.stringify({ error: { message } }),
})

type Played = { readonly asked: ModelRequest[]; readonly bodies: string[]; readonly script: Script; count: number }
const scripts = new Map<string, Played>()
let names = 0

/** Requests hold whole prompts, so that those of all files would fill the memory. */
atFileEnd(() => {
  for (const { asked, bodies } of scripts.values()) asked.length = bodies.length = 0
})

export type Model = {
  /** `provider/model`, for the session or the request. */
  readonly id: string
  /** Every request, in order. */
  readonly requests: readonly ModelRequest[]
  /** The unparsed request bodies. */
  readonly requestTexts: readonly string[]
}

/** Registers a script. A list is replied in order, and after its end every reply is `ok`. */
export function model(script: Script | readonly Reply[], name = `m${++names}`): Model {
  const asked: ModelRequest[] = []
  const bodies: string[] = []
  const answer: Script = typeof script === 'function' ? script : (_asked, nth) => script[nth] ?? says('ok')
  scripts.set(name, { asked, bodies, script: answer, count: 0 })
  return { id: `openai/${name}`, requests: asked, requestTexts: bodies }
}

/** Lists the messages of a request as `role: text`, without the system prompt. */
export const listTexts = ({ messages }: ModelRequest): readonly string[] =>
  messages
    .filter(({ role }) => role !== 'system')
    .map(({ role, content, tool_calls: toolCalls }) =>
      toolCalls
        ? `${role}: → ${toolCalls.map((call) => call.function.name).join(', ')}`
        : `${role}: ${textOf(content)}`,
    )

const textOf = (content: unknown) => (typeof content === 'string' ? content : JSON.stringify(content))

const base = 'https://model.test/v1'
const embeddings = {
  object: 'list',
  data: [{ object: 'embedding', index: 0, embedding: [0.5, -0.5] }],
  usage: { prompt_tokens: 1, total_tokens: 1 },
}
const outside = globalThis.fetch.bind(globalThis)

globalThis.fetch = (input: RequestInfo | URL, init?: RequestInit) => {
  const url = input instanceof Request ? input.url : String(input)
  if (url === `${base}/embeddings`) return Promise.resolve(Response.json(embeddings))
  return url === `${base}/chat/completions` ? respond(input, init) : outside(input, init)
}

async function respond(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
  const request = new Request(input as RequestInfo, { ...init, signal: null })
  const signal = init?.signal ?? undefined
  if (signal?.aborted) throw aborted()
  const text = await request.text()
  const body = JSON.parse(text) as ModelRequest
  const known = scripts.get(body.model)
  const nth = known ? known.count++ : 0
  known?.asked.push(body)
  known?.bodies.push(text)
  const reply = known ? known.script(body, nth) : says(`you said: ${textOf(body.messages.at(-1)?.content)}`)
  if ('status' in reply) return new Response(reply.body, { status: reply.status, headers: reply.headers ?? {} })
  return new Response(streamOf(reply, signal), { headers: { 'content-type': 'text/event-stream' } })
}

const aborted = () => new DOMException('The operation was aborted.', 'AbortError')

function streamOf(reply: readonly ReplyPart[], signal: AbortSignal | undefined): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  let next = 0
  return new ReadableStream({
    start: (controller) => signal?.addEventListener('abort', () => controller.error(aborted())),
    async pull(controller) {
      const piece = reply[next++]
      if (piece instanceof Gate) {
        await piece.waitUntilOpen(signal)
        if (!signal?.aborted) controller.enqueue(encoder.encode(': on\n\n'))
      } else if (piece === undefined) controller.close()
      else if (piece === 'drop') controller.error(new TypeError('The connection was lost.'))
      else controller.enqueue(encoder.encode(piece))
    },
  })
}
