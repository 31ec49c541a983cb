import type { MessageCreateParamsStreaming } from '@anthropic-ai/sdk/resources/messages'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { ModelRequest, Quirks } from '../../../../src/agent/model/dialect.ts'
import { type AssistantMessage, type Message, userText } from '../../../../src/agent/model/message.ts'
import { anthropic } from '../../../../src/agent/providers/anthropic/anthropic.ts'
import { renderMessagesBody as bytesOf } from '../../../../src/agent/providers/anthropic/body.ts'
import { toFailure } from '../support/conformance.ts'
import { exchangeOverHttp } from '../support/exchange.ts'
import { findAnthropicViolations } from '../fakes/anthropic.ts'
import { anthropicResponses, errorResponse as errorAnswer } from '../fixtures/anthropic.ts'
import { assistantText, assistantCalls, toolResult, pixelPng, tools } from '../support/requests.ts'

const request = (more: Partial<ModelRequest> = {}): ModelRequest => ({
  model: 'claude',
  system: 'Be kind.',
  transcript: [userText('hello')],
  tools,
  maxTokens: 10_000,
  ...more,
})
const textOf = (more: Partial<ModelRequest>, quirks?: Quirks) =>
  new TextDecoder().decode(bytesOf(request(more), quirks))
const sent = (more: Partial<ModelRequest>, quirks?: Quirks) =>
  JSON.parse(textOf(more, quirks)) as MessageCreateParamsStreaming
const thought = (text: string, data: object): AssistantMessage['content'][number] => ({
  type: 'thinking',
  text,
  sealed: { by: 'anthropic', data },
})

const whole: readonly Message[] = [
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
      thought('hm', { signature: 'c2ln' }),
      thought('', { redacted: 'cmVk' }),
      { type: 'text', text: 'So.' },
      { type: 'call', id: 'c1', name: 'look', input: { at: 'a' } },
      { type: 'call', id: 'c2', name: 'find', input: {} },
    ],
    stop: 'tools',
  },
  toolResult('c1', 'seen', {
    content: [
      { type: 'text', text: 'seen' },
      { type: 'image', mediaType: 'image/jpg', data: pixelPng },
    ],
  }),
  toolResult('c2', '', { name: 'find', failed: true, content: [] }),
  userText('go on'),
]

