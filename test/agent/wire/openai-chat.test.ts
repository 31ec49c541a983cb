import { describe, expect, it } from 'vitest'
import type { ModelRequest } from '../../../src/agent/model/dialect.ts'
import { type Message, userText } from '../../../src/agent/model/message.ts'
import { bodyOf as bytesOf, render } from '../../../src/agent/wire/openai-chat.ts'

const tools = [
  {
    name: 'look',
    description: 'Looks.',
    inputSchema: { type: 'object', properties: { at: { type: 'string', pattern: '^a' } } },
  },
]
const hello = userText('hello')
const request = (more: Partial<ModelRequest> = {}): ModelRequest => ({
  model: 'gpt',
  system: 'Be kind.',
  transcript: [hello],
  tools,
  ...more,
})
const bodyOf = (asked: ModelRequest) => new TextDecoder().decode(bytesOf(asked))
const sent = (more: Partial<ModelRequest> = {}) => JSON.parse(bodyOf(request(more))) as Record<string, unknown>
const asked: Message = {
  role: 'assistant',
  content: [
    { type: 'thinking', text: 'hm' },
    { type: 'text', text: 'Let me look.' },
    { type: 'call', id: 'c1', name: 'look', input: { at: 'a' } },
  ],
  stop: 'tools',
}
const found: Message = {
  role: 'tool',
  callId: 'c1',
  name: 'look',
  content: [{ type: 'text', text: 'a tree' }],
  failed: false,
}

describe('the body of a request', () => {
  it('is a streamed chat completion', () => {
    expect(sent({ maxTokens: 9, temperature: 0, reasoningEffort: 'low' })).toEqual({
      model: 'gpt',
      stream: true,
      stream_options: { include_usage: true },
      tools: [
        { type: 'function', function: { name: 'look', description: 'Looks.', parameters: tools[0]?.inputSchema } },
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

  it('names no tools when there are none', () => {
    expect(sent({ tools: [] })).not.toHaveProperty('tools')
  })

  it('begins with the body of the call before, byte for byte', () => {
    const first = bodyOf(request())
    const second = bodyOf(request({ transcript: [hello, asked, found] }))
    const third = bodyOf(request({ transcript: [hello, asked, found, userText('and then?')] }))
    expect(second.startsWith(first.slice(0, -2))).toBe(true)
    expect(third.startsWith(second.slice(0, -2))).toBe(true)
  })

  it('is the same from kept renderings as from fresh ones', () => {
    const transcript = [hello, asked, found]
    bodyOf(request({ transcript }))
    const kept = bodyOf(request({ transcript }))
    const fresh = bodyOf(structuredClone(request({ transcript })))
    expect(kept).toBe(fresh)
  })

  it('ends with the draft of an answer and with what is said for this call only', () => {
    const messages = sent({ draft: 'Once upon', say: 'Go on.' })['messages'] as object[]
    expect(messages.slice(-2)).toEqual([
      { role: 'assistant', content: 'Once upon' },
      { role: 'user', content: 'Go on.' },
    ])
  })

  it('leaves out what a repair takes away, and only for that call', () => {
    const picture: Message = {
      role: 'user',
      content: [
        { type: 'text', text: 'see' },
        { type: 'image', mediaType: 'image/png', data: 'AAAA' },
      ],
    }
    const body = bodyOf(request({ transcript: [picture], repairs: { images: 'left-out', schemas: 'plain' } }))
    expect(body).not.toContain('AAAA')
    expect(body).not.toContain('^a')
    const whole = bodyOf(request({ transcript: [picture] }))
    expect(whole).toContain('data:image/png;base64,AAAA')
    expect(whole).toContain('^a')
  })

  it('of a transcript that grows is the same as one made anew', () => {
    const grown: Message[] = [hello]
    const steps: readonly (readonly [Message[], Partial<ModelRequest>])[] = [
      [[asked, found], {}],
      [[], { say: 'and now?' }],
      [[], { draft: 'so far ', say: 'go on' }],
      [[userText('über 漢字 😀')], {}],
      [[userText('x'.repeat(100_000))], {}],
      [[], { temperature: 1 }],
      [[{ role: 'assistant', content: [{ type: 'text', text: 'fine' }], stop: 'end' }, userText('next')], {}],
    ]
    for (const [messages, more] of steps) {
      grown.push(...messages)
      expect(bodyOf(request({ transcript: grown, ...more }))).toBe(
        bodyOf(request({ transcript: structuredClone(grown), ...more })),
      )
    }
  })

  it('is well-formed whatever was said', () => {
    const half = '\ud83d'
    const transcript: Message[] = [
      userText(`a${half}`),
      { role: 'assistant', content: [{ type: 'call', id: '1', name: 'look', input: { at: half } }], stop: 'tools' },
      { role: 'tool', callId: '1', name: 'look', content: [{ type: 'text', text: half }], failed: false },
    ]
    const body = bodyOf(request({ system: half, transcript, draft: half }))
    expect(body.isWellFormed()).toBe(true)
    expect(JSON.stringify(JSON.parse(body)).includes('\\ud83d')).toBe(false)
  })
})

describe('a message', () => {
  const cases: readonly (readonly [string, Message, object])[] = [
    ['of a user is text', userText('hi'), { role: 'user', content: 'hi' }],
    [
      'with an image is parts',
      {
        role: 'user',
        content: [
          { type: 'text', text: 'what is it?' },
          { type: 'image', mediaType: 'image/*;url', data: 'https://x.test/a.png' },
        ],
      },
      {
        role: 'user',
        content: [
          { type: 'text', text: 'what is it?' },
          { type: 'image_url', image_url: { url: 'https://x.test/a.png' } },
        ],
      },
    ],
    [
      'that asks for tools has no thinking in it',
      asked,
      {
        role: 'assistant',
        content: 'Let me look.',
        tool_calls: [{ id: 'c1', type: 'function', function: { name: 'look', arguments: '{"at":"a"}' } }],
      },
    ],
    [
      'with arguments that were no JSON is sent with none',
      { role: 'assistant', content: [{ type: 'call', id: '1', name: 'look', input: {}, raw: '{"at' }], stop: 'tools' },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: '1', type: 'function', function: { name: 'look', arguments: '{}' } }],
      },
    ],
    ['of a tool is text', found, { role: 'tool', tool_call_id: 'c1', content: 'a tree' }],
    [
      'of a tool with an image names it',
      {
        role: 'tool',
        callId: '1',
        name: 'look',
        content: [
          { type: 'text', text: 'here' },
          { type: 'image', mediaType: 'image/png', data: 'AAAA' },
        ],
        failed: false,
      },
      { role: 'tool', tool_call_id: '1', content: 'here\n[an image, not shown]' },
    ],
  ]
  it.each(cases)('%s', (_name, message, expected) => {
    expect(render(message)).toEqual(expected)
  })
})
