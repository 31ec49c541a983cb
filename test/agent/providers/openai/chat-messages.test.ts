import { describe, expect, it } from 'vitest'
import type { ModelRequest, Quirks } from '#agent/core/dialect.ts'
import { type Message, type ToolCallPart, userText } from '#agent/core/message.ts'
import {
  assistantMessage,
  createChatRequest,
  helloMessage,
  imageResult,
  lookResult,
  renderJson,
  renderText,
} from '../support/chat-requests.ts'

describe('a rendered message', () => {
  const cases: readonly (readonly [string, Message, object])[] = [
    ['of a user is text', userText('hi'), { role: 'user', content: 'hi' }],
    [
      'with an image has parts',
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
      'with tool calls has no thinking',
      assistantMessage,
      {
        role: 'assistant',
        content: 'Let me look.',
        tool_calls: [{ id: 'c1', type: 'function', function: { name: 'look', arguments: '{"at":"a"}' } }],
      },
    ],
    [
      'with invalid arguments has empty arguments',
      { role: 'assistant', content: [{ type: 'call', id: '1', name: 'look', input: {}, raw: '{"at' }], stop: 'tools' },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: '1', type: 'function', function: { name: 'look', arguments: '{}' } }],
      },
    ],
    ['of a tool is text', lookResult, { role: 'tool', tool_call_id: 'c1', content: 'a tree' }],
  ]
  it.each(cases)('%s', (_name, message, expected) => {
    const before: readonly Message[] =
      message.role === 'tool'
        ? [
            helloMessage,
            {
              ...assistantMessage,
              content: [{ type: 'call', id: message.callId, name: 'look', input: {} }],
            } as Message,
          ]
        : []
    const after: readonly Message[] =
      message.role === 'assistant' ? [{ role: 'tool', callId: '1', name: 'look', content: [], failed: false }] : []
    const transcript = [...(message.role === 'assistant' ? [helloMessage] : before), message, ...after]
    expect(
      renderJson({ transcript }).messages.find(({ role }, at) => at > 1 && role === message.role) ??
        renderJson({ transcript }).messages[1],
    ).toEqual(expected)
  })
})

const imageUrlPart = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }
describe('images in tool results', () => {
  const twoCalls: Message = {
    role: 'assistant',
    content: [
      { type: 'call', id: 'c1', name: 'look', input: {} },
      { type: 'call', id: 'c2', name: 'look', input: {} },
    ],
    stop: 'tools',
  }
  const second = { ...imageResult, callId: 'c2' }

  it('are in a user message after the results', () => {
    expect(renderJson({ transcript: [helloMessage, twoCalls, imageResult, second] }).messages.slice(3)).toEqual([
      { role: 'tool', tool_call_id: 'c1', content: 'here\n[an image, shown below]' },
      { role: 'tool', tool_call_id: 'c2', content: 'here\n[an image, shown below]' },
      {
        role: 'user',
        content: [{ type: 'text', text: '[The images of the results above:]' }, imageUrlPart, imageUrlPart],
      },
    ])
  })

  it('are in the next user message', () => {
    const { messages } = renderJson({
      transcript: [helloMessage, assistantMessage, imageResult],
      instruction: 'Go on.',
    })
    expect(messages.at(-1)).toEqual({
      role: 'user',
      content: [
        { type: 'text', text: '[The image of the result above:]' },
        imageUrlPart,
        { type: 'text', text: 'Go on.' },
      ],
    })
    expect(messages.filter(({ role }) => role === 'user')).toHaveLength(2)
  })

  it('are replaced by a note when they are left out', () => {
    const { messages } = renderJson({
      transcript: [helloMessage, assistantMessage, imageResult],
      repairs: { images: 'left-out' },
    })
    expect(messages.at(-1)).toMatchObject({ role: 'tool', content: expect.stringContaining('left out') })
  })

  it('do not change the beginning of the body', () => {
    const first = renderText(createChatRequest({ transcript: [helloMessage, assistantMessage, imageResult] }))
    const done: Message = { role: 'assistant', content: [{ type: 'text', text: 'A tree.' }], stop: 'end' }
    const transcript: Message[] = [helloMessage, assistantMessage, imageResult]
    expect(renderText(createChatRequest({ transcript }))).toBe(first)
    transcript.push(done, userText('and?'))
    const second = renderText(createChatRequest({ transcript }))
    expect(second.startsWith(first.slice(0, -2))).toBe(true)
    expect(second).toBe(renderText(createChatRequest({ transcript: structuredClone(transcript) })))
  })
})

