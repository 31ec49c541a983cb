/** Compares the bodies of all dialects with the parameters of a request. Every row is one request. */

import { describe, expect, it } from 'vitest'
import type { ModelRequest, Quirks } from '#agent/core/dialect.ts'
import type { AnswerFormat, ModelParameters } from '#agent/core/request/model-parameters.ts'
import { userText } from '#agent/core/message.ts'
import { renderMessagesBody } from '#agent/providers/anthropic/body.ts'
import { renderConverseBody } from '#agent/providers/bedrock/body.ts'
import { renderChatBody } from '#agent/providers/openai/chat.ts'
import { renderResponsesBody } from '#agent/providers/openai/responses.ts'
import { renderFormatInstruction } from '#agent/providers/shared/parameters/answer-format.ts'
import { renderInputs } from '#agent/providers/workers-ai/workers-ai.ts'
import { findProvider } from '#agent/routing/availability.ts'
import { chooseDialect } from '#agent/routing/choose-dialect.ts'
import { tools } from './support/requests.ts'

const claude = 'us.anthropic.claude-sonnet-4-5-20250929-v1:0'
const dialects = {
  'openai-chat': renderChatBody,
  'openai-responses': renderResponsesBody,
  anthropic: renderMessagesBody,
  'bedrock-converse': renderConverseBody,
  'workers-ai': renderInputs,
} as const
type Name = keyof typeof dialects

/** The fields of the body that depend on the parameters. */
function render(name: Name, more: Partial<ModelRequest>, quirks: Quirks = {}): Record<string, unknown> {
  const request: ModelRequest = {
    model: name === 'bedrock-converse' ? claude : 'model-1',
    system: 'Be kind.',
    transcript: [userText('hello')],
    tools,
    ...more,
  }
  const body = dialects[name](request, quirks)
  const fields = (body instanceof Uint8Array ? JSON.parse(new TextDecoder().decode(body)) : body) as Record<
    string,
    unknown
  >
  const plainBody = dialects[name]({ ...request, ...withoutParameters }, {})
  const plain = (
    plainBody instanceof Uint8Array ? JSON.parse(new TextDecoder().decode(plainBody)) : plainBody
  ) as Record<string, unknown>
  return Object.fromEntries(
    Object.entries(fields).filter(([key, value]) => JSON.stringify(value) !== JSON.stringify(plain[key])),
  )
}
const withoutParameters = {
  parameters: undefined,
  answerFormat: undefined,
  toolChoice: undefined,
  parallelToolCalls: undefined,
  temperature: undefined,
}

const all: ModelParameters = {
  topP: 0.9,
  stop: ['END', ' '],
  seed: 7,
  presencePenalty: 0.5,
  frequencyPenalty: -0.5,
  logitBias: { 50256: -100 },
  verbosity: 'low',
  serviceTier: 'priority',
  user: 'u1',
  topK: 40,
  topA: 0.1,
  minP: 0.05,
  typicalP: 0.8,
  repetitionPenalty: 1.1,
}
const openaiSampling = {
  top_p: 0.9,
  stop: ['END', ' '],
  seed: 7,
  presence_penalty: 0.5,
  frequency_penalty: -0.5,
  logit_bias: { 50256: -100 },
  verbosity: 'low',
  service_tier: 'priority',
  user: 'u1',
}
const serverSampling = { top_k: 40, top_a: 0.1, min_p: 0.05, typical_p: 0.8, repetition_penalty: 1.1 }

const withoutSampling = { stop: ['END', ' '], seed: 7, verbosity: 'low', service_tier: 'priority', user: 'u1' }

