/** Requests that every dialect must be able to send, and texts that their bodies must or must not contain. */

import type { ModelRequest } from '#agent/core/dialect.ts'
import type { ToolSchema } from '#agent/core/request/tool-schema.ts'
import { type AssistantMessage, callsIn, type Message, userText } from '#agent/core/message.ts'

export const tools: readonly ToolSchema[] = ['look', 'find'].map((name) => ({
  name,
  description: `Tries to ${name}.`,
  inputSchema: { type: 'object', properties: { at: { type: 'string', pattern: '^[a-z]' } } },
}))

/** A PNG with one pixel. */
export const pixelPng =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const image = { type: 'image', mediaType: 'image/png', data: pixelPng } as const

export const assistantText = (text: string): AssistantMessage => ({
  role: 'assistant',
  content: [{ type: 'text', text }],
  stop: 'end',
})
export const assistantCalls = (...ids: readonly string[]): AssistantMessage => ({
  role: 'assistant',
  content: ids.map((id) => ({ type: 'call', id, name: 'look', input: { at: id } })),
  stop: 'tools',
})
export const toolResult = (
  callId: string,
  text: string,
  more: Partial<Extract<Message, { role: 'tool' }>> = {},
): Message => ({
  role: 'tool',
  callId,
  name: 'look',
  content: [{ type: 'text', text }],
  failed: false,
  ...more,
})

/** Creates a conversation with these replies and a result for every tool call. */
export function appendToolResults(replies: readonly AssistantMessage[]): readonly Message[] {
  const transcript: Message[] = [userText('hello')]
  for (const reply of replies) {
    transcript.push(reply)
    const calls = callsIn(reply)
    for (const { id, name } of calls) transcript.push(toolResult(id, `result of ${id}`, { name }))
    if (!calls.length) transcript.push(userText('and then?'))
  }
  return transcript
}

const loneSurrogate = '\ud83d'
type RequestCase = {
  readonly request: ModelRequest
  readonly mustContain?: readonly string[]
  readonly mustNotContain?: readonly string[]
}

const createRequest = (transcript: readonly Message[], more: Partial<ModelRequest> = {}): ModelRequest => ({
  model: 'model-1',
  system: 'Be kind.',
  transcript,
  tools,
  maxTokens: 4_000,
  ...more,
})

const imageResultTranscript: readonly Message[] = [
  userText('what is there?'),
  assistantCalls('c1'),
  toolResult('c1', 'here', { content: [{ type: 'text', text: 'here it is' }, image] }),
]
const imageTranscript: readonly Message[] = [{ role: 'user', content: [{ type: 'text', text: 'what is it?' }, image] }]
const foreignThinkingTranscript: readonly Message[] = [
  userText('think'),
  {
    role: 'assistant',
    content: [
      { type: 'thinking', text: 'foreign thought', sealed: { by: 'another', data: { signature: 'foreign-seal' } } },
      { type: 'thinking', text: 'thought without a seal' },
      { type: 'text', text: 'thought about it' },
      { type: 'call', id: 'c1', name: 'look', input: {}, sealed: { by: 'another', data: 'foreign-seal' } },
    ],
    stop: 'tools',
  },
  toolResult('c1', 'seen'),
]

