import type { MessageCreateParamsStreaming } from '@anthropic-ai/sdk/resources/messages'
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { ModelRequest, Quirks } from '#agent/core/dialect.ts'
import { type Message, userText } from '#agent/core/message.ts'
import { findAnthropicViolations } from '../fakes/anthropic.ts'
import { fullTranscript, renderJson, renderText, sealedThinking } from '../support/anthropic-requests.ts'
import { assistantCalls, assistantText, pixelPng, toolResult, tools } from '../support/requests.ts'

describe('renderMessagesBody', { timeout: 60_000 }, () => {
  it('renders a body with the types of the SDK', () => {
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
                { type: 'image', source: { type: 'base64', media_type: 'image/png', data: pixelPng } },
              ],
            },
            { type: 'tool_result', tool_use_id: 'c2', content: '(no output)', is_error: true },
            { type: 'text', text: 'go on' },
          ],
        },
      ],
    } satisfies MessageCreateParamsStreaming
    expect(findAnthropicViolations(body)).toEqual([])
    expect(renderJson({ transcript: fullTranscript, reasoningEffort: 'low' })).toEqual(body)
  })

  it('renders a growing transcript like a new one, with and without cache marks', () => {
    const steps = fc.array(
      fc.constantFrom<readonly Message[]>(
        [assistantCalls('c1'), toolResult('c1', 'one')],
        [assistantCalls('c1', 'c2'), toolResult('c1', 'one'), toolResult('c2', 'two'), userText('and?')],
        [assistantText('fine'), userText('next')],
        [userText('über 漢字 😀')],
        fullTranscript.slice(1),
      ),
      { minLength: 1, maxLength: 12 },
    )
    const options = fc.constantFrom<Partial<ModelRequest>>(
      {},
      { cache: '5m' },
      { instruction: 'now' },
      { draft: 'so', instruction: 'on' },
    )
    fc.assert(
      fc.property(steps, fc.array(options, { minLength: 3, maxLength: 3 }), (history, [a = {}, b = {}, c = {}]) => {
        const grown: Message[] = [userText('hello')]
        for (const [at, step] of history.entries()) {
          grown.push(...step)
          const more = [a, b, c][at % 3] ?? a
          expect(renderText({ ...more, transcript: grown })).toBe(
            renderText({ ...more, transcript: structuredClone(grown) }),
          )
        }
      }),
    )
  })

  it('begins with the previous body except for cache marks', () => {
    const unmarked = (text: string) => text.replaceAll(/,"cache_control":\{[^}]*\}/g, '')
    const transcript = [...fullTranscript, assistantText('a'), userText('b')]
    const before = renderText({ transcript, cache: '5m' })
    const after = renderText({ transcript: [...transcript, assistantText('c'), userText('d')], cache: '5m' })
    expect(unmarked(after).startsWith(unmarked(before).slice(0, -2))).toBe(true)
    const [head = ''] = before.split(',"messages":')
    expect(after.startsWith(head)).toBe(true)
  })

  const listMarks = (body: unknown): string[] => {
    const places: string[] = []
    const walk = (value: unknown, path: string) => {
      if (typeof value !== 'object' || value === null) return
      if ('cache_control' in value) places.push(`${path} ${JSON.stringify(value.cache_control)}`)
      for (const [key, inner] of Object.entries(value)) walk(inner, path ? `${path}.${key}` : key)
    }
    walk(body, '')
    return places
  }
  const fiveMinuteMark = '{"type":"ephemeral"}'
  const conversation = [
    userText('a'),
    assistantText('b'),
    userText('c'),
    assistantCalls('c1', 'c2'),
    toolResult('c1', '1'),
    toolResult('c2', '2'),
  ]
  const cacheMarks: readonly (readonly [string, Partial<ModelRequest>, Quirks, readonly string[]])[] = [
    ['nowhere without a cache option', {}, {}, []],
    ['nowhere when the provider supports none', { cache: '5m' }, { cacheMarks: 'none' }, []],
    [
      'after tools, system prompt and the last two messages',
      { cache: '5m' },
      {},
      [
        `tools.1 ${fiveMinuteMark}`,
        `system.0 ${fiveMinuteMark}`,
        `messages.3.content.1 ${fiveMinuteMark}`,
        `messages.4.content.1 ${fiveMinuteMark}`,
      ],
    ],
    [
      'for an hour',
      { cache: '1h', transcript: [userText('a')] },
      {},
      ['tools.1', 'system.0', 'messages.0.content.0'].map((place) => `${place} {"type":"ephemeral","ttl":"1h"}`),
    ],
    [
      'after system prompt and three messages without tools',
      { cache: '5m', tools: [] },
      {},
      [2, 3, 4].reduce<string[]>(
        (places, at) => [...places, `messages.${at}.content.${at === 2 ? 0 : 1} ${fiveMinuteMark}`],
        [`system.0 ${fiveMinuteMark}`],
      ),
    ],
    [
      'not on the text for this request only',
      { cache: '5m', instruction: 'quick' },
      {},
      [
        `tools.1 ${fiveMinuteMark}`,
        `system.0 ${fiveMinuteMark}`,
        `messages.3.content.1 ${fiveMinuteMark}`,
        `messages.4.content.1 ${fiveMinuteMark}`,
      ],
    ],
    [
      'on text, not on the thinking after it',
      {
        cache: '5m',
        system: '',
        transcript: [
          userText('a'),
          {
            role: 'assistant',
            content: [{ type: 'text', text: 'b' }, sealedThinking('', { signature: 'c2ln' })],
            stop: 'end',
          },
          userText('c'),
        ],
      },
      {},
      [`tools.1 ${fiveMinuteMark}`, `messages.1.content.0 ${fiveMinuteMark}`, `messages.2.content.0 ${fiveMinuteMark}`],
    ],
  ]
  it.each(cacheMarks)('puts cache marks %s', (_name, more, quirks, expected) => {
    const body = renderJson({ transcript: conversation, ...more }, quirks)
    expect(listMarks(body)).toEqual(expected)
    expect(findAnthropicViolations(body)).toEqual([])
  })

  it('renders a failed result as text only', () => {
    const content = [
      { type: 'text', text: 'no' } as const,
      { type: 'image', mediaType: 'image/png', data: pixelPng } as const,
    ]
    const { messages } = renderJson({
      transcript: [userText('a'), assistantCalls('c1'), toolResult('c1', '', { failed: true, content })],
    })
    expect(messages[2]?.content).toEqual([
      { type: 'tool_result', tool_use_id: 'c1', content: 'no\n[an image, not shown]', is_error: true },
    ])
  })

  it('drops thinking at the end of a message, but not elsewhere', () => {
    const cut: Message = {
      role: 'assistant',
      content: [
        sealedThinking('one', { signature: 'c2ln' }),
        { type: 'text', text: 'half' },
        sealedThinking('two', { signature: 'c2ln' }),
        sealedThinking('', { redacted: 'cmVk' }),
      ],
      stop: 'length',
    }
    const { messages } = renderJson({ transcript: [userText('a'), cut, userText('b')], reasoningEffort: 'low' })
    expect(messages[1]?.content).toEqual([
      { type: 'thinking', thinking: 'one', signature: 'c2ln' },
      { type: 'text', text: 'half' },
    ])
  })

  const replays: readonly (readonly [string, Partial<ModelRequest>, Quirks, boolean])[] = [
    ['sends it back with a budget', { reasoningEffort: 'low' }, {}, true],
    ['drops it when thinking is off', {}, {}, false],
    ['drops it when `maxTokens` leaves no room for a budget', { reasoningEffort: 'low', maxTokens: 500 }, {}, false],
    ['drops it when adaptive thinking is disabled', { reasoningEffort: 'none' }, { reasoning: 'adaptive' }, false],
    [
      'drops it when a repair removes thinking',
      { reasoningEffort: 'low', repairs: { thinking: 'left-out' } },
      {},
      false,
    ],
    ['sends it back to models with adaptive thinking', {}, { reasoning: 'adaptive' }, true],
    ['sends it back to models of other makers', { model: 'MiniMax-M2' }, {}, true],
  ]
  it.each(replays)('handles earlier thinking: %s', (_name, more, quirks, isThere) => {
    const text = renderText({ transcript: fullTranscript.slice(0, 4), ...more }, quirks)
    expect([text.includes('"signature":"c2ln"'), text.includes('"data":"cmVk"')]).toEqual([isThere, isThere])
    expect(findAnthropicViolations(JSON.parse(text))).toEqual([])
  })

  it('declares the tools of earlier calls when no tools are offered', () => {
    const { tools: declared, tool_choice: choice } = renderJson({ transcript: conversation, tools: [] })
    expect(declared).toEqual([{ name: 'look', input_schema: { type: 'object' } }])
    expect(choice).toEqual({ type: 'none' })
  })

  it('replaces an image that is too large', () => {
    const data = 'A'.repeat(6 * 1024 * 1024)
    const large: Message = { role: 'user', content: [{ type: 'image', mediaType: 'image/png', data }] }
    expect(renderJson({ transcript: [large] }).messages).toEqual([
      { role: 'user', content: [{ type: 'text', text: '[an image, left out because it was too large]' }] },
    ])
  })

  it('merges the body fields of the quirks', () => {
    expect(renderJson({}, { body: { service_tier: 'auto' } })).toMatchObject({ service_tier: 'auto' })
  })
})