describe('parameters', () => {
  it.each<readonly [string, Name, Partial<ModelRequest>, Quirks, object]>([
    ['all of them', 'openai-chat', { parameters: all }, {}, { ...openaiSampling, ...serverSampling }],
    ['those of OpenAI alone', 'openai-chat', { parameters: all }, { serverParameters: 'omitted' }, openaiSampling],
    [
      'no sampling for models without a temperature',
      'openai-chat',
      { parameters: all, temperature: 1 },
      { temperature: 'omitted' },
      withoutSampling,
    ],
    [
      'none after the provider has refused one',
      'openai-chat',
      { parameters: all, temperature: 1, repairs: { parameters: 'left-out' } },
      {},
      {},
    ],
    [
      'those of responses',
      'openai-responses',
      { parameters: all, temperature: 0.3 },
      {},
      { temperature: 0.3, top_p: 0.9, safety_identifier: 'u1', service_tier: 'priority', text: { verbosity: 'low' } },
    ],
    [
      'those of Claude',
      'anthropic',
      { parameters: all },
      {},
      { top_p: 0.9, top_k: 40, stop_sequences: ['END'], metadata: { user_id: 'u1' }, service_tier: 'auto' },
    ],
    [
      'a temperature for Claude without top_p, at most 1',
      'anthropic',
      { parameters: { topP: 0.9 }, temperature: 1.7 },
      {},
      { temperature: 1 },
    ],
    [
      'what thinking allows',
      'anthropic',
      { parameters: { topP: 0.96, topK: 9 }, temperature: 1, reasoningEffort: 'low' },
      { reasoning: 'adaptive' },
      { top_p: 0.96, thinking: { type: 'adaptive', display: 'summarized' }, output_config: { effort: 'low' } },
    ],
    ['a standard tier', 'anthropic', { parameters: { serviceTier: 'default' } }, {}, { service_tier: 'standard_only' }],
    ['no unknown tier', 'anthropic', { parameters: { serviceTier: 'flex' } }, {}, {}],
    [
      'those of Converse',
      'bedrock-converse',
      { parameters: all, maxTokens: 100 },
      {},
      {
        inferenceConfig: { maxTokens: 100, topP: 0.9, stopSequences: ['END'] },
        additionalModelRequestFields: { top_k: 40 },
        serviceTier: { type: 'priority' },
      },
    ],
    [
      'those of the binding',
      'workers-ai',
      { parameters: all, temperature: 0.5 },
      {},
      {
        temperature: 0.5,
        top_p: 0.9,
        top_k: 40,
        seed: 7,
        stop: ['END', ' '],
        repetition_penalty: 1.1,
        frequency_penalty: -0.5,
        presence_penalty: 0.5,
      },
    ],
    // oxlint-disable-next-line max-params -- the columns of the table
  ])('sends %s (%s)', (_what, name, more, quirks, expected) => {
    const sent = render(name, more, quirks)
    expect(sent).toEqual(expected)
  })
})

describe('rules for calls', () => {
  const named = { toolChoice: { name: 'look' }, parallelToolCalls: false } as const
  const required = { toolChoice: 'required' } as const
  const noTools = { tools: [], ...named }
  it.each<readonly [Name, Partial<ModelRequest>, object]>([
    ['openai-chat', required, { tool_choice: 'required' }],
    [
      'openai-chat',
      named,
      { tool_choice: { type: 'function', function: { name: 'look' } }, parallel_tool_calls: false },
    ],
    ['openai-chat', noTools, {}],
    ['openai-responses', required, { tool_choice: 'required' }],
    ['openai-responses', named, { tool_choice: { type: 'function', name: 'look' }, parallel_tool_calls: false }],
    ['openai-responses', noTools, {}],
    ['anthropic', required, { tool_choice: { type: 'any' } }],
    ['anthropic', named, { tool_choice: { type: 'tool', name: 'look', disable_parallel_tool_use: true } }],
    ['anthropic', { parallelToolCalls: false }, { tool_choice: { type: 'auto', disable_parallel_tool_use: true } }],
    ['anthropic', noTools, {}],
    ['workers-ai', required, { tool_choice: 'required' }],
    ['workers-ai', noTools, {}],
  ])('are sent by %s for %j', (name, more, expected) => {
    expect(render(name, more)).toEqual(expected)
  })

  it.each([
    [required, { any: {} }],
    [named, { tool: { name: 'look' } }],
    [{ ...required, reasoningEffort: 'low', maxTokens: 9_000 }, undefined],
  ] as const)('are part of the tools of Converse for %j', (more, expected) => {
    const config = render('bedrock-converse', more)['toolConfig'] as { readonly toolChoice?: object } | undefined
    expect(config?.toolChoice).toEqual(expected)
  })

  it('force no call of Claude while it thinks', () => {
    const sent = render('anthropic', { ...named, reasoningEffort: 'low' }, { reasoning: 'adaptive' })
    expect(sent['tool_choice']).toEqual({ type: 'auto', disable_parallel_tool_use: true })
  })
})

const schema = {
  type: 'object',
  properties: { n: { type: 'integer', minimum: 1 }, when: { type: 'string', format: 'date', pattern: '^2' } },
  required: ['n'],
}
const closed = {
  type: 'object',
  required: ['n'],
  properties: { n: { type: 'integer' }, when: { type: 'string', format: 'date' } },
  additionalProperties: false,
}
const format: AnswerFormat = { type: 'json_schema', name: 'x', schema, strict: true }
const object: AnswerFormat = { type: 'json_object' }
const native = { answerFormat: 'native' } as const
const jsonSchema = { name: 'x', schema, strict: true }