export const requests: Readonly<Record<string, RequestCase>> & { readonly 'a greeting': RequestCase } = {
  'a greeting': { request: createRequest([userText('hello')]), mustContain: ['Be kind.', 'hello', 'look', 'model-1'] },
  'without tools and without a system prompt': {
    request: createRequest([userText('hello')], { tools: [], system: '' }),
    mustContain: ['hello'],
  },
  'with options': {
    request: createRequest([userText('hello')], { maxTokens: 900, temperature: 0.5, reasoningEffort: 'low' }),
    mustContain: ['hello'],
  },
  'parallel tool calls with results, one of them failed and one missing': {
    request: createRequest([
      userText('go'),
      assistantCalls('c1', 'c2', 'c3'),
      toolResult('c1', 'one'),
      toolResult('c3', 'no', { failed: true }),
    ]),
    mustContain: ['one', 'no', 'c2'],
  },
  'a result with an image': { request: createRequest(imageResultTranscript), mustContain: ['here it is'] },
  'a result with an image when results must be text': {
    request: createRequest(imageResultTranscript, { repairs: { toolContent: 'text' } }),
    mustContain: ['here it is'],
  },
  'an empty result': { request: createRequest([userText('go'), assistantCalls('c1'), toolResult('c1', '')]) },
  'an image': { request: createRequest(imageTranscript), mustContain: ['what is it?', pixelPng] },
  'images left out': {
    request: createRequest([...imageTranscript, assistantText('a dot'), ...imageResultTranscript], {
      repairs: { images: 'left-out' },
    }),
    mustContain: ['what is it?', 'here it is'],
    mustNotContain: [pixelPng],
  },
  'an image URL': {
    request: createRequest([
      { role: 'user', content: [{ type: 'image', mediaType: 'image/*;url', data: 'https://x.test/a.png' }] },
    ]),
  },
  'thinking of other dialects': {
    request: createRequest(foreignThinkingTranscript),
    mustContain: ['thought about it', 'seen'],
    mustNotContain: ['foreign-seal'],
  },
  'thinking left out': {
    request: createRequest(foreignThinkingTranscript, { repairs: { thinking: 'left-out' }, reasoningEffort: 'high' }),
    mustContain: ['thought about it'],
    mustNotContain: ['foreign-seal'],
  },
  'simplified schemas': {
    request: createRequest([userText('hello')], { repairs: { schemas: 'plain' } }),
    mustNotContain: ['^[a-z]'],
  },
  'without the long context window': {
    request: createRequest([userText('hello')], { repairs: { longContext: 'off' } }),
  },
  'a draft to continue': {
    request: createRequest([userText('tell')], { draft: 'Once upon', instruction: 'Go on.' }),
    mustContain: ['Once upon', 'Go on.'],
  },
  'a text for this request only, after results': {
    request: createRequest([userText('go'), assistantCalls('c1'), toolResult('c1', 'one')], {
      instruction: 'Be brief.',
    }),
    mustContain: ['one', 'Be brief.'],
  },
  'arguments that are not JSON': {
    request: createRequest([
      userText('go'),
      {
        role: 'assistant',
        content: [{ type: 'call', id: 'c1', name: 'look', input: {}, raw: '{"at": "unfin' }],
        stop: 'tools',
      },
      toolResult('c1', 'not valid JSON', { failed: true }),
    ]),
    mustContain: ['not valid JSON'],
  },
  'call ids of another dialect': {
    request: createRequest([
      userText('go'),
      assistantCalls('call:1|é.x', 'call:1|è.x'),
      toolResult('call:1|é.x', 'one'),
      toolResult('call:1|è.x', 'two'),
    ]),
    mustContain: ['one', 'two'],
  },
  'lone surrogates': {
    request: createRequest(
      [
        userText(`a${loneSurrogate}`),
        {
          role: 'assistant',
          content: [{ type: 'call', id: 'c1', name: 'look', input: { at: loneSurrogate } }],
          stop: 'tools',
        },
        toolResult('c1', loneSurrogate),
      ],
      { system: `kind${loneSurrogate}`, draft: `so ${loneSurrogate}`, instruction: 'on' },
    ),
    mustNotContain: ['\\ud83d'],
  },
  'a prompt with cache marks': {
    request: createRequest(
      [userText('one'), assistantText('two'), userText('three'), assistantCalls('c1'), toolResult('c1', 'four')],
      {
        cache: '5m',
        system: 'Be kind.\n\nBe brief.',
      },
    ),
    mustContain: ['four'],
  },
}