describe('the body of a request', { timeout: 60_000 }, () => {
  it('is what the types of the SDK say', () => {
    const body = {
      model: 'claude',
      stream: true,
      max_tokens: 10_000,
      thinking: { type: 'enabled', budget_tokens: 4_096 },
      tools: [
        { name: 'look', description: 'Tries to look.', input_schema: tools[0]?.inputSchema as { type: 'object' } },
        { name: 'find', description: 'Tries to find.', input_schema: tools[1]?.inputSchema as { type: 'object' } },
      ],
      system: [{ type: 'text', text: 'Be kind.' }],
      messages: [
        {
          role: 'user',
          content: [
            { type: 'text', text: 'look' },
            { type: 'image', source: { type: 'base64', media_type: 'image/png', data: pixelPng } },
          ],
        },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'hm', signature: 'c2ln' },
            { type: 'redacted_thinking', data: 'cmVk' },
            { type: 'text', text: 'So.' },
            { type: 'tool_use', id: 'c1', name: 'look', input: { at: 'a' } },
            { type: 'tool_use', id: 'c2', name: 'find', input: {} },
          ],
        },
        {
          role: 'user',
          content: [
            {
              type: 'tool_result',
              tool_use_id: 'c1',
              content: [
                { type: 'text', text: 'seen' },
                { type: 'image', source: { type: 'base64', media_type: 'image/jpeg', data: pixelPng } },
              ],
            },
            { type: 'tool_result', tool_use_id: 'c2', content: '(no output)', is_error: true },
            { type: 'text', text: 'go on' },
          ],
        },
      ],
    } satisfies MessageCreateParamsStreaming
    expect(findAnthropicViolations(body)).toEqual([])
    expect(sent({ transcript: whole, reasoningEffort: 'low' })).toEqual(body)
  })

  it('of a transcript that grows is the same as one made anew, with marks and without', () => {
    const steps = fc.array(
      fc.constantFrom<readonly Message[]>(
        [assistantCalls('c1'), toolResult('c1', 'one')],
        [assistantCalls('c1', 'c2'), toolResult('c1', 'one'), toolResult('c2', 'two'), userText('and?')],
        [assistantText('fine'), userText('next')],
        [userText('über 漢字 😀')],
        whole.slice(1),
      ),
      { minLength: 1, maxLength: 12 },
    )
    const options = fc.constantFrom<Partial<ModelRequest>>(
      {},
      { cache: '5m' },
      { say: 'now' },
      { draft: 'so', say: 'on' },
    )
    fc.assert(
      fc.property(steps, fc.array(options, { minLength: 3, maxLength: 3 }), (history, [a = {}, b = {}, c = {}]) => {
        const grown: Message[] = [userText('hello')]
        for (const [at, step] of history.entries()) {
          grown.push(...step)
          const more = [a, b, c][at % 3] ?? a
          expect(textOf({ ...more, transcript: grown })).toBe(textOf({ ...more, transcript: structuredClone(grown) }))
        }
      }),
    )
  })

  it('begins as the one before did, but for the marks', () => {
    const unmarked = (text: string) => text.replaceAll(/,"cache_control":\{[^}]*\}/g, '')
    const transcript = [...whole, assistantText('a'), userText('b')]
    const before = textOf({ transcript, cache: '5m' })
    const after = textOf({ transcript: [...transcript, assistantText('c'), userText('d')], cache: '5m' })
    expect(unmarked(after).startsWith(unmarked(before).slice(0, -2))).toBe(true)
    const [head = ''] = before.split(',"messages":')
    expect(after.startsWith(head)).toBe(true)
  })

  const marked = (body: unknown): string[] => {
    const places: string[] = []
    const walk = (value: unknown, path: string) => {
      if (typeof value !== 'object' || value === null) return
      if ('cache_control' in value) places.push(`${path} ${JSON.stringify(value.cache_control)}`)
      for (const [key, inner] of Object.entries(value)) walk(inner, path ? `${path}.${key}` : key)
    }
    walk(body, '')
    return places
  }
  const short = '{"type":"ephemeral"}'
  const talk = [
    userText('a'),
    assistantText('b'),
    userText('c'),
    assistantCalls('c1', 'c2'),
    toolResult('c1', '1'),
    toolResult('c2', '2'),
  ]
  const marks: readonly (readonly [string, Partial<ModelRequest>, Quirks, readonly string[]])[] = [
    ['nowhere when nobody asks', {}, {}, []],
    ['nowhere when the provider knows none', { cache: '5m' }, { cacheMarks: 'none' }, []],
    [
      'behind tools, system and the last two messages',
      { cache: '5m' },
      {},
      [`tools.1 ${short}`, `system.0 ${short}`, `messages.3.content.1 ${short}`, `messages.4.content.1 ${short}`],
    ],
    [
      'for an hour',
      { cache: '1h', transcript: [userText('a')] },
      {},
      ['tools.1', 'system.0', 'messages.0.content.0'].map((place) => `${place} {"type":"ephemeral","ttl":"1h"}`),
    ],
    [
      'behind system and three messages where there are no tools',
      { cache: '5m', tools: [] },
      {},
      [2, 3, 4].reduce<string[]>(
        (places, at) => [...places, `messages.${at}.content.${at === 2 ? 0 : 1} ${short}`],
        [`system.0 ${short}`],
      ),
    ],
    [
      'not on what is said for this call only',
      { cache: '5m', say: 'quick' },
      {},
      [`tools.1 ${short}`, `system.0 ${short}`, `messages.3.content.1 ${short}`, `messages.4.content.1 ${short}`],
    ],
    [
      'on what was said, not on the thinking behind it',
      {
        cache: '5m',
        system: '',
        transcript: [
          userText('a'),
          {
            role: 'assistant',
            content: [{ type: 'text', text: 'b' }, thought('', { signature: 'c2ln' })],
            stop: 'end',
          },
          userText('c'),
        ],
      },
      {},
      [`tools.1 ${short}`, `messages.1.content.0 ${short}`, `messages.2.content.0 ${short}`],
    ],
  ]
  it.each(marks)('has its marks %s', (_name, more, quirks, expected) => {
    const body = sent({ transcript: talk, ...more }, quirks)
    expect(marked(body)).toEqual(expected)
    expect(findAnthropicViolations(body)).toEqual([])
  })

  it('tells a failure in words only', () => {
    const content = [
      { type: 'text', text: 'no' } as const,
      { type: 'image', mediaType: 'image/png', data: pixelPng } as const,
    ]
    const { messages } = sent({
      transcript: [userText('a'), assistantCalls('c1'), toolResult('c1', '', { failed: true, content })],
    })
    expect(messages[2]?.content).toEqual([
      { type: 'tool_result', tool_use_id: 'c1', content: 'no\n[an image, not shown]', is_error: true },
    ])
  })

  it('leaves out thinking that led to nothing, at the end of a message only', () => {
    const cut: Message = {
      role: 'assistant',
      content: [
        thought('one', { signature: 'c2ln' }),
        { type: 'text', text: 'half' },
        thought('two', { signature: 'c2ln' }),
        thought('', { redacted: 'cmVk' }),
      ],
      stop: 'length',
    }
    const { messages } = sent({ transcript: [userText('a'), cut, userText('b')], reasoningEffort: 'low' })
    expect(messages[1]?.content).toEqual([
      { type: 'thinking', thinking: 'one', signature: 'c2ln' },
      { type: 'text', text: 'half' },
    ])
  })

  const replays: readonly (readonly [string, Partial<ModelRequest>, Quirks, boolean])[] = [
    ['goes back when there is a budget', { reasoningEffort: 'low' }, {}, true],
    ['does not when Claude is not to think', {}, {}, false],
    ['does not when there is no room for it', { reasoningEffort: 'low', maxTokens: 500 }, {}, false],
    ['does not when it is switched off', { reasoningEffort: 'none' }, { reasoning: 'adaptive' }, false],
    ['does not when it is to be left out', { reasoningEffort: 'low', repairs: { thinking: 'left-out' } }, {}, false],
    ['goes back to who thinks by itself', {}, { reasoning: 'adaptive' }, true],
    ['goes back to models of other makers', { model: 'MiniMax-M2' }, {}, true],
  ]
  it.each(replays)('has thinking that %s', (_name, more, quirks, isThere) => {
    const text = textOf({ transcript: whole.slice(0, 4), ...more }, quirks)
    expect([text.includes('"signature":"c2ln"'), text.includes('"data":"cmVk"')]).toEqual([isThere, isThere])
    expect(findAnthropicViolations(JSON.parse(text))).toEqual([])
  })

  it('names the tools of earlier calls when none may be called any more', () => {
    const { tools: known, tool_choice: choice } = sent({ transcript: talk, tools: [] })
    expect(known).toEqual([{ name: 'look', input_schema: { type: 'object' } }])
    expect(choice).toEqual({ type: 'none' })
  })

  it('leaves out an image that is larger than may be sent', () => {
    const data = 'A'.repeat(6 * 1024 * 1024)
    const large: Message = { role: 'user', content: [{ type: 'image', mediaType: 'image/png', data }] }
    expect(sent({ transcript: [large] }).messages).toEqual([
      { role: 'user', content: [{ type: 'text', text: '[an image, left out because it was too large]' }] },
    ])
  })

  it('has what the provider or the model wants in every body', () => {
    expect(sent({}, { body: { service_tier: 'auto' } })).toMatchObject({ service_tier: 'auto' })
  })
})

