/**
 * An OpenAI-compatible model server for tests and benchmarks. It replies at once, as the directives of the last user
 * message (directive.ts) or a script determine, and records every request in a journal.
 */

import { Buffer } from 'node:buffer'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { send, sendJson } from './answer.ts'
import { compile, replyAt, type Program } from './directive.ts'
import { newJournal, now, type Entry } from './journal.ts'
import { parseFacts, readFacts, type RequestFacts } from './peek.ts'
import type { Reply, Script } from './reply.ts'
import { sendTranscription } from './transcription.ts'

export type { Entry } from './journal.ts'
export type { ScriptRequest as Asked, Call, Reply, Script } from './reply.ts'

export type ModelServer = {
  readonly url: string
  readonly port: number
  readonly journal: () => readonly Entry[]
  /** Clears journal, attempts and script. `bodies` turns the recording of bodies on. */
  readonly reset: (keep?: { readonly bodies?: boolean }) => void
  /** Called before the directives are parsed. Undefined leaves the reply to them. */
  readonly script: (script: Script | undefined) => void
  readonly close: () => Promise<void>
}

type State = {
  readonly journal: ReturnType<typeof newJournal>
  readonly programs: Map<string, Program>
  readonly attempts: Map<string, number>
  script: Script | undefined
  bodies: boolean
  count: number
}

const models = JSON.stringify({
  object: 'list',
  data: ['bench', 'bench-fallback'].map((id) => ({ id, object: 'model', created: 1750000000, owned_by: 'bench' })),
})
const mostPrograms = 2000

const programOf = (state: State, text: string): Program => {
  const known = state.programs.get(text)
  if (known) return known
  if (state.programs.size >= mostPrograms) state.programs.clear()
  const program = compile(text)
  state.programs.set(text, program)
  return program
}

/** Counts failures per key. After the given number, retries succeed. */
const replyOf = (state: State, program: Program, glance: RequestFacts): Reply => {
  const { trouble } = program
  if (trouble) {
    const attempt = state.attempts.get(trouble.key) ?? 0
    state.attempts.set(trouble.key, attempt + 1)
    if (attempt < trouble.times) return trouble.reply
  }
  return replyAt(program, glance.step, glance.tools)
}

const complete = (state: State, http: Http, arrived: number, bytes: Buffer): void => {
  const received = now()
  const whole = state.bodies || state.script !== undefined
  const body = whole ? (JSON.parse(bytes.toString('utf8')) as Record<string, unknown>) : undefined
  const glance = body ? parseFacts(body) : readFacts(bytes)
  const program = programOf(state, glance.text)
  const entry = state.journal.add({
    arrived,
    received,
    bytes: bytes.length,
    step: glance.step,
    tools: glance.tools,
    ...(program.nonce && { nonce: program.nonce }),
    ...(state.bodies && { body, headers: http.request.headers }),
  })
  const { headers } = http.request
  const scripted = body && state.script?.({ ...glance, bytes: bytes.length, body, headers })
  const id = String(++state.count).padStart(8, '0')
  http.response.on('close', () => {
    if (!http.response.writableEnded) entry.cut = true
    entry.ended ??= now()
  })
  const reply = scripted ?? replyOf(state, program, glance)
  send({ response: http.response, entry, id, stream: glance.stream, usage: glance.usage }, reply)
}

type Http = { readonly request: IncomingMessage; readonly response: ServerResponse }

const invalid = (response: ServerResponse, error: unknown): void =>
  sendJson(response, 400, JSON.stringify({ error: { message: String(error), type: 'invalid_request_error' } }))

const readBody = ({ request, response }: Http, done: (bytes: Buffer) => void): void => {
  const parts: Buffer[] = []
  request.on('data', (part) => parts.push(part))
  request.on('end', () => {
    try {
      done(Buffer.concat(parts))
    } catch (error) {
      invalid(response, error)
    }
  })
}

/** The model `forward-PORT` is the model server of one test file, which shares the server with others. */
const forwarded = /"model":"forward-(\d{2,5})/

async function forward({ response }: Http, bytes: Buffer, port: string): Promise<void> {
  const gone = new AbortController()
  response.on('close', () => gone.abort())
  const answer = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: bytes.toString('utf8'),
    signal: gone.signal,
  })
  response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? '' })
  for await (const part of answer.body ?? []) response.write(part)
  response.end()
}

const route = (state: State, http: Http, reset: ModelServer['reset']): void => {
  const arrived = now()
  const { pathname, searchParams } = new URL(http.request.url ?? '/', 'http://local')
  const key = `${http.request.method} ${pathname}`
  if (key === 'POST /v1/chat/completions')
    readBody(http, (bytes) => {
      const [, port] = forwarded.exec(bytes.toString('latin1', 0, 4_000)) ?? []
      if (port === undefined || String(http.request.headers.host).endsWith(`:${port}`))
        complete(state, http, arrived, bytes)
      else forward(http, bytes, port).catch((error: unknown) => invalid(http.response, error))
    })
  else if (key === 'POST /v1/audio/transcriptions') readBody(http, (bytes) => sendTranscription(http, bytes))
  else if (key === 'GET /v1/models') sendJson(http.response, 200, models)
  else if (key === 'GET /__journal') sendJson(http.response, 200, JSON.stringify({ data: state.journal.entries() }))
  else if (key === 'POST /__reset') {
    reset({ bodies: searchParams.get('bodies') === '1' })
    sendJson(http.response, 200, '{}')
  } else
    sendJson(http.response, 404, JSON.stringify({ error: { message: `no route ${key}`, type: 'not_found_error' } }))
}

export const startModelServer = async (options: { readonly port?: number } = {}): Promise<ModelServer> => {
  const state: State = {
    journal: newJournal(),
    programs: new Map(),
    attempts: new Map(),
    script: undefined,
    bodies: false,
    count: 0,
  }
  const reset: ModelServer['reset'] = (keep) => {
    state.journal.clear()
    state.attempts.clear()
    state.script = undefined
    state.bodies = keep?.bodies ?? false
  }
  const server = createServer((request, response) => route(state, { request, response }, reset))
  // A kept-alive connection must not close just when the client reuses it.
  server.keepAliveTimeout = 600_000
  await new Promise<void>((resolve, reject) => {
    server.on('error', reject)
    server.listen(options.port ?? 0, '127.0.0.1', resolve)
  })
  const { port } = server.address() as { readonly port: number }
  return {
    url: `http://127.0.0.1:${port}/v1`,
    port,
    journal: state.journal.entries,
    reset,
    script: (script) => {
      state.script = script
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
