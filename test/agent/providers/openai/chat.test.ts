/** Tests the request bodies of chat completions. */

import { describe, expect, it } from 'vitest'
import type { ModelRequest, Quirks } from '#agent/core/dialect.ts'
import { type Message, userText } from '#agent/core/message.ts'
import {
  lookTool,
  assistantMessage,
  createChatRequest,
  helloMessage,
  lookResult,
  renderJson,
  renderText,
  type SentBody,
} from '../support/chat-requests.ts'
import { assistantText } from '../support/requests.ts'

describe('renderChatBody', () => {
  it('renders a streamed chat completion', () => {
    expect(renderJson({ maxTokens: 9, temperature: 0, reasoningEffort: 'low' })).toEqual({
      model: 'gpt',
      stream: true,
      stream_options: { include_usage: true },
      tools: [
        { type: 'function', function: { name: 'look', description: 'Looks.', parameters: lookTool.inputSchema } },
      ],
      max_completion_tokens: 9,
      temperature: 0,
      reasoning_effort: 'low',
      messages: [
        { role: 'system', content: 'Be kind.' },
        { role: 'user', content: 'hello' },
      ],
    })
  })

  it('has no tools field without tools', () => {
    expect(renderJson({ tools: [] })).not.toHaveProperty('tools')
  })

  it('begins with the bytes of the previous body', () => {
    const first = renderText(createChatRequest())
    const second = renderText(createChatRequest({ transcript: [helloMessage, assistantMessage, lookResult] }))
    const third = renderText(
      createChatRequest({ transcript: [helloMessage, assistantMessage, lookResult, userText('and then?')] }),
    )
    expect(second.startsWith(first.slice(0, -2))).toBe(true)
    expect(third.startsWith(second.slice(0, -2))).toBe(true)
  })

  it('renders the same bytes with and without caches', () => {
    const transcript = [helloMessage, assistantMessage, lookResult]
    renderText(createChatRequest({ transcript }))
    const cached = renderText(createChatRequest({ transcript }))
    const fresh = renderText(structuredClone(createChatRequest({ transcript })))
    expect(cached).toBe(fresh)
  })

  it('ends with the draft and the text for this request only', () => {
    const messages = renderJson({ draft: 'Once upon', instruction: 'Go on.' }).messages
    expect(messages.slice(-2)).toEqual([
      { role: 'assistant', content: 'Once upon' },
      { role: 'user', content: 'Go on.' },
    ])
  })

  it('omits images and schema keywords that a repair removes, in that request only', () => {
    const imageMessage: Message = {
      role: 'user',
      content: [
        { type: 'text', text: 'see' },
        { type: 'image', mediaType: 'image/png', data: 'AAAA' },
      ],
    }
    const body = renderText(
      createChatRequest({ transcript: [imageMessage], repairs: { images: 'left-out', schemas: 'plain' } }),
    )
    expect(body).not.toContain('AAAA')
    expect(body).not.toContain('^a')
    const unrepaired = renderText(createChatRequest({ transcript: [imageMessage] }))
    expect(unrepaired).toContain('data:image/png;base64,AAAA')
    expect(unrepaired).toContain('^a')
  })

  it('renders a long transcript like its parts', () => {
    const long = 'ö"\n'.repeat(30_000)
    const look = (id: string): Message => ({
      role: 'assistant',
      content: [{ type: 'call', id, name: 'look', input: {} }],
      stop: 'tools',
    })
    const createGroup = (n: number): Message[] => [
      userText(n % 7 ? `${n}` : `${n} ${long}`),
      look(`c${n}`),
      { ...lookResult, callId: `c${n}` } as Message,
      assistantText(`${n}`),
    ]
    const groups = Array.from({ length: 40 }, (_, n) => createGroup(n))
    const { messages } = renderJson({ transcript: groups.flat() })
    const alone = groups.flatMap((transcript) => renderJson({ transcript }).messages.slice(1))
    expect(messages.slice(1)).toEqual(alone)
  })

  it('renders a growing transcript like a new one', () => {
    const grown: Message[] = [helloMessage]
    const steps: readonly (readonly [Message[], Partial<ModelRequest>])[] = [
      [[assistantMessage, lookResult], {}],
      [[], { instruction: 'and now?' }],
      [[], { draft: 'so far ', instruction: 'go on' }],
      [[userText('über 漢字 😀')], {}],
      [[userText('x'.repeat(100_000))], {}],
      [[], { temperature: 1 }],
      [[{ role: 'assistant', content: [{ type: 'text', text: 'fine' }], stop: 'end' }, userText('next')], {}],
    ]
    for (const [messages, more] of steps) {
      grown.push(...messages)
      expect(renderText(createChatRequest({ transcript: grown, ...more }))).toBe(
        renderText(createChatRequest({ transcript: structuredClone(grown), ...more })),
      )
    }
  })

  it('has every message of a long history, once and in order', () => {
    const texts = Array.from({ length: 12_000 }, (_, n) => `${n}: "ünd so weiter" \\ ${'x'.repeat(n % 800)}`)
    const transcript = texts.map((text, n): Message => {
      const content = [{ type: 'text' as const, text }]
      return n % 2 ? { role: 'assistant', content, stop: 'end' } : { role: 'user', content }
    })
    const body = renderText(createChatRequest({ transcript: [...transcript, userText('and now?')] }))
    expect((JSON.parse(body) as SentBody).messages.map(({ content }) => content)).toEqual([
      'Be kind.',
      ...texts,
      'and now?',
    ])
  })

  it('replaces lone surrogates everywhere', () => {
    const loneSurrogate = '\ud83d'
    const transcript: Message[] = [
      userText(`a${loneSurrogate}`),
      {
        role: 'assistant',
        content: [{ type: 'call', id: '1', name: 'look', input: { at: loneSurrogate } }],
        stop: 'tools',
      },
      { role: 'tool', callId: '1', name: 'look', content: [{ type: 'text', text: loneSurrogate }], failed: false },
      userText('and?'),
      { role: 'assistant', content: [{ type: 'text', text: loneSurrogate }], stop: 'end' },
      userText(loneSurrogate),
    ]
    const body = renderText(createChatRequest({ system: loneSurrogate, transcript, draft: loneSurrogate }))
    expect(body.isWellFormed()).toBe(true)
    expect(JSON.stringify(JSON.parse(body)).includes('\\ud83d')).toBe(false)
  })
})

