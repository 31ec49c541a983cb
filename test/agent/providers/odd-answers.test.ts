/** Tests that answers which differ from what their dialect describes lose neither text, nor calls, nor digits. */

import { describe, expect, it } from 'vitest'
import type { Dialect, ModelRequest } from '#agent/core/dialect.ts'
import { argumentsOf, callsIn, textIn, userText } from '#agent/core/message.ts'
import { createGemini } from '#agent/providers/gemini/gemini.ts'
import { anthropic } from '#backends/dialects/anthropic.ts'
import { openaiChat, openaiResponses } from '#backends/dialects/openai.ts'
import { exchangeOverHttp } from './support/exchange.ts'
import { tools } from './support/requests.ts'

const dialects = {
  chat: openaiChat,
  responses: openaiResponses,
  anthropic,
  gemini: createGemini((request) => fetch(request)),
} satisfies Record<string, Dialect>

const request: ModelRequest = { model: 'm', system: '', transcript: [userText('go')], tools }

async function read(dialect: keyof typeof dialects, body: string, type = 'text/event-stream') {
  const { reply, error } = await exchangeOverHttp(dialects[dialect])(request, {
    headers: { 'content-type': type },
    body,
  })
  expect(error).toBe(undefined)
  const { message } = reply!
  return [textIn(message), message.stop, ...callsIn(message).map((call) => [call.name, argumentsOf(call)])]
}

const events = (...all: readonly string[]) => all.map((data) => `data: ${data}\n\n`).join('')
/** An object as it is written: parsing it changes its numbers. */
const written = '{"id": 9007199254740993, "rate":5.0, "deep": {"arguments": {"args": 1e400}}}'

describe('arguments that come as an object', () => {
  const chatCall = `{"tool_calls":[{"index":0,"id":"c","function":{"name":"look","arguments":${written}}}]}`
  const item = `{"type":"function_call","call_id":"c","name":"look","arguments": ${written}}`
  const part = `{"functionCall":{"name":"look","args":${written}}}`
  it.each([
    ['chat', events(`{"choices":[{"delta":${chatCall},"finish_reason":"tool_calls"}]}`), undefined],
    ['chat', `{"choices":[{"message":${chatCall},"finish_reason":"tool_calls"}]}`, 'application/json'],
    [
      'responses',
      events(
        `{"type":"response.output_item.done","output_index":0,"item":${item}}`,
        '{"type":"response.completed","response":{"status":"completed"}}',
      ),
      undefined,
    ],
    ['responses', `{"status":"completed","output":[${item}]}`, 'application/json'],
    [
      'anthropic',
      events(
        `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"t","name":"look","input":${written}}}`,
        '{"type":"message_delta","delta":{"stop_reason":"tool_use"}}',
        '{"type":"message_stop"}',
      ),
      undefined,
    ],
    [
      'gemini',
      events(`{"candidates":[{"content":{"parts":[${part}]},"finishReason":"STOP"}],"usageMetadata":{}}`),
      undefined,
    ],
    [
      'gemini',
      `{"candidates":[{"content":{"parts":[${part}]},"finishReason":"STOP"}],"usageMetadata":{}}`,
      'application/json',
    ],
  ] as const)('stay as they are written: %s', async (dialect, body, type) => {
    expect(await read(dialect, body, type)).toEqual(['', 'tools', ['look', written]])
  })
})

describe('an answer loses nothing', () => {
  const end = '{"choices":[{"delta":{"content":"hi"},"finish_reason":"stop"}]}'
  const completed = '{"type":"response.completed","response":{"status":"completed","output":[]}}'
  it.each([
    ['without an empty line at its end', 'chat', `data: ${end}`],
    ['with lines that are null or empty', 'chat', `data: null\n\ndata:\n\ndata: ${end}\n\ndata:  [DONE] \n\n`],
    ['with a call that is null', 'chat', events('{"choices":[{"delta":{"tool_calls":[null]}}]}', end)],
    [
      'whose text comes when its part ends',
      'responses',
      events('{"type":"response.content_part.done","part":{"type":"output_text","text":"hi"}}', completed),
    ],
    [
      'whose text comes again when its second part ends',
      'responses',
      events(
        '{"type":"response.output_text.delta","content_index":1,"delta":"hi"}',
        '{"type":"response.output_text.done","text":"hi"}',
        '{"type":"response.content_part.done","part":{"type":"output_text","text":"hi"}}',
        completed,
      ),
    ],
    [
      'without the start of a block',
      'anthropic',
      events(
        '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"hi"}}',
        '{"type":"message_delta","delta":{"stop_reason":"end_turn"}}',
        '{"type":"message_stop"}',
      ),
    ],
    [
      'that ends without a reason',
      'anthropic',
      events(
        '{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"hi"}}',
        '{"type":"message_stop"}',
      ),
    ],
  ] as const)('%s', async (_name, dialect, body) => {
    expect(await read(dialect, body)).toEqual(['hi', 'end'])
  })

  it('whose call is only in the final event', async () => {
    const item = '{"type":"function_call","call_id":"c","name":"look","arguments":"{}"}'
    const body = events(
      '{"type":"response.output_text.delta","output_index":0,"item_id":"m","delta":"hi"}',
      `{"type":"response.completed","response":{"status":"completed","output":[{"type":"message","id":"m","content":[{"type":"output_text","text":"hi"}]},${item}]}}`,
    )
    expect(await read('responses', body)).toEqual(['hi', 'tools', ['look', '{}']])
  })

  it('that is cut in its last event is broken', async () => {
    const { error } = await exchangeOverHttp(openaiChat)(request, { body: 'data: {"choices":[{"delta":{"content":"h' })
    expect(error).toMatchObject({ name: 'StreamBroken' })
  })
})
