import * as fc from 'fast-check'
import type OpenAI from 'openai'
import { describe, expect, it } from 'vitest'
import type { ModelRequest, Quirks } from '#agent/core/dialect.ts'
import { type Message, userText } from '#agent/core/message.ts'
import { isLong } from '../../../support/long.ts'
import { findResponsesViolations } from '../fakes/openai-responses.ts'
import { assistantText, pixelPng, toolResult, tools } from '../support/requests.ts'
import {
  assistant,
  callPart,
  helloMessage,
  reasoningItem,
  renderJson,
  renderText,
  sealed,
  sealedThinking,
} from '../support/responses-requests.ts'

describe('renderResponsesBody', () => {
  it('renders a streamed response without storage', () => {
    const expected = {
      model: 'gpt',
      stream: true,
      store: false,
      include: ['reasoning.encrypted_content'],
      reasoning: { effort: 'low', summary: 'auto' },
      max_output_tokens: 900,
      temperature: 0,
      prompt_cache_key: expect.stringMatching(/^talaria-\w+$/) as string,
      instructions: 'Be kind.',
      tools: tools.map(({ name, description, inputSchema }) => ({
        type: 'function',
        name,
        description,
        parameters: inputSchema as Record<string, unknown>,
        strict: false,
      })),
      input: [{ type: 'message', role: 'user', content: 'hello' }],
    } satisfies OpenAI.Responses.ResponseCreateParamsStreaming
    expect(renderJson({ maxTokens: 900, temperature: 0, reasoningEffort: 'low' })).toEqual(expected)
  })

  type Case = {
    readonly quirks?: Quirks
    readonly request?: Partial<ModelRequest>
    readonly expected?: object
    readonly absent?: readonly string[]
  }
  const quirks: readonly (readonly [string, Case])[] = [
    [
      'requests summaries from a model that thinks',
      { quirks: { reasoning: 'effort' }, expected: { reasoning: { summary: 'auto' } } },
    ],
    ['requests no reasoning from a model that is not known to think', { absent: ['reasoning'] }],
    [
      'requests no summary when a repair removes thinking',
      {
        quirks: { reasoning: 'effort' },
        request: { repairs: { thinking: 'left-out' }, reasoningEffort: 'low' },
        expected: { reasoning: { effort: 'low' } },
        absent: ['include', 'reasoning.summary'],
      },
    ],
    [
      'requests no reasoning from a model without reasoning',
      { quirks: { reasoning: 'none' }, request: { reasoningEffort: 'high' }, absent: ['reasoning', 'include'] },
    ],
    [
      'clamps the effort',
      {
        quirks: { efforts: ['low', 'medium'] },
        request: { reasoningEffort: 'xhigh' },
        expected: { reasoning: { effort: 'medium', summary: 'auto' } },
      },
    ],
    [
      'omits the temperature when the model refuses it',
      { quirks: { temperature: 'omitted' }, request: { temperature: 1 }, absent: ['temperature'] },
    ],
    [
      'sends the only accepted temperature',
      { quirks: { temperature: 1 }, request: { temperature: 0.2 }, expected: { temperature: 1 } },
    ],
    [
      'sends the default output limit',
      { quirks: { defaultMaxTokens: 64_000 }, expected: { max_output_tokens: 64_000 } },
    ],
    ['raises a too low output limit', { request: { maxTokens: 1 }, expected: { max_output_tokens: 16 } }],
    [
      'omits the cache key when the quirks disable it',
      { quirks: { cacheMarks: 'none' }, absent: ['prompt_cache_key'] },
    ],
    [
      'merges the body fields of the quirks',
      { quirks: { body: { service_tier: 'flex' } }, expected: { service_tier: 'flex' } },
    ],
    ['omits the instructions without a system prompt', { request: { system: '' }, absent: ['instructions'] }],
  ]
  it.each(quirks)('%s', (_name, { quirks: extraQuirks, request = {}, expected = {}, absent = [] }) => {
    const body = renderJson(request, extraQuirks)
    expect(body).toMatchObject(expected)
    for (const field of absent) expect(body).not.toHaveProperty(field)
    expect(findResponsesViolations(body)).toEqual([])
  })

  it('sends the system prompt as a message when the quirks have a role for it', () => {
    const transcript = [helloMessage, assistantText('hi'), userText('more')]
    const body = renderJson({ transcript }, { systemRole: 'developer' })
    expect(body.instructions).toBe(undefined)
    expect(body.input.map((item) => 'role' in item && item.role)).toEqual(['developer', 'user', 'assistant', 'user'])
    expect(body.input[0]).toEqual({ type: 'message', role: 'developer', content: 'Be kind.' })
    expect(findResponsesViolations(body)).toEqual([])
  })

  it('has one cache key per conversation', () => {
    const key = (transcript: readonly Message[], more = {}) => renderJson({ transcript, ...more }).prompt_cache_key
    const one = key([helloMessage])
    expect(key([helloMessage, assistantText('hi'), userText('x')], { instruction: 'Go on.' })).toBe(one)
    expect(key([userText('hallo')])).not.toBe(one)
    expect(key([helloMessage], { system: 'Be brief.' })).not.toBe(one)
  })

  it('keeps tool properties named pattern when it simplifies schemas', () => {
    const inputSchema = { type: 'object', properties: { pattern: { type: 'string', pattern: '^a', format: 'uri' } } }
    const body = renderJson({
      tools: [{ name: 'search', description: '', inputSchema }],
      repairs: { schemas: 'plain' },
    })
    expect(body.tools?.[0]).toMatchObject({
      parameters: { type: 'object', properties: { pattern: { type: 'string' } } },
    })
    expect(JSON.stringify(body)).not.toContain('^a')
  })

  it('ends with the draft and the text for this request only', () => {
    expect(renderJson({ draft: 'Once upon', instruction: 'Go on.' }).input.slice(-2)).toEqual([
      { type: 'message', role: 'assistant', content: 'Once upon' },
      { type: 'message', role: 'user', content: 'Go on.' },
    ])
  })

  it('renders a growing transcript like a new one', () => {
    const growing: Message[] = [helloMessage]
    const steps: readonly (readonly [readonly Message[], Partial<ModelRequest>, Quirks?])[] = [
      [[assistant(sealedThinking('rs_1'), callPart('c1')), toolResult('c1', 'one')], {}],
      [[], { instruction: 'and now?' }],
      [[], { draft: 'so far ', instruction: 'go on' }],
      [[userText('über 漢字 😀')], {}, { systemRole: 'developer' }],
      [[userText('x'.repeat(100_000))], {}],
      [[], { repairs: { thinking: 'left-out' } }],
      [[], { repairs: { images: 'left-out', toolContent: 'text' } }],
      [[assistantText('fine'), userText('next')], {}],
    ]
    for (const [messages, more, extraQuirks] of steps) {
      growing.push(...messages)
      const body = renderText({ transcript: growing, ...more }, extraQuirks)
      expect(body).toBe(renderText({ transcript: structuredClone(growing), ...more }, extraQuirks))
      expect(findResponsesViolations(JSON.parse(body))).toEqual([])
    }
  })
})