describe('cache marks', () => {
  const quirks: Quirks = { cacheMarks: 'native' }
  const countMarks = (body: string) => body.split('"cache_control"').length - 1
  const removeMarks = (body: string) => body.replaceAll(/,"cache_control":\{[^}]*\}/g, '')
  const createTurn = (n: number): readonly Message[] => {
    const content = [{ type: 'call', id: `c${n}`, name: 'look', input: {} }] as const
    return [
      { role: 'assistant', content, stop: 'tools' },
      { ...lookResult, callId: `c${n}`, content: [{ type: 'text', text: `tree ${n}` }] } as Message,
    ]
  }

  it('are on the system message and the last messages with text, at most four', () => {
    const transcript = [helloMessage, ...createTurn(1), ...createTurn(2), ...createTurn(3)]
    const { messages } = renderJson({ transcript, cache: '5m' }, quirks)
    const marked = messages.flatMap(({ role, content }) =>
      ((content as { text: string; cache_control?: object }[] | null) ?? []).flatMap((part) =>
        part.cache_control ? [[role, part.text, part.cache_control]] : [],
      ),
    )
    expect(marked).toEqual([
      ['system', 'Be kind.', { type: 'ephemeral' }],
      ['tool', 'tree 2', { type: 'ephemeral' }],
      ['tool', 'tree 3', { type: 'ephemeral' }],
    ])
    const conversation = [
      helloMessage,
      ...[1, 2, 3].flatMap((n): Message[] => [
        { role: 'assistant', content: [{ type: 'text', text: `${n}` }], stop: 'end' },
        userText(`and ${n}?`),
      ]),
    ]
    expect(countMarks(renderText(createChatRequest({ transcript: conversation, cache: '5m' }), quirks))).toBe(4)
  })

  it('have a lifetime of an hour if requested', () => {
    expect(renderText(createChatRequest({ cache: '1h' }), quirks)).toContain(
      '"cache_control":{"type":"ephemeral","ttl":"1h"}',
    )
  })

  it('are absent when the request or the quirks do not enable them', () => {
    expect(countMarks(renderText(createChatRequest(), quirks))).toBe(0)
    expect(countMarks(renderText(createChatRequest({ cache: '5m' }), {}))).toBe(0)
    expect(countMarks(renderText(createChatRequest({ cache: '5m' }), { cacheMarks: 'none' }))).toBe(0)
  })

  it('are the only change in the messages of earlier requests', () => {
    const transcript: Message[] = [helloMessage]
    let before = renderText(createChatRequest({ transcript, cache: '5m' }), quirks)
    for (let n = 1; n < 8; n++) {
      transcript.push(...createTurn(n))
      if (n % 3 === 0)
        transcript.push({ role: 'assistant', content: [{ type: 'text', text: 'So.' }], stop: 'end' }, userText('on'))
      const after = renderText(createChatRequest({ transcript, cache: '5m' }), quirks)
      expect(countMarks(after)).toBeLessThanOrEqual(4)
      expect(removeMarks(after).startsWith(removeMarks(before).slice(0, -2))).toBe(true)
      expect(after).toBe(
        renderText(createChatRequest({ transcript: structuredClone(transcript), cache: '5m' }), quirks),
      )
      before = after
    }
  })
})
