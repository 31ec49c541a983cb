import { describe, expect, it } from 'vitest'
import type { ModelRequest } from '../../../../src/agent/model/dialect.ts'
import { type Message, type ToolCallPart, userText } from '../../../../src/agent/model/message.ts'
import type { Quirks } from '../../../../src/agent/model/dialect.ts'
import { renderChatBody as bytesOf } from '../../../../src/agent/providers/openai/chat.ts'

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
const bodyOf = (asked: ModelRequest, quirks?: Quirks) => new TextDecoder().decode(bytesOf(asked, quirks))
type Sent = Record<string, unknown> & { readonly messages: readonly Record<string, unknown>[] }
const sent = (more: Partial<ModelRequest> = {}, quirks?: Quirks) => JSON.parse(bodyOf(request(more), quirks)) as Sent
const asked: Message = {
  role: 'assistant',
  content: [
    { type: 'thinking', text: 'hm' },
    { type: 'text', text: 'Let me look.' },
    { type: 'call', id: 'c1', name: 'look', input: { at: 'a' } },
  ],
  stop: 'tools',
}
const done = (text: string): Message => ({ role: 'assistant', content: [{ type: 'text', text }], stop: 'end' })
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
    const messages = sent({ draft: 'Once upon', say: 'Go on.' }).messages
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

  it('of a long transcript has every message in its place, whatever is written together', () => {
    const long = 'ö"\n'.repeat(30_000)
    const look = (id: string): Message => ({
      role: 'assistant',
      content: [{ type: 'call', id, name: 'look', input: {} }],
      stop: 'tools',
    })
    const said = (n: number): Message[] => [
      userText(n % 7 ? `${n}` : `${n} ${long}`),
      look(`c${n}`),
      { ...found, callId: `c${n}` } as Message,
      done(`${n}`),
    ]
    const groups = Array.from({ length: 40 }, (_, n) => said(n))
    const { messages } = sent({ transcript: groups.flat() })
    const alone = groups.flatMap((transcript) => sent({ transcript }).messages.slice(1))
    expect(messages.slice(1)).toEqual(alone)
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

  it('has every message of a long history, once and in order', () => {
    const said = Array.from({ length: 12_000 }, (_, n) => `${n}: "ünd so weiter" \\ ${'x'.repeat(n % 800)}`)
    const transcript = said.map((text, n): Message => {
      const content = [{ type: 'text' as const, text }]
      return n % 2 ? { role: 'assistant', content, stop: 'end' } : { role: 'user', content }
    })
    const body = bodyOf(request({ transcript: [...transcript, userText('and now?')] }))
    expect((JSON.parse(body) as Sent).messages.map(({ content }) => content)).toEqual(['Be kind.', ...said, 'and now?'])
  })

  it('is well-formed whatever was said', () => {
    const half = '\ud83d'
    const transcript: Message[] = [
      userText(`a${half}`),
      { role: 'assistant', content: [{ type: 'call', id: '1', name: 'look', input: { at: half } }], stop: 'tools' },
      { role: 'tool', callId: '1', name: 'look', content: [{ type: 'text', text: half }], failed: false },
      userText('and?'),
      { role: 'assistant', content: [{ type: 'text', text: half }], stop: 'end' },
      userText(half),
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
  ]
  it.each(cases)('%s', (_name, message, expected) => {
    const before: readonly Message[] =
      message.role === 'tool'
        ? [hello, { ...asked, content: [{ type: 'call', id: message.callId, name: 'look', input: {} }] }]
        : []
    const after: readonly Message[] =
      message.role === 'assistant' ? [{ role: 'tool', callId: '1', name: 'look', content: [], failed: false }] : []
    const transcript = [...(message.role === 'assistant' ? [hello] : before), message, ...after]
    expect(
      sent({ transcript }).messages.find(({ role }, at) => at > 1 && role === message.role) ??
        sent({ transcript }).messages[1],
    ).toEqual(expected)
  })
})

const image = { type: 'image', mediaType: 'image/png', data: 'AAAA' } as const
const shown = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }
const seen: Message = { ...found, content: [{ type: 'text', text: 'here' }, image] }

describe('images in results of tools', () => {
  const twice: Message = {
    role: 'assistant',
    content: [
      { type: 'call', id: 'c1', name: 'look', input: {} },
      { type: 'call', id: 'c2', name: 'look', input: {} },
    ],
    stop: 'tools',
  }
  const second = { ...seen, callId: 'c2' }

  it('stand behind the results, in a message of the user', () => {
    expect(sent({ transcript: [hello, twice, seen, second] }).messages.slice(3)).toEqual([
      { role: 'tool', tool_call_id: 'c1', content: 'here\n[an image, shown below]' },
      { role: 'tool', tool_call_id: 'c2', content: 'here\n[an image, shown below]' },
      { role: 'user', content: [{ type: 'text', text: '[The images of the results above:]' }, shown, shown] },
    ])
  })

  it('stand in the message of the user that comes next', () => {
    const { messages } = sent({ transcript: [hello, asked, seen], say: 'Go on.' })
    expect(messages.at(-1)).toEqual({
      role: 'user',
      content: [{ type: 'text', text: '[The image of the result above:]' }, shown, { type: 'text', text: 'Go on.' }],
    })
    expect(messages.filter(({ role }) => role === 'user')).toHaveLength(2)
  })

  it('are named where they are left out', () => {
    const { messages } = sent({ transcript: [hello, asked, seen], repairs: { images: 'left-out' } })
    expect(messages.at(-1)).toMatchObject({ role: 'tool', content: expect.stringContaining('left out') })
  })

  it('leave the beginning as it was, call by call', () => {
    const first = bodyOf(request({ transcript: [hello, asked, seen] }))
    const done: Message = { role: 'assistant', content: [{ type: 'text', text: 'A tree.' }], stop: 'end' }
    const transcript: Message[] = [hello, asked, seen]
    expect(bodyOf(request({ transcript }))).toBe(first)
    transcript.push(done, userText('and?'))
    const second = bodyOf(request({ transcript }))
    expect(second.startsWith(first.slice(0, -2))).toBe(true)
    expect(second).toBe(bodyOf(request({ transcript: structuredClone(transcript) })))
  })
})

describe('quirks', () => {
  it.each<readonly [string, Quirks, Partial<ModelRequest>, object]>([
    [
      'the role of the system text',
      { systemRole: 'developer' },
      {},
      { messages: [{ role: 'developer' }, { role: 'user' }] },
    ],
    ['the field for the length', { maxTokensField: 'max_tokens' }, { maxTokens: 9 }, { max_tokens: 9 }],
    ['a length that nobody named', { defaultMaxTokens: 7, maxTokensField: 'max_tokens' }, {}, { max_tokens: 7 }],
    ['a length that somebody named', { defaultMaxTokens: 7 }, { maxTokens: 9 }, { max_completion_tokens: 9 }],
    ['the only temperature', { temperature: 0.5 }, { temperature: 1 }, { temperature: 0.5 }],
    ['the effort it knows', { efforts: ['low', 'high'] }, { reasoningEffort: 'ultra' }, { reasoning_effort: 'high' }],
    ['effort as an object', { reasoning: 'object' }, { reasoningEffort: 'low' }, { reasoning: { effort: 'low' } }],
    ['thinking as a switch', { reasoning: 'toggle' }, { reasoningEffort: 'low' }, { thinking: { type: 'enabled' } }],
    [
      'a switch beside the efforts',
      { reasoning: 'toggle', efforts: ['none', 'high', 'max'] },
      { reasoningEffort: 'ultra' },
      { thinking: { type: 'enabled' }, reasoning_effort: 'max' },
    ],
    [
      'the switch turned off',
      { reasoning: 'toggle', efforts: ['none', 'high'] },
      { reasoningEffort: 'none' },
      { thinking: { type: 'disabled' } },
    ],
    ['more of the body', { body: { plugins: [] } }, {}, { plugins: [] }],
  ])('say %s', (_name, quirks, more, expected) => {
    expect(sent(more, quirks)).toMatchObject(expected)
  })

  it.each<readonly [string, Quirks, Partial<ModelRequest>, string]>([
    ['a temperature', { temperature: 'omitted' }, { temperature: 1 }, 'temperature'],
    ['an effort', { reasoning: 'none' }, { reasoningEffort: 'low' }, 'reasoning_effort'],
    [
      'an effort beside the switch turned off',
      { reasoning: 'toggle', efforts: ['none'] },
      { reasoningEffort: 'none' },
      'reasoning_effort',
    ],
    ['a thought about thinking that nobody asked for', { reasoning: 'toggle' }, {}, 'thinking'],
  ])('leave out %s', (_name, quirks, more, field) => {
    expect(sent(more, quirks)).not.toHaveProperty(field)
  })

  it('make all content parts', () => {
    expect(
      sent({ transcript: [hello, asked, found] }, { content: 'parts' }).messages.map(({ content }) => content),
    ).toEqual(['Be kind.', 'hello', 'Let me look.', 'a tree'].map((text) => [{ type: 'text', text }]))
  })

  it('keep results of tools text', () => {
    const transcript = [hello, asked, found]
    expect(sent({ transcript }, { content: 'string-results' }).messages.at(-1)).toMatchObject({ content: 'a tree' })
    const repaired = sent({ transcript, repairs: { toolContent: 'text' } }, { content: 'parts' })
    expect(repaired.messages.at(-1)).toMatchObject({ content: 'a tree' })
  })
})

describe('thinking that has to come back', () => {
  const answer = (content: Extract<Message, { role: 'assistant' }>['content']): Message => ({
    role: 'assistant',
    content,
    stop: 'tools',
  })
  const call = { type: 'call', id: 'c1', name: 'look', input: {} } as const
  const clear = { type: 'thinking', text: 'hm' } as const
  const foreign = { type: 'thinking', text: 'ho', sealed: { by: 'anthropic', data: 'x' } } as const
  const details = [{ type: 'reasoning.encrypted', data: 'abc', index: 0 }]
  const own = { type: 'thinking', text: 'hi', sealed: { by: 'openai-chat', data: details } } as const
  const echoed = (message: Message, quirks: Quirks, more: Partial<ModelRequest> = {}) =>
    sent({ transcript: [hello, message, found], ...more }, quirks).messages[2]

  it('comes back in its field, where it came in the clear', () => {
    expect(echoed(answer([clear, call]), { echoThinking: 'reasoning_content' })).toMatchObject({
      reasoning_content: 'hm',
    })
    expect(echoed(answer([clear, call]), { echoThinking: 'reasoning' })).toMatchObject({ reasoning: 'hm' })
    expect(echoed(answer([clear, call]), {})).not.toHaveProperty('reasoning_content')
  })

  it('of another dialect does not; calls have a blank instead where they need one', () => {
    expect(echoed(answer([foreign, call]), { echoThinking: 'reasoning_content' })).toMatchObject({
      reasoning_content: ' ',
    })
    expect(echoed(answer([foreign, call]), { echoThinking: 'reasoning' })).not.toHaveProperty('reasoning')
    expect(
      echoed(answer([clear, call]), { echoThinking: 'reasoning_content' }, { repairs: { thinking: 'left-out' } }),
    ).toMatchObject({
      reasoning_content: ' ',
    })
  })

  it('comes back sealed, as it was', () => {
    const quirks: Quirks = { echoThinking: 'reasoning_details' }
    expect(echoed(answer([own, call]), quirks)).toMatchObject({ reasoning_details: details })
    expect(echoed(answer([foreign, call]), quirks)).not.toHaveProperty('reasoning_details')
    expect(echoed(answer([own, call]), quirks, { repairs: { thinking: 'left-out' } })).not.toHaveProperty(
      'reasoning_details',
    )
  })

  it('comes back with the call it is sealed in, and calls of other models have a stand-in', () => {
    const sealed = { ...call, sealed: { by: 'openai-chat', data: { google: { thought_signature: 's' } } } }
    const alien = { ...call, id: 'c2', sealed: { by: 'another', data: 'x' } }
    const unsealed = { google: { thought_signature: 'skip' } }
    const extras = (calls: readonly ToolCallPart[], quirks: Quirks) => {
      const { tool_calls: sentCalls } = echoed(answer(calls), quirks) as { tool_calls: { extra_content?: object }[] }
      return sentCalls.map(({ extra_content: extra }) => extra)
    }
    expect(extras([sealed, alien], { sealedCalls: { unsealed } })).toEqual([sealed.sealed.data, undefined])
    expect(extras([alien, { ...call, id: 'c3' }], { sealedCalls: { unsealed } })).toEqual([unsealed, undefined])
    expect(extras([alien], { sealedCalls: {} })).toEqual([undefined])
    expect(extras([sealed], {})).toEqual([undefined])
  })
})

describe('marks for a cache', () => {
  const quirks: Quirks = { cacheMarks: 'native' }
  const marksIn = (body: string) => body.split('"cache_control"').length - 1
  const bare = (body: string) => body.replaceAll(/,"cache_control":\{[^}]*\}/g, '')
  const turn = (n: number): readonly Message[] => {
    const content = [{ type: 'call', id: `c${n}`, name: 'look', input: {} }] as const
    return [
      { role: 'assistant', content, stop: 'tools' },
      { ...found, callId: `c${n}`, content: [{ type: 'text', text: `tree ${n}` }] },
    ]
  }

  it('stand on the system and on the last messages with words, four at most', () => {
    const transcript = [hello, ...turn(1), ...turn(2), ...turn(3)]
    const { messages } = sent({ transcript, cache: '5m' }, quirks)
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
    const talk = [
      hello,
      ...[1, 2, 3].flatMap((n): Message[] => [
        { role: 'assistant', content: [{ type: 'text', text: `${n}` }], stop: 'end' },
        userText(`and ${n}?`),
      ]),
    ]
    expect(marksIn(bodyOf(request({ transcript: talk, cache: '5m' }), quirks))).toBe(4)
  })

  it('say how long', () => {
    expect(bodyOf(request({ cache: '1h' }), quirks)).toContain('"cache_control":{"type":"ephemeral","ttl":"1h"}')
  })

  it('are not made where nobody asks for them, or nobody reads them', () => {
    expect(marksIn(bodyOf(request(), quirks))).toBe(0)
    expect(marksIn(bodyOf(request({ cache: '5m' }), {}))).toBe(0)
    expect(marksIn(bodyOf(request({ cache: '5m' }), { cacheMarks: 'none' }))).toBe(0)
  })

  it('are all that changes in what was sent before', () => {
    const transcript: Message[] = [hello]
    let before = bodyOf(request({ transcript, cache: '5m' }), quirks)
    for (let n = 1; n < 8; n++) {
      transcript.push(...turn(n))
      if (n % 3 === 0)
        transcript.push({ role: 'assistant', content: [{ type: 'text', text: 'So.' }], stop: 'end' }, userText('on'))
      const after = bodyOf(request({ transcript, cache: '5m' }), quirks)
      expect(marksIn(after)).toBeLessThanOrEqual(4)
      expect(bare(after).startsWith(bare(before).slice(0, -2))).toBe(true)
      expect(after).toBe(bodyOf(request({ transcript: structuredClone(transcript), cache: '5m' }), quirks))
      before = after
    }
  })
})