describe('thinking that is sent back', () => {
  const assistant = (content: Extract<Message, { role: 'assistant' }>['content']): Message => ({
    role: 'assistant',
    content,
    stop: 'tools',
  })
  const call = { type: 'call', id: 'c1', name: 'look', input: {} } as const
  const plainThinking = { type: 'thinking', text: 'hm' } as const
  const foreignThinking = { type: 'thinking', text: 'ho', sealed: { by: 'anthropic', data: 'x' } } as const
  const details = [{ type: 'reasoning.encrypted', data: 'abc', index: 0 }]
  const ownThinking = { type: 'thinking', text: 'hi', sealed: { by: 'openai-chat', data: details } } as const
  const renderAssistant = (message: Message, quirks: Quirks, more: Partial<ModelRequest> = {}) =>
    renderJson({ transcript: [helloMessage, message, lookResult], ...more }, quirks).messages[2]

  it('is in the field of the quirks when it is plain', () => {
    expect(renderAssistant(assistant([plainThinking, call]), { echoThinking: 'reasoning_content' })).toMatchObject({
      reasoning_content: 'hm',
    })
    expect(renderAssistant(assistant([plainThinking, call]), { echoThinking: 'reasoning' })).toMatchObject({
      reasoning: 'hm',
    })
    expect(renderAssistant(assistant([plainThinking, call]), {})).not.toHaveProperty('reasoning_content')
  })

  it('of another dialect is dropped, and a call has a blank where one is required', () => {
    expect(renderAssistant(assistant([foreignThinking, call]), { echoThinking: 'reasoning_content' })).toMatchObject({
      reasoning_content: ' ',
    })
    expect(renderAssistant(assistant([foreignThinking, call]), { echoThinking: 'reasoning' })).not.toHaveProperty(
      'reasoning',
    )
    expect(
      renderAssistant(
        assistant([plainThinking, call]),
        { echoThinking: 'reasoning_content' },
        { repairs: { thinking: 'left-out' } },
      ),
    ).toMatchObject({
      reasoning_content: ' ',
    })
  })

  it('is unchanged when this dialect sealed it', () => {
    const quirks: Quirks = { echoThinking: 'reasoning_details' }
    expect(renderAssistant(assistant([ownThinking, call]), quirks)).toMatchObject({ reasoning_details: details })
    expect(renderAssistant(assistant([foreignThinking, call]), quirks)).not.toHaveProperty('reasoning_details')
    expect(
      renderAssistant(assistant([ownThinking, call]), quirks, { repairs: { thinking: 'left-out' } }),
    ).not.toHaveProperty('reasoning_details')
  })

  it('is on its call as a seal, and the first foreign call has a placeholder', () => {
    const sealed = { ...call, sealed: { by: 'openai-chat', data: { google: { thought_signature: 's' } } } }
    const foreignCall = { ...call, id: 'c2', sealed: { by: 'another', data: 'x' } }
    const unsealed = { google: { thought_signature: 'skip' } }
    const listExtras = (calls: readonly ToolCallPart[], quirks: Quirks) => {
      const { tool_calls: sentCalls } = renderAssistant(assistant(calls), quirks) as {
        tool_calls: { extra_content?: object }[]
      }
      return sentCalls.map(({ extra_content: extra }) => extra)
    }
    expect(listExtras([sealed, foreignCall], { sealedCalls: { unsealed } })).toEqual([sealed.sealed.data, undefined])
    expect(listExtras([foreignCall, { ...call, id: 'c3' }], { sealedCalls: { unsealed } })).toEqual([
      unsealed,
      undefined,
    ])
    expect(listExtras([foreignCall], { sealedCalls: {} })).toEqual([undefined])
    expect(listExtras([sealed], {})).toEqual([undefined])
  })
})