describe('effort, temperature and length', () => {
  const inCalls = [userText('go'), assistantCalls('c1'), toolResult('c1', 'one')]
  const cases: readonly (readonly [string, Partial<ModelRequest>, Quirks, object])[] = [
    ['nothing is said of what nobody asked', {}, {}, { max_tokens: 10_000 }],
    ['a budget', { reasoningEffort: 'high' }, {}, { thinking: { type: 'enabled', budget_tokens: 8_000 } }],
    ['a budget for more', { reasoningEffort: 'high', maxTokens: 64_000 }, {}, { thinking: { budget_tokens: 20_000 } }],
    ['no room for a budget', { reasoningEffort: 'high', maxTokens: 1_000 }, {}, { thinking: undefined }],
    ['no effort', { reasoningEffort: 'none' }, {}, { thinking: undefined }],
    [
      'adaptive',
      { reasoningEffort: 'high' },
      { reasoning: 'adaptive' },
      { thinking: { type: 'adaptive', display: 'summarized' }, output_config: { effort: 'high' } },
    ],
    [
      'adaptive, switched off',
      { reasoningEffort: 'none' },
      { reasoning: 'adaptive' },
      { thinking: { type: 'disabled' } },
    ],
    [
      'a word, clamped',
      { reasoningEffort: 'xhigh' },
      { reasoning: 'effort', efforts: ['low', 'medium', 'high'] },
      { thinking: undefined, output_config: { effort: 'high' } },
    ],
    [
      'words the API does not know',
      { reasoningEffort: 'ultra' },
      { reasoning: 'effort' },
      { output_config: { effort: 'max' } },
    ],
    [
      'never sent',
      { reasoningEffort: 'high' },
      { reasoning: 'none' },
      { thinking: undefined, output_config: undefined },
    ],
    ['a temperature', { temperature: 0.3 }, {}, { temperature: 0.3 }],
    ['none with thinking', { temperature: 0.3, reasoningEffort: 'low' }, {}, { temperature: undefined }],
    ['none for who refuses any', { temperature: 0.3 }, { temperature: 'omitted' }, { temperature: undefined }],
    ['the only one there is', { temperature: 0.3 }, { temperature: 1 }, { temperature: 1 }],
    ['the usual length', { maxTokens: undefined }, { defaultMaxTokens: 128_000 }, { max_tokens: 128_000 }],
    [
      'off in the calls of another model',
      { reasoningEffort: 'high', transcript: inCalls },
      {},
      { thinking: undefined },
    ],
    [
      'on again behind them',
      { reasoningEffort: 'high', transcript: [...inCalls, assistantText('so'), userText('and?')] },
      {},
      { thinking: { type: 'enabled' } },
    ],
    [
      'on in its own, of which only the first began with thinking',
      { reasoningEffort: 'high', transcript: [...whole.slice(0, 4), assistantCalls('c3'), toolResult('c3', 'three')] },
      {},
      { thinking: { type: 'enabled' } },
    ],
    [
      'off when thinking is left out',
      { reasoningEffort: 'high', transcript: whole, repairs: { thinking: 'left-out' } },
      {},
      { thinking: undefined },
    ],
  ]
  it.each(cases)('%s', (_name, more, quirks, expected) => {
    const body = sent(more, quirks)
    const absent = { thinking: undefined, output_config: undefined, temperature: undefined }
    expect({ ...absent, ...body }).toMatchObject(expected)
    expect(findAnthropicViolations(body)).toEqual([])
  })
})

