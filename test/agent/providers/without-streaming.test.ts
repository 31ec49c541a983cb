/** Tests that every dialect can ask for a whole answer and reads it like a streamed one. */

import { describe, expect, it } from 'vitest'
import type { ModelRequest } from '#agent/core/dialect.ts'
import { type AssistantMessage, userText } from '#agent/core/message.ts'
import { workersAi } from '#agent/providers/workers-ai/workers-ai.ts'
import { createFakeBinding, type BindingRun } from './fakes/workers-ai.ts'
import { type Exchange, type RecordedResponse, toFailure } from './support/conformance.ts'
import { dialectHarnesses } from './support/dialects.ts'
import { tools } from './support/requests.ts'

const request: ModelRequest = {
  model: 'some-model',
  system: 'Be kind.',
  transcript: [userText('hello')],
  tools,
  repairs: { stream: 'off' },
}
const json = (body: object): RecordedResponse => ({
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(body),
})

/** A thought, a text and a call, as each API answers without streaming. */
const chatAnswer = {
  id: 'chatcmpl-1',
  object: 'chat.completion',
  choices: [
    {
      index: 0,
      finish_reason: 'tool_calls',
      message: {
        role: 'assistant',
        content: 'Let me look.',
        reasoning_content: 'hm',
        tool_calls: [{ id: 'call_1', type: 'function', function: { name: 'look', arguments: '{"at":"a"}' } }],
      },
    },
  ],
  usage: { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 },
}
const answers: Readonly<Record<string, object>> = {
  'openai-chat': chatAnswer,
  'workers-ai': chatAnswer,
  anthropic: {
    id: 'msg_1',
    type: 'message',
    role: 'assistant',
    content: [
      { type: 'thinking', thinking: 'hm', signature: 's' },
      { type: 'text', text: 'Let me look.' },
      { type: 'tool_use', id: 'call_1', name: 'look', input: { at: 'a' } },
    ],
    stop_reason: 'tool_use',
    usage: { input_tokens: 100, output_tokens: 20 },
  },
  'bedrock-converse': {
    output: {
      message: {
        role: 'assistant',
        content: [
          { reasoningContent: { reasoningText: { text: 'hm', signature: 's' } } },
          { text: 'Let me look.' },
          { toolUse: { toolUseId: 'call_1', name: 'look', input: { at: 'a' } } },
        ],
      },
    },
    stopReason: 'tool_use',
    usage: { inputTokens: 100, outputTokens: 20, totalTokens: 120 },
  },
  gemini: {
    candidates: [
      {
        content: {
          role: 'model',
          parts: [
            { text: 'hm', thought: true },
            { text: 'Let me look.' },
            { functionCall: { id: 'call_1', name: 'look', args: { at: 'a' } }, thoughtSignature: 's' },
          ],
        },
        finishReason: 'STOP',
      },
    ],
    usageMetadata: { promptTokenCount: 100, candidatesTokenCount: 20, totalTokenCount: 120 },
  },
  'openai-responses': {
    id: 'resp_1',
    object: 'response',
    status: 'completed',
    output: [
      { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'hm' }], encrypted_content: 'x' },
      {
        type: 'message',
        id: 'msg_1',
        role: 'assistant',
        status: 'completed',
        content: [{ type: 'output_text', text: 'Let me look.', annotations: [] }],
      },
      {
        type: 'function_call',
        id: 'fc_1',
        call_id: 'call_1',
        name: 'look',
        arguments: '{"at":"a"}',
        status: 'completed',
      },
    ],
    usage: { input_tokens: 100, output_tokens: 20, total_tokens: 120 },
  },
}

const withoutSeals = ({ content }: AssistantMessage) =>
  content.map((part) => (part.type === 'thinking' ? { type: part.type, text: part.text } : part))

/** Asks the binding, which answers with an object. */
async function askBinding(): Promise<Pick<Exchange, 'body' | 'deltas' | 'reply' | 'path'>> {
  const runs: BindingRun[] = []
  const deltas: Exchange['deltas'][number][] = []
  const reply = await workersAi(createFakeBinding({ object: answers['workers-ai'] }, runs)).call(
    request,
    { id: 'k', baseUrl: '', key: '', headers: {} },
    {
      signal: new AbortController().signal,
      onDelta: (delta) => void deltas.push(delta),
      onActivity: () => undefined,
      sleep: () => Promise.resolve(),
    },
  )
  return { body: runs[0]?.inputs, deltas, reply, path: '' }
}

describe.each(dialectHarnesses)('$name without streaming', ({ name, exchange }) => {
  const ask = () => (name === 'workers-ai' ? askBinding() : exchange(request, json(answers[name] ?? {})))

  it('asks for the whole answer', async () => {
    const { body, path } = await ask()
    const asked = { method: path.split('/').at(-1), stream: (body as { stream?: boolean }).stream }
    const wholeMethods: Readonly<Record<string, string>> = {
      'bedrock-converse': 'converse',
      gemini: 'some-model:generateContent',
    }
    const method = wholeMethods[name]
    expect(asked).toMatchObject(method ? { method } : { stream: false })
    expect(body).not.toHaveProperty('stream_options')
  })

  it('reads it like a streamed one, with its deltas', async () => {
    const { reply, deltas } = await ask()
    expect(reply?.message.stop).toBe('tools')
    expect(withoutSeals(reply!.message)).toEqual([
      { type: 'thinking', text: 'hm' },
      { type: 'text', text: 'Let me look.' },
      expect.objectContaining({ type: 'call', id: 'call_1', name: 'look', input: { at: 'a' } }),
    ])
    expect(deltas).toEqual([
      { of: 'thinking', text: 'hm' },
      { of: 'text', text: 'Let me look.' },
    ])
    expect(reply?.usage).toMatchObject({ input: 100, output: 20 })
  })
})

describe.each(dialectHarnesses.filter(({ name }) => name !== 'workers-ai'))('$name', ({ exchange, name }) => {
  const refusals: Readonly<Record<string, RecordedResponse>> = {
    'openai-chat': {
      status: 400,
      body: JSON.stringify({
        error: {
          message: 'Your organization must be verified to stream this model. Please go to settings and verify.',
          type: 'invalid_request_error',
          param: 'stream',
          code: 'unsupported_value',
        },
      }),
    },
    'openai-responses': {
      status: 400,
      body: JSON.stringify({
        error: {
          message:
            "Unsupported value: 'stream' does not support true with this model. Only the default (false) value is supported.",
          type: 'invalid_request_error',
          param: 'stream',
          code: 'unsupported_value',
        },
      }),
    },
    anthropic: {
      status: 400,
      body: JSON.stringify({
        type: 'error',
        error: { type: 'invalid_request_error', message: 'This model does not support streaming.' },
      }),
    },
    'bedrock-converse': {
      status: 400,
      headers: { 'x-amzn-errortype': 'ValidationException' },
      body: JSON.stringify({ message: "This model doesn't support tool use in streaming mode." }),
    },
  }
  // Every model of this API streams.
  it.skipIf(name === 'gemini')('recognises that the model cannot stream', async () => {
    const { error } = await exchange({ ...request, repairs: {} }, refusals[name]!)
    expect(toFailure(error).kind).toBe('no-stream')
  })
})
