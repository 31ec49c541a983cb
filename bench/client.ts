/** Sends turns over HTTP and times them. Bytes are scanned and not parsed, so that the client adds little time. */

import { Agent, request } from 'node:http'

/** A server with a chat completions route. */
export type Target = {
  readonly name: string
  readonly origin: string
  /** Path prefix of `/v1/chat/completions`. */
  readonly prefix: string
  readonly key?: string
}

export type Message = { readonly role: 'system' | 'user' | 'assistant'; readonly content: string }

export type Turn = {
  /** Milliseconds from sending to the first content, and to the end. */
  readonly ttft: number
  readonly total: number
  readonly session: string
}

export type TurnInput = { readonly messages: readonly Message[]; readonly session?: string }

/** Closes a connection before the server does, 15 s after its last request: a request at that moment would fail. */
export const createAgent = (): Agent => new Agent({ keepAlive: true, maxSockets: Infinity, timeout: 3_000 })

const agent = createAgent()
// Escaped quotes cannot match, and neither can the empty content of a role delta.
const content = /"content":"[^"]/

export class TurnFailed extends Error {}

type Answer = { readonly status: number; readonly text: string }

/** Sends a JSON request that is not timed. */
export const call = (target: Target, method: string, path: string, body?: unknown): Promise<Answer> =>
  new Promise((resolve, reject) => {
    const headers: Record<string, string> = { 'content-type': 'application/json' }
    if (target.key) headers['authorization'] = `Bearer ${target.key}`
    const sent = request(`${target.origin}${path}`, { method, agent, headers }, (response) => {
      let text = ''
      response.setEncoding('utf8')
      response.on('data', (part: string) => (text += part))
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text }))
    })
    sent.on('error', reject)
    sent.end(body === undefined ? undefined : JSON.stringify(body))
  })

export const json = async <T>(target: Target, method: string, path: string, body?: unknown): Promise<T> => {
  const answer = await call(target, method, path, body)
  if (answer.status >= 300) throw new TurnFailed(`${method} ${path}: ${answer.status} ${answer.text.slice(0, 300)}`)
  return JSON.parse(answer.text) as T
}

export const timedGet = async (target: Target, path: string): Promise<number> => {
  const began = performance.now()
  const answer = await call(target, 'GET', path)
  const took = performance.now() - began
  if (answer.status !== 200) throw new TurnFailed(`GET ${path}: ${answer.status} ${answer.text.slice(0, 300)}`)
  return took
}

const headersFor = (target: Target, session: string | undefined): Record<string, string> => ({
  'content-type': 'application/json',
  ...(target.key && { authorization: `Bearer ${target.key}` }),
  ...(session && { 'x-talaria-session-id': session }),
})

export const turn = (target: Target, input: TurnInput): Promise<Turn> =>
  new Promise((resolve, reject) => {
    const body = JSON.stringify({ model: 'talaria', stream: true, messages: input.messages })
    const path = `${target.prefix}/v1/chat/completions`
    const began = performance.now()
    const fail = (why: string): void => reject(new TurnFailed(`${target.name}: ${why}`))
    const options = { method: 'POST', agent, headers: headersFor(target, input.session) }
    const sent = request(`${target.origin}${path}`, options, (response) => {
      let ttft = 0
      let tail = ''
      response.setEncoding('latin1')
      response.on('data', (part: string) => {
        // The network may split the pattern, so the end of the previous part is scanned again.
        tail = (tail + part).slice(-Math.max(part.length + 200, 2000))
        if (!ttft && content.test(tail)) ttft = performance.now() - began
      })
      response.on('end', () => {
        const total = performance.now() - began
        if (response.statusCode !== 200) return fail(`${response.statusCode} ${tail.slice(0, 300)}`)
        if (!ttft || !tail.includes('"finish_reason":"stop"'))
          return fail(`not answered to the end: ${tail.slice(-300)}`)
        const session = response.headers['x-talaria-session-id']
        resolve({ ttft, total, session: typeof session === 'string' ? session : '' })
      })
      response.on('error', (error) => fail(error.message))
    })
    sent.on('error', (error) => fail(error.message))
    sent.end(body)
  })

export const sendMessage = (target: Target, text: string, session?: string): Promise<Turn> =>
  turn(target, { messages: [{ role: 'user', content: text }], ...(session && { session }) })