const words = fc.oneof(fc.string(), fc.constantFrom('', ' ', 'a\ud83d', 'Grüße 世界'))
const ids = fc.oneof(fc.constantFrom('', 'c1', 'c2', 'call:1|é', 'x'.repeat(90)), fc.string())
const texts = fc.record({ type: fc.constant('text' as const), text: words })
const images = fc.constantFrom(
  ...[
    ['image/png', pixelPng],
    ['image/jpg', pixelPng],
    ['image/tiff', pixelPng],
    ['image/*;url', 'https://x.test/a.png'],
    ['image/png', 'blob:gone'],
  ].map(([mediaType = '', data = '']) => ({ type: 'image' as const, mediaType, data })),
)
const seals = fc.oneof(
  fc.nat().map((n) => sealed(reasoningItem(`rs_${n}`))),
  fc.constantFrom(sealed({ type: 'message', phase: 'commentary' }), { by: 'anthropic', data: 'seal' }),
)
const parts = fc.oneof(
  texts,
  fc.record({ type: fc.constant('thinking' as const), text: words }),
  fc.record({ type: fc.constant('thinking' as const), text: words, sealed: seals }),
  fc.record({
    type: fc.constant('call' as const),
    id: ids,
    name: fc.oneof(fc.constant('look'), fc.string()),
    input: fc.dictionary(fc.string(), words),
  }),
)
const messages: fc.Arbitrary<Message> = fc.oneof(
  fc.record({ role: fc.constant('user' as const), content: fc.array(fc.oneof(texts, images), { maxLength: 3 }) }),
  fc.record({
    role: fc.constant('assistant' as const),
    content: fc.array(parts, { maxLength: 6 }),
    stop: fc.constantFrom('end' as const, 'tools' as const),
  }),
  fc.record({
    role: fc.constant('tool' as const),
    callId: ids,
    name: fc.constant('look'),
    content: fc.array(fc.oneof(texts, images), { maxLength: 2 }),
    failed: fc.boolean(),
  }),
)
/** Removes reasoning items with a repeated id. */
function removeDuplicateReasoning(transcript: readonly Message[]): readonly Message[] {
  let n = 0
  return transcript.map((message) => {
    if (message.role !== 'assistant') return message
    const content = message.content.map((part) => {
      const data = part.type === 'thinking' ? part.sealed?.data : undefined
      const isReasoning = typeof data === 'object' && data !== null && 'id' in data
      return isReasoning ? { ...part, sealed: sealed({ ...data, id: `rs_${n++}` }) } : part
    })
    return { ...message, content }
  })
}

describe('any stored history', () => {
  it('becomes a valid request', () => {
    fc.assert(
      fc.property(
        fc.array(messages, { maxLength: 12 }).map(removeDuplicateReasoning),
        fc.constantFrom<Partial<ModelRequest>>(
          {},
          { instruction: 'Go on.' },
          { draft: 'so far', instruction: 'on' },
          { repairs: { thinking: 'left-out', toolContent: 'text' } },
          { repairs: { images: 'left-out' } },
        ),
        (transcript, more) => {
          const whole = [helloMessage, ...transcript]
          expect(findResponsesViolations(renderJson({ transcript: whole, ...more }))).toEqual([])
        },
      ),
      { numRuns: isLong ? 500 : 100 },
    )
  })
})
