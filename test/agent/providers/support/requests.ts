/** Requests that every dialect must be able to make, with what has to be in them and what must not. */

import type { ModelRequest, ToolSchema } from '../../../../src/agent/model/dialect.ts'
import { type AssistantMessage, callsIn, type Message, userText } from '../../../../src/agent/model/message.ts'

export const tools: readonly ToolSchema[] = ['look', 'find'].map((name) => ({
  name,
  description: `Tries to ${name}.`,
  inputSchema: { type: 'object', properties: { at: { type: 'string', pattern: '^[a-z]' } } },
}))

/** One pixel. */
export const pixel = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const image = { type: 'image', mediaType: 'image/png', data: pixel } as const

export const answered = (text: string): AssistantMessage => ({
  role: 'assistant',
  content: [{ type: 'text', text }],
  stop: 'end',
})
export const asked = (...ids: readonly string[]): AssistantMessage => ({
  role: 'assistant',
  content: ids.map((id) => ({ type: 'call', id, name: 'look', input: { at: id } })),
  stop: 'tools',
})
export const found = (
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

/** A conversation in which these were the answers, with results for what they call. */
export function withResults(answers: readonly AssistantMessage[]): readonly Message[] {
  const transcript: Message[] = [userText('hello')]
  for (const answer of answers) {
    transcript.push(answer)
    const calls = callsIn(answer)
    for (const { id, name } of calls) transcript.push(found(id, `result of ${id}`, { name }))
    if (!calls.length) transcript.push(userText('and then?'))
  }
  return transcript
}

const half = '\ud83d'
type Case = { readonly request: ModelRequest; readonly has?: readonly string[]; readonly lacks?: readonly string[] }

const made = (transcript: readonly Message[], more: Partial<ModelRequest> = {}): ModelRequest => ({
  model: 'model-1',
  system: 'Be kind.',
  transcript,
  tools,
  maxTokens: 4_000,
  ...more,
})

const seen: readonly Message[] = [
  userText('what is there?'),
  asked('c1'),
  found('c1', 'here', { content: [{ type: 'text', text: 'here it is' }, image] }),
]
const shown: readonly Message[] = [{ role: 'user', content: [{ type: 'text', text: 'what is it?' }, image] }]
const thought: readonly Message[] = [
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
  found('c1', 'seen'),
]

export const requests: Readonly<Record<string, Case>> & { readonly 'a greeting': Case } = {
  'a greeting': { request: made([userText('hello')]), has: ['Be kind.', 'hello', 'look', 'model-1'] },
  'without tools and without a system': {
    request: made([userText('hello')], { tools: [], system: '' }),
    has: ['hello'],
  },
  'with options': {
    request: made([userText('hello')], { maxTokens: 900, temperature: 0.5, reasoningEffort: 'low' }),
    has: ['hello'],
  },
  'parallel calls and their results, one of them a failure': {
    request: made([userText('go'), asked('c1', 'c2', 'c3'), found('c1', 'one'), found('c3', 'no', { failed: true })]),
    has: ['one', 'no', 'c2'],
  },
  'a result with an image': { request: made(seen), has: ['here it is'] },
  'a result with an image, where results are text': {
    request: made(seen, { repairs: { toolContent: 'text' } }),
    has: ['here it is'],
  },
  'an empty result': { request: made([userText('go'), asked('c1'), found('c1', '')]) },
  'an image': { request: made(shown), has: ['what is it?', pixel] },
  'an image that is left out': {
    request: made([...shown, answered('a dot'), ...seen], { repairs: { images: 'left-out' } }),
    has: ['what is it?', 'here it is'],
    lacks: [pixel],
  },
  'an image at an address': {
    request: made([
      { role: 'user', content: [{ type: 'image', mediaType: 'image/*;url', data: 'https://x.test/a.png' }] },
    ]),
  },
  'thinking of others': { request: made(thought), has: ['thought about it', 'seen'], lacks: ['foreign-seal'] },
  'thinking left out': {
    request: made(thought, { repairs: { thinking: 'left-out' }, reasoningEffort: 'high' }),
    has: ['thought about it'],
    lacks: ['foreign-seal'],
  },
  'plain schemas': { request: made([userText('hello')], { repairs: { schemas: 'plain' } }), lacks: ['^[a-z]'] },
  'without the long window': { request: made([userText('hello')], { repairs: { longContext: 'off' } }) },
  'a draft to go on with': {
    request: made([userText('tell')], { draft: 'Once upon', say: 'Go on.' }),
    has: ['Once upon', 'Go on.'],
  },
  'a word for this call only, behind results': {
    request: made([userText('go'), asked('c1'), found('c1', 'one')], { say: 'Be brief.' }),
    has: ['one', 'Be brief.'],
  },
  'arguments that were none': {
    request: made([
      userText('go'),
      {
        role: 'assistant',
        content: [{ type: 'call', id: 'c1', name: 'look', input: {}, raw: '{"at": "unfin' }],
        stop: 'tools',
      },
      found('c1', 'not valid JSON', { failed: true }),
    ]),
    has: ['not valid JSON'],
  },
  'ids of another dialect': {
    request: made([
      userText('go'),
      asked('call:1|é.x', 'call:1|è.x'),
      found('call:1|é.x', 'one'),
      found('call:1|è.x', 'two'),
    ]),
    has: ['one', 'two'],
  },
  'half of a pair': {
    request: made(
      [
        userText(`a${half}`),
        { role: 'assistant', content: [{ type: 'call', id: 'c1', name: 'look', input: { at: half } }], stop: 'tools' },
        found('c1', half),
      ],
      { system: `kind${half}`, draft: `so ${half}`, say: 'on' },
    ),
    lacks: ['\\ud83d'],
  },
  'a beginning that is to be kept': {
    request: made([userText('one'), answered('two'), userText('three'), asked('c1'), found('c1', 'four')], {
      cache: '5m',
      system: 'Be kind.\n\nBe brief.',
    }),
    has: ['four'],
  },
}
