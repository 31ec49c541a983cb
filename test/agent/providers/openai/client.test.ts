import { describe, expect, it } from 'vitest'
import { classifyError } from '../../../../src/agent/providers/errors/classify-error.ts'
import { openaiChat } from '../../../../src/agent/providers/openai/chat.ts'
import { exchangeOverHttp } from '../support/exchange.ts'
import { requests } from '../support/requests.ts'

const ask = exchangeOverHttp(openaiChat)
const around = {
  promptTokens: 1_000,
  contextWindow: 200_000,
  messages: 3,
  reasoning: false,
  aggregator: false,
  stalled: false,
  now: 0,
}
const full = 'The maximum context length is 8192 tokens'

it('an error that does not end is read up to a length', async () => {
  const { error } = await ask(requests['a greeting'].request, { body: 'x'.repeat(9_000_000), status: 500 })
  expect((error as Error).message).toHaveLength('500 '.length + 8_000_000)
})

describe('an error with a status is read whatever its body looks like', () => {
  it.each<readonly [string, string, number, object]>([
    ['as usual', JSON.stringify({ error: { message: full } }), 400, { kind: 'too-long', message: `400 ${full}` }],
    ['vLLM', JSON.stringify({ object: 'error', message: full, code: 400 }), 400, { kind: 'too-long' }],
    ['FastAPI', JSON.stringify({ detail: full }), 400, { kind: 'too-long' }],
    [
      'a list of Google',
      JSON.stringify([{ error: { code: 429, message: 'Too many', details: [{ retryDelay: '30s' }] } }]),
      429,
      { kind: 'rate', retryAfterMs: 30_000 },
    ],
    ['words', full, 400, { kind: 'too-long', message: `400 ${full}` }],
    ['nothing', '', 401, { kind: 'auth' }],
  ])('%s', async (_name, body, status, expected) => {
    const { error } = await ask(requests['a greeting'].request, { body, status })
    expect(classifyError(error, around)).toMatchObject(expected)
  })
})
