import { describe, expect, it } from 'vitest'
import { openaiChat } from '#backends/dialects/openai.ts'
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
