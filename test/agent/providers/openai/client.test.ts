import { describe, expect, it } from 'vitest'
import { getClient, openaiChat } from '#backends/dialects/openai.ts'
import { sendOption } from '#agent/providers/shared/send-option.ts'
import { toFailure } from '../support/conformance.ts'
import { exchangeOverHttp } from '../support/exchange.ts'
import { requests } from '../support/requests.ts'

const send = exchangeOverHttp(openaiChat)
const overflowText = 'The maximum context length is 8192 tokens'

it('truncates a very long error body', async () => {
  const { error } = await send(requests['a greeting'].request, { body: 'x'.repeat(9_000_000), status: 500 })
  expect((error as Error).message).toHaveLength('500 '.length + 8_000_000)
})

describe('an error with a status is classified for every body format', () => {
  it.each<readonly [string, string, number, object]>([
    [
      'OpenAI',
      JSON.stringify({ error: { message: overflowText } }),
      400,
      { kind: 'too-long', message: `400 ${overflowText}` },
    ],
    ['vLLM', JSON.stringify({ object: 'error', message: overflowText, code: 400 }), 400, { kind: 'too-long' }],
    ['FastAPI', JSON.stringify({ detail: overflowText }), 400, { kind: 'too-long' }],
    [
      'a list, as Google sends it',
      JSON.stringify([{ error: { code: 429, message: 'Too many', details: [{ retryDelay: '30s' }] } }]),
      429,
      { kind: 'rate', retryAfterMs: 30_000 },
    ],
    ['plain text', overflowText, 400, { kind: 'too-long', message: `400 ${overflowText}` }],
    ['an empty body', '', 401, { kind: 'auth' }],
  ])('%s', async (_name, body, status, expected) => {
    const { error } = await send(requests['a greeting'].request, { body, status })
    expect(toFailure(error)).toMatchObject(expected)
  })
})

describe('a streamed call', () => {
  const endpoint = { id: 'k', baseUrl: 'https://api.test/v1', key: 'key-1', headers: { 'x-title': 'Talaria' } }
  const body = new TextEncoder().encode('{"stream":true}')

  /** Sends two calls, and returns what the second one is. */
  async function record(call: (send: (request: Request) => Promise<Response>) => Promise<unknown>) {
    const sent: Request[] = []
    const send = async (request: Request) => (sent.push(request), new Response(''))
    await call(send)
    await call(send)
    const { url, method, redirect, headers } = sent[1] as Request
    return { url, method, redirect, headers: [...headers], text: await sent[1]?.text() }
  }

  it('is the request that the SDK sends', async () => {
    const { signal } = new AbortController()
    const headers = { 'content-type': 'application/json', accept: 'text/event-stream' }
    const ofSdk = await record((send) =>
      getClient(endpoint)
        .post('/chat/completions', { ...sendOption(send), body, headers, stream: true, signal })
        .asResponse(),
    )
    const ours = await record((send) => getClient(endpoint).openStream('/chat/completions', { body, signal, send }))
    expect(ours).toEqual(ofSdk)
    expect(ours.headers).toContainEqual(['authorization', 'Bearer key-1'])
  })

  it('fails as a call of the SDK when there is no connection', async () => {
    const cause = new TypeError('fetch failed')
    const send = () => Promise.reject(cause)
    const { signal } = new AbortController()
    const error = await getClient(endpoint)
      .openStream('/chat/completions', { body, signal, send })
      .catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ message: 'Connection error.', cause })
    expect(toFailure(error)).toMatchObject({ kind: 'network' })
  })
})
