import { describe, expect, it } from 'vitest'
import type { ModelRequest, Quirks } from '../../../../src/agent/model/dialect.ts'
import { type Message, userText } from '../../../../src/agent/model/message.ts'
import { bedrockConverse, parseRegion } from '../../../../src/agent/providers/bedrock/bedrock.ts'
import { renderConverseBody as bytesOf } from '../../../../src/agent/providers/bedrock/body.ts'
import { exchangeOverHttp } from '../support/exchange.ts'
import { findBedrockViolations } from '../fakes/bedrock.ts'
import { bedrockResponses } from '../fixtures/bedrock.ts'
import { assistantText, assistantCalls, toolResult, pixelPng, tools } from '../support/requests.ts'

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
  JSON.parse(new TextDecoder().decode(bytesOf(request(more), quirks))) as Body

describe('the body of a request', () => {
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
        { type: 'image', mediaType: 'image/webp', data: pixelPng },
      ],
    }),
    toolResult('c2', '', { name: 'find', failed: true, content: [] }),
    userText('go on'),
  ]
  const spec = (at: 0 | 1, description: string) => ({
    toolSpec: { name: tools[at]?.name, description, inputSchema: { json: tools[at]?.inputSchema } },
  })

  it('is what the API reference says', () => {
    const body = sent({ transcript, reasoningEffort: 'low', temperature: 0.5 })
    expect(body).toEqual({
      inferenceConfig: { maxTokens: 10_000 },
      additionalModelRequestFields: { thinking: { type: 'enabled', budget_tokens: 4_096 } },
      toolConfig: { tools: [spec(0, 'Tries to look.'), spec(1, 'Tries to find.')] },
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
                content: [{ text: 'seen' }, { image: { format: 'webp', source: { bytes: pixelPng } } }],
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

  it('has no thinking for Claude when it is not to think, and for others always', () => {
    const has = (more: Partial<ModelRequest>, quirks: Quirks = {}) =>
      JSON.stringify(sent({ transcript, ...more }, quirks)).includes('c2ln')
    expect(has({})).toBe(false)
    expect(has({ reasoningEffort: 'low' })).toBe(true)
    expect(has({}, { reasoning: 'adaptive' })).toBe(true)
    expect(has({ model: 'minimax.minimax-m2' })).toBe(true)
  })

  it('tells only models that know it that a result failed', () => {
    expect(JSON.stringify(sent({ transcript, model: 'mistral.large' }))).not.toContain('status')
    expect(JSON.stringify(sent({ transcript, model: 'amazon.nova-pro-v1:0' }))).toContain('"status":"error"')
  })

  const talk = [
    userText('a'),
    assistantText('b'),
    userText('c'),
    assistantCalls('c1', 'c2'),
    toolResult('c1', '1'),
    toolResult('c2', '2'),
  ]
  const point = { cachePoint: { type: 'default' } }
  const marks: readonly (readonly [string, Partial<ModelRequest>, Quirks, readonly string[]])[] = [
    ['nowhere when nobody asks', {}, { cacheMarks: 'native' }, []],
    ['nowhere when the model is not known to take any', { cache: '5m' }, {}, []],
    [
      'in four places',
      { cache: '5m' },
      { cacheMarks: 'native' },
      ['tools.2', 'system.1', 'messages.3.2', 'messages.4.2'],
    ],
    [
      'not behind the tools of others',
      { cache: '5m', model: 'amazon.nova-pro-v1:0' },
      { cacheMarks: 'native' },
      ['system.1', 'messages.2.1', 'messages.3.2', 'messages.4.2'],
    ],
    [
      'before what is said for this call only',
      { cache: '5m', say: 'quick' },
      { cacheMarks: 'native' },
      ['tools.2', 'system.1', 'messages.3.2', 'messages.4.2'],
    ],
  ]
  it.each(marks)('has its marks %s', (_name, more, quirks, expected) => {
    const body = sent({ transcript: talk, ...more }, quirks) as Body & {
      readonly toolConfig: { readonly tools: readonly object[] }
      readonly system: readonly object[]
    }
    const places = [
      ...body.toolConfig.tools.map((block, at) => [`tools.${at}`, block] as const),
      ...body.system.map((block, at) => [`system.${at}`, block] as const),
      ...body.messages.flatMap(({ content }, at) => content.map((block, i) => [`messages.${at}.${i}`, block] as const)),
    ]
    const found = places.filter(([, block]) => 'cachePoint' in block)
    expect(found.map(([place]) => place)).toEqual(expected)
    expect(found.every(([, block]) => JSON.stringify(block) === JSON.stringify(point))).toBe(true)
    expect(findBedrockViolations(body)).toEqual([])
  })

  it('says how long to keep the beginning when it is an hour', () => {
    const body = sent({ cache: '1h' }, { cacheMarks: 'native' })
    expect(body['system']).toEqual([{ text: 'Be kind.' }, { cachePoint: { type: 'default', ttl: '1h' } }])
  })

  const efforts: readonly (readonly [string, Partial<ModelRequest>, Quirks, unknown])[] = [
    ['nothing when nobody asks', {}, {}, undefined],
    ['a budget for Claude', { reasoningEffort: 'medium' }, {}, { thinking: { type: 'enabled', budget_tokens: 8_000 } }],
    [
      'adaptive',
      { reasoningEffort: 'high' },
      { reasoning: 'adaptive' },
      { thinking: { type: 'adaptive' }, output_config: { effort: 'high' } },
    ],
    ['a word for Claude', { reasoningEffort: 'low' }, { reasoning: 'effort' }, { output_config: { effort: 'low' } }],
    [
      'a word for Nova',
      { reasoningEffort: 'low', model: 'amazon.nova-2-lite-v1:0' },
      { reasoning: 'effort' },
      { reasoningConfig: { type: 'enabled', maxReasoningEffort: 'low' } },
    ],
    [
      'a word for others',
      { reasoningEffort: 'low', model: 'openai.gpt-oss-120b-1:0' },
      { reasoning: 'effort' },
      { reasoning_effort: 'low' },
    ],
    ['nothing for who is not known to think', { reasoningEffort: 'low', model: 'meta.llama' }, {}, undefined],
    ['nothing in the calls of another model', { reasoningEffort: 'low', transcript: talk }, {}, undefined],
    [
      'what the profile says besides',
      { reasoningEffort: 'low' },
      { reasoning: 'effort', body: { additionalModelRequestFields: { top_k: 5 } } },
      { top_k: 5, output_config: { effort: 'low' } },
    ],
  ]
  it.each(efforts)('has as effort %s', (_name, more, quirks, expected) => {
    const body = sent(more, quirks)
    expect(body['additionalModelRequestFields']).toEqual(expected)
    expect(findBedrockViolations(body)).toEqual([])
  })

  it('says how much may be written where thinking has a budget', () => {
    const body = sent({ reasoningEffort: 'high', maxTokens: undefined })
    expect(body['inferenceConfig']).toEqual({ maxTokens: 32_000 })
    expect(sent({ maxTokens: undefined })['inferenceConfig']).toBe(undefined)
  })
})

describe('the request', () => {
  const exchange = (key: string, more: Partial<ModelRequest> = {}) =>
    exchangeOverHttp(
      bedrockConverse((asked) => fetch(asked)),
      { key, contentType: 'application/vnd.amazon.eventstream', toBaseUrl: (origin) => `${origin}/` },
    )(request(more), bedrockResponses.text)

  it('is signed for the region and the day with keys of an account', async () => {
    const { headers, path, reply } = await exchange('AKIAEXAMPLE:se/cr+et:token==')
    expect(reply?.message.stop).toBe('end')
    expect(path).toBe('/model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse-stream')
    const day = headers['x-amz-date']?.slice(0, 8)
    expect(headers['authorization']).toMatch(
      new RegExp(
        `^AWS4-HMAC-SHA256 Credential=AKIAEXAMPLE/${day}/us-east-1/bedrock/aws4_request, SignedHeaders=[^,]*host;x-amz-date;x-amz-security-token, Signature=[0-9a-f]{64}$`,
      ),
    )
    expect(headers['x-amz-security-token']).toBe('token==')
    expect(headers['accept']).toBe('application/vnd.amazon.eventstream')
  })

  it('carries a key of Bedrock as a bearer', async () => {
    const { headers } = await exchange('bedrock-api-key-YWJj==')
    expect(headers['authorization']).toBe('Bearer bedrock-api-key-YWJj==')
    expect(headers).not.toHaveProperty('x-amz-date')
  })

  it('is not sent on to another address', async () => {
    const elsewhere = { status: 302, headers: { location: 'http://127.0.0.1:9/' }, body: '' }
    const { error } = await exchangeOverHttp(bedrockConverse((asked) => fetch(asked)))(request(), elsewhere)
    expect(error).toMatchObject({ name: 'BedrockError', status: 302 })
  })

  it('names a model by its whole address', async () => {
    const model = 'arn:aws:bedrock:us-east-1:1:inference-profile/us.x'
    const { path } = await exchange('key', { model })
    expect(path).toBe(`/model/${encodeURIComponent(model)}/converse-stream`)
  })

  it.each([
    ['https://bedrock-runtime.eu-west-3.amazonaws.com', 'eu-west-3'],
    ['https://bedrock-runtime-fips.us-gov-west-1.amazonaws.com', 'us-gov-west-1'],
    ['https://vpce-1-2.bedrock-runtime.ap-south-1.vpce.amazonaws.com/', 'ap-south-1'],
    ['http://127.0.0.1:9', 'us-east-1'],
  ])('is for the region of %s', (baseUrl, region) => {
    expect(parseRegion(baseUrl)).toBe(region)
  })
})