describe('the format of the answer', () => {
  it.each<readonly [string, Name, Partial<ModelRequest>, Quirks, object]>([
    [
      'a schema beside tools',
      'openai-chat',
      { answerFormat: format },
      native,
      { response_format: { type: 'json_schema', json_schema: jsonSchema } },
    ],
    ['JSON mode', 'openai-chat', { answerFormat: object }, native, { response_format: object }],
    ['nothing beside tools', 'openai-chat', { answerFormat: format }, {}, {}],
    [
      'a schema without tools',
      'openai-chat',
      { answerFormat: format, tools: [] },
      {},
      { response_format: { type: 'json_schema', json_schema: jsonSchema } },
    ],
    [
      'JSON mode instead of a schema',
      'openai-chat',
      { answerFormat: format, tools: [] },
      { answerFormat: 'object' },
      { response_format: object },
    ],
    ['nothing after a refusal', 'openai-chat', { answerFormat: format, repairs: { answerFormat: 'told' } }, native, {}],
    [
      'a schema',
      'openai-responses',
      { answerFormat: format },
      native,
      { text: { format: { type: 'json_schema', ...jsonSchema } } },
    ],
    ['no JSON mode', 'openai-responses', { answerFormat: object }, native, {}],
    [
      'a closed schema',
      'anthropic',
      { answerFormat: format },
      native,
      { output_config: { format: { type: 'json_schema', schema: closed } } },
    ],
    ['no JSON mode', 'anthropic', { answerFormat: object }, native, {}],
    ['nothing to other models', 'anthropic', { answerFormat: format }, {}, {}],
    [
      'a closed schema as text',
      'bedrock-converse',
      { answerFormat: format },
      native,
      {
        outputConfig: {
          textFormat: {
            type: 'json_schema',
            structure: { jsonSchema: { schema: JSON.stringify(closed), name: 'x' } },
          },
        },
      },
    ],
    ['nothing beside tools', 'workers-ai', { answerFormat: format }, {}, {}],
    [
      'the schema itself, without a stream',
      'workers-ai',
      { answerFormat: format, tools: [] },
      {},
      { stream: false, response_format: { type: 'json_schema', json_schema: schema } },
    ],
    // oxlint-disable-next-line max-params -- the columns of the table
  ])('is %s (%s)', (_what, name, more, quirks, expected) => {
    const sent = render(name, more, quirks)
    expect(sent).toEqual(expected)
  })

  it('leaves a draft to the instruction', () => {
    expect(render('openai-chat', { answerFormat: object, draft: '{"a"', instruction: 'go on' }, native)).toEqual({})
  })

  it.each<readonly [string, object]>([
    ['an open map', { type: 'object', additionalProperties: { type: 'string' } }],
    ['an object without properties', { type: 'object' }],
    ['a tuple', { type: 'array', prefixItems: [{ type: 'string' }] }],
    ['a recursive schema', { $ref: '#/$defs/a', $defs: { a: { type: 'array', items: { $ref: '#/$defs/a' } } } }],
    ['anything', {}],
  ])('is not bound to %s by Claude', (_what, open) => {
    const answerFormat: AnswerFormat = { type: 'json_schema', name: 'x', schema: open as Record<string, unknown> }
    expect(render('anthropic', { answerFormat }, native)).toEqual({})
  })

  it.each<readonly [Quirks, boolean]>([
    [native, false],
    [{}, true],
    [{ answerFormat: 'object' }, true],
  ])('is told with the schema where the API does not enforce it in every call: %j', (quirks, isTold) => {
    const told = renderFormatInstruction(format, 'openai-chat', { quirks, repairs: {} })
    expect(told).toContain('JSON')
    expect(told.includes(JSON.stringify(schema))).toBe(isTold)
  })
})

it.each([
  ['openai', 'gpt-5.4', 'native'],
  ['openai', 'gpt-4o', 'native'],
  ['anthropic', 'claude-sonnet-5', 'native'],
  ['anthropic', 'claude-opus-4-8', 'native'],
  ['anthropic', 'claude-3-5-haiku', undefined],
  ['bedrock', claude, 'native'],
  ['bedrock', 'amazon.nova-pro-v1:0', undefined],
  ['gemini', 'gemini-3.5-flash', 'native'],
  ['gemini', 'gemini-2.5-pro', undefined],
  ['xai', 'grok-4.5', 'native'],
  ['deepseek', 'deepseek-v4-flash', 'object'],
  ['openrouter', 'anthropic/claude-sonnet-5', undefined],
])('%s binds the answers of %s: %s', (provider, model, expected) => {
  const found = findProvider(provider, {})
  if (!found) throw new Error('unknown provider')
  const { quirks } = chooseDialect(found, { model, address: found.baseUrl, key: '' }, undefined)
  expect(quirks.answerFormat).toBe(expected)
})
