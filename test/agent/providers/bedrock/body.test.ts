import { describe, expect, it } from 'vitest'
import type { ModelRequest, Quirks } from '#agent/core/dialect.ts'
import { type Message, userText } from '#agent/core/message.ts'
import { renderConverseBody } from '#agent/providers/bedrock/body.ts'
import { findBedrockViolations } from '../fakes/bedrock.ts'
import { assistantCalls, assistantText, pixelPng, toolResult, tools } from '../support/requests.ts'

const claude = 'us.anthropic.claude-sonnet-4-5-20250929-v1:0'
const request = (more: Partial<ModelRequest> = {}): ModelRequest => ({
  model: claude,
  system: 'Be kind.',
  transcript: [userText('hello')],
  tools,
  maxTokens: 10_000,
  ...more,
})
type Body = Readonly<Record<string, unknown>> & {
  readonly messages: readonly { readonly content: readonly object[] }[]
}
const sent = (more: Partial<ModelRequest>, quirks?: Quirks) =>
  JSON.parse(new TextDecoder().decode(renderConverseBody(request(more), quirks))) as Body

describe('renderConverseBody', () => {
  const transcript: readonly Message[] = [
    {
      role: 'user',
      content: [
        { type: 'text', text: 'look' },
        { type: 'image', mediaType: 'image/png', data: pixelPng },
      ],
    },
    {
      role: 'assistant',
      content: [
        { type: 'thinking', text: 'hm', sealed: { by: 'bedrock-converse', data: { signature: 'c2ln' } } },
        { type: 'thinking', text: '', sealed: { by: 'bedrock-converse', data: { redacted: 'cmVk' } } },
        { type: 'text', text: 'So.' },
        { type: 'call', id: 'c1', name: 'look', input: { at: 'a' } },
        { type: 'call', id: 'c2', name: 'find', input: [] },
      ],
      stop: 'tools',
    },
    toolResult('c1', 'seen', {
      content: [
        { type: 'text', text: 'seen' },
        { type: 'image', mediaType: 'image/png', data: pixelPng },
      ],
    }),
    toolResult('c2', '', { name: 'find', failed: true, content: [] }),
    userText('go on'),
  ]
  const toolSpec = (at: 0 | 1, description: string) => ({
    toolSpec: { name: tools[at]?.name, description, inputSchema: { json: tools[at]?.inputSchema } },
  })

  it('renders a body as the API reference describes it', () => {
    const body = sent({ transcript, reasoningEffort: 'low', temperature: 0.5 })
    expect(body).toEqual({
      inferenceConfig: { maxTokens: 10_000 },
      additionalModelRequestFields: { thinking: { type: 'enabled', budget_tokens: 4_096 } },
      toolConfig: { tools: [toolSpec(0, 'Tries to look.'), toolSpec(1, 'Tries to find.')] },
      system: [{ text: 'Be kind.' }],
      messages: [
        { role: 'user', content: [{ text: 'look' }, { image: { format: 'png', source: { bytes: pixelPng } } }] },
        {
          role: 'assistant',
          content: [
            { reasoningContent: { reasoningText: { text: 'hm', signature: 'c2ln' } } },
            { reasoningContent: { redactedContent: 'cmVk' } },
            { text: 'So.' },
            { toolUse: { toolUseId: 'c1', name: 'look', input: { at: 'a' } } },
            { toolUse: { toolUseId: 'c2', name: 'find', input: {} } },
          ],
        },
        {
          role: 'user',
          content: [
            {
              toolResult: {
                toolUseId: 'c1',
                content: [{ text: 'seen' }, { image: { format: 'png', source: { bytes: pixelPng } } }],
              },
            },
            { toolResult: { toolUseId: 'c2', content: [{ text: '(no output)' }], status: 'error' } },
            { text: 'go on' },
          ],
        },
      ],
    })
    expect(findBedrockViolations(body)).toEqual([])
  })

  it('sends earlier thinking to Claude only when thinking is on, and always to other models', () => {
    const has = (more: Partial<ModelRequest>, quirks: Quirks = {}) =>
      JSON.stringify(sent({ transcript, ...more }, quirks)).includes('c2ln')
    expect(has({})).toBe(false)
    expect(has({ reasoningEffort: 'low' })).toBe(true)
    expect(has({}, { reasoning: 'adaptive' })).toBe(true)
    expect(has({ model: 'minimax.minimax-m2' })).toBe(true)
  })

  it('sends the status of a failed result only to models that support it', () => {
    expect(JSON.stringify(sent({ transcript, model: 'mistral.large' }))).not.toContain('status')
    expect(JSON.stringify(sent({ transcript, model: 'amazon.nova-pro-v1:0' }))).toContain('"status":"error"')
  })

  const conversation = [
    userText('a'),
    assistantText('b'),
    userText('c'),
    assistantCalls('c1', 'c2'),
    toolResult('c1', '1'),
    toolResult('c2', '2'),
  ]
  const cachePoint = { cachePoint: { type: 'default' } }
  const cacheMarks: readonly (readonly [string, Partial<ModelRequest>, Quirks, readonly string[]])[] = [
    ['nowhere without a cache option', {}, { cacheMarks: 'native' }, []],
    ['nowhere when the quirks do not enable them', { cache: '5m' }, {}, []],
    [
      'in four places',
      { cache: '5m' },
      { cacheMarks: 'native' },
      ['tools.2', 'system.1', 'messages.3.2', 'messages.4.2'],
    ],
    [
      'not after the tools for other models than Claude',
      { cache: '5m', model: 'amazon.nova-pro-v1:0' },
      { cacheMarks: 'native' },
      ['system.1', 'messages.2.1', 'messages.3.2', 'messages.4.2'],
    ],
    [
      'before the text for this request only',
      { cache: '5m', instruction: 'quick' },
      { cacheMarks: 'native' },
      ['tools.2', 'system.1', 'messages.3.2', 'messages.4.2'],
    ],
  ]
  it.each(cacheMarks)('puts cache marks %s', (_name, more, quirks, expected) => {
    const body = sent({ transcript: conversation, ...more }, quirks) as Body & {
      readonly toolConfig: { readonly tools: readonly object[] }
      readonly system: readonly object[]
    }
    const places = [
      ...body.toolConfig.tools.map((block, at) => [`tools.${at}`, block] as const),
      ...body.system.map((block, at) => [`system.${at}`, block] as const),
      ...body.messages.flatMap(({ content }, at) => content.map((block, i) => [`messages.${at}.${i}`, block] as const)),
    ]
    const marked = places.filter(([, block]) => 'cachePoint' in block)
    expect(marked.map(([place]) => place)).toEqual(expected)
    expect(marked.every(([, block]) => JSON.stringify(block) === JSON.stringify(cachePoint))).toBe(true)
    expect(findBedrockViolations(body)).toEqual([])
  })

  it('sends the cache lifetime of an hour', () => {
    const body = sent({ cache: '1h' }, { cacheMarks: 'native' })
    expect(body['system']).toEqual([{ text: 'Be kind.' }, { cachePoint: { type: 'default', ttl: '1h' } }])
  })

  const efforts: readonly (readonly [string, Partial<ModelRequest>, Quirks, unknown])[] = [
    ['nothing by default', {}, {}, undefined],
    ['a budget for Claude', { reasoningEffort: 'medium' }, {}, { thinking: { type: 'enabled', budget_tokens: 8_000 } }],
    [
      'adaptive',
      { reasoningEffort: 'high' },
      { reasoning: 'adaptive' },
      { thinking: { type: 'adaptive' }, output_config: { effort: 'high' } },
    ],
    ['an effort for Claude', { reasoningEffort: 'low' }, { reasoning: 'effort' }, { output_config: { effort: 'low' } }],
    [
      'an effort for Nova',
      { reasoningEffort: 'low', model: 'amazon.nova-2-lite-v1:0' },
      { reasoning: 'effort' },
      { reasoningConfig: { type: 'enabled', maxReasoningEffort: 'low' } },
    ],
    [
      'an effort for other models',
      { reasoningEffort: 'low', model: 'openai.gpt-oss-120b-1:0' },
      { reasoning: 'effort' },
      { reasoning_effort: 'low' },
    ],
    ['nothing for models without thinking', { reasoningEffort: 'low', model: 'meta.llama' }, {}, undefined],
    [
      'nothing during a turn that another model began',
      { reasoningEffort: 'low', transcript: conversation },
      {},
      undefined,
    ],
    [
      'the additional fields of the profile as well',
      { reasoningEffort: 'low' },
      { reasoning: 'effort', body: { additionalModelRequestFields: { top_k: 5 } } },
      { top_k: 5, output_config: { effort: 'low' } },
    ],
  ]
  it.each(efforts)('sends %s', (_name, more, quirks, expected) => {
    const body = sent(more, quirks)
    expect(body['additionalModelRequestFields']).toEqual(expected)
    expect(findBedrockViolations(body)).toEqual([])
  })

  it('sends an output limit when thinking has a budget', () => {
    const body = sent({ reasoningEffort: 'high', maxTokens: undefined })
    expect(body['inferenceConfig']).toEqual({ maxTokens: 32_000 })
    expect(sent({ maxTokens: undefined })['inferenceConfig']).toBe(undefined)
  })
})