describe('the headers', () => {
  const headersOf = async (more: Partial<ModelRequest>, quirks: Quirks = {}, headers: Record<string, string> = {}) =>
    await exchangeOverHttp(anthropic, { headers, toBaseUrl: (origin) => `${origin}/v1/` })(
      request(more),
      anthropicResponses.text,
      {
        quirks,
      },
    )

  it('carry the key by its own name, and the version every host knows', async () => {
    const { headers, path } = await headersOf({})
    expect(headers).toMatchObject({ 'x-api-key': 'key-1', 'anthropic-version': '2023-06-01' })
    expect(headers).not.toHaveProperty('authorization')
    expect(path).toBe('/v1/messages')
  })

  it('carry it as a bearer where the provider wants that, and what the profile says', async () => {
    const { headers } = await headersOf({}, { bearer: true }, { 'Anthropic-Version': '2026-10-21' })
    expect(headers).toMatchObject({ authorization: 'Bearer key-1', 'anthropic-version': '2026-10-21' })
    expect(headers).not.toHaveProperty('x-api-key')
  })

  it('are not sent on to another address', async () => {
    const elsewhere = { status: 302, headers: { location: 'http://127.0.0.1:9/' }, body: '' }
    const { error } = await exchangeOverHttp(anthropic)(request(), elsewhere)
    expect(error).toMatchObject({ status: 302 })
  })

  it('leave the beta of the long window out when it may not be used', async () => {
    const betas = { 'anthropic-beta': 'oauth-2025-04-20,context-1m-2025-08-07' }
    expect((await headersOf({}, {}, betas)).headers).toMatchObject(betas)
    const short = { repairs: { longContext: 'off' } } as const
    expect((await headersOf(short, {}, betas)).headers).toMatchObject({ 'anthropic-beta': 'oauth-2025-04-20' })
    const alone = { 'anthropic-beta': 'context-1m-2025-08-07' }
    expect((await headersOf(short, {}, alone)).headers).not.toHaveProperty('anthropic-beta')
  })
})

describe('what the API says of thinking that does not fit', () => {
  it.each([
    'messages.1.content.0: Invalid `signature` in `thinking` block',
    'messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`.',
    'messages.1.content.0: When thinking is disabled, an `assistant` message in the final position cannot contain `thinking`.',
  ])('is cured by leaving thinking out: %s', async (message) => {
    const { error } = await exchangeOverHttp(anthropic)(request(), errorAnswer(400, 'invalid_request_error', message))
    expect(toFailure(error).kind).toBe('thinking-signature')
  })
})
