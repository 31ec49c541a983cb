/** Records what an unmodified client sends and gets, and prepares one call of its own tool. */

import { expect } from 'vitest'
import { owner, server } from './here.ts'

export const baseURL = `${server.url}/v1`
export const apiKey = server.key

export type Exchange = {
  readonly path: string
  readonly body: Record<string, unknown>
  readonly status: number
  readonly session: string | null
}

/** A fetch for clients that take one. It changes nothing. */
export function recordedFetch() {
  const exchanges: Exchange[] = []
  const record = async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const response = await fetch(input, init)
    const url = input instanceof Request ? input.url : String(input)
    const body = typeof init?.body === 'string' ? JSON.parse(init.body) : {}
    const session = response.headers.get('x-talaria-session-id')
    exchanges.push({ path: new URL(url).pathname, body, status: response.status, session })
    return response
  }
  return { exchanges, fetch: record as typeof fetch }
}

export const weather = {
  name: 'get_weather',
  description: 'Says what the weather is like in a city.',
  /** The model calls the tool for two cities one after the other, then answers. */
  prompt: 'Weather? [[call get_weather {"city":"Bonn"} then get_weather {"city":"Rome"} then say sunny in both]]',
  of: (city: string): string => `sunny in ${city}`,
}

/** These requests reached one session, which holds these results of the client's tool in this order. */
export async function expectResults(exchanges: readonly Exchange[], results: readonly string[]): Promise<void> {
  const sessions = new Set(exchanges.map(({ session }) => session))
  expect([...sessions]).toEqual([expect.any(String)])
  const messages = await owner.messages([...sessions][0] ?? '')
  const got = messages.flatMap(({ role, content }) => (role === 'tool' ? [content] : []))
  expect(got).toEqual(results)
}

/** Aborts after eight parts. Some clients end their stream then, some throw. */
export async function readSome(stream: AsyncIterable<unknown>, controller: AbortController): Promise<void> {
  let parts = 0
  try {
    for await (const part of stream) if (part !== undefined && ++parts === 8) controller.abort()
  } catch (error) {
    if (!controller.signal.aborted) throw error
  }
  expect(parts).toBeGreaterThanOrEqual(8)
}

/** Goes on until the model has been cut off, and says how much of its answer the session kept. */
export const endOfRun = async (session: string): Promise<string> => {
  for (;;) {
    const { json } = await owner.get(`/api/sessions/${session}`)
    if (json.status === 'idle') return String((await owner.messages(session)).at(-1)?.content)
    await new Promise((resolve) => setTimeout(resolve, 30))
  }
}
