import * as fc from 'fast-check'
import type OpenAI from 'openai'
import { describe, expect, it } from 'vitest'
import type { ModelRequest, Quirks } from '../../../../src/agent/model/dialect.ts'
import {
  type AssistantMessage,
  type Message,
  type ProviderData,
  userText,
} from '../../../../src/agent/model/message.ts'
import { renderInputItems } from '../../../../src/agent/providers/openai/responses-input.ts'
import { renderResponsesBody } from '../../../../src/agent/providers/openai/responses.ts'
import { findResponsesViolations } from '../fakes/openai-responses.ts'
import { assistantText, assistantCalls, toolResult, pixelPng, tools } from '../support/requests.ts'

type Input = OpenAI.Responses.ResponseInputItem
type Sent = OpenAI.Responses.ResponseCreateParamsStreaming & { readonly input: readonly Input[] }

const hello = userText('hello')
const request = (more: Partial<ModelRequest> = {}): ModelRequest => ({
  model: 'gpt',
  system: 'Be kind.',
  transcript: [hello],
  tools,
  ...more,
})
const bodyOf = (more: Partial<ModelRequest> = {}, quirks?: Quirks) =>
  new TextDecoder().decode(renderResponsesBody(request(more), quirks))
const sent = (more: Partial<ModelRequest> = {}, quirks?: Quirks) => JSON.parse(bodyOf(more, quirks)) as Sent

const reasoning = (id: string) =>
  ({
    type: 'reasoning',
    id,
    summary: [{ type: 'summary_text', text: 'hm' }],
    encrypted_content: `gAAAA${id}`,
  }) satisfies OpenAI.Responses.ResponseReasoningItem
const sealed = (data: unknown): ProviderData => ({ by: 'openai-responses', data })
const thought = (id: string) => ({ type: 'thinking', text: 'hm', sealed: sealed(reasoning(id)) }) as const
const phased = (phase: 'commentary' | 'final_answer') =>
  ({ type: 'thinking', text: '', sealed: sealed({ type: 'message', phase }) }) as const
const said = (...content: AssistantMessage['content']): AssistantMessage => ({
  role: 'assistant',
  content,
  stop: 'end',
})
const text = (words: string) => ({ type: 'text', text: words }) as const
const call = (id: string, input: unknown = {}) => ({ type: 'call', id, name: 'look', input }) as const

describe('the body of a request', () => {
  it('is a streamed response that nothing is kept of', () => {
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
    expect(sent({ maxTokens: 900, temperature: 0, reasoningEffort: 'low' })).toEqual(expected)
  })

  type Case = {
    readonly quirks?: Quirks
    readonly asked?: Partial<ModelRequest>
    readonly has?: object
    readonly lacks?: readonly string[]
  }
  const quirks: readonly (readonly [string, Case])[] = [
    [
      'asks for summaries of a model that thinks',
      { quirks: { reasoning: 'effort' }, has: { reasoning: { summary: 'auto' } } },
    ],
    ['asks nothing about thinking of a model that may not', { lacks: ['reasoning'] }],
    [
      'asks for no summary where thinking is left out',
      {
        quirks: { reasoning: 'effort' },
        asked: { repairs: { thinking: 'left-out' }, reasoningEffort: 'low' },
        has: { reasoning: { effort: 'low' } },
        lacks: ['include', 'reasoning.summary'],
      },
    ],
    [
      'asks for no reasoning of a model without',
      { quirks: { reasoning: 'none' }, asked: { reasoningEffort: 'high' }, lacks: ['reasoning', 'include'] },
    ],
    [
      'clamps the effort to those the model knows',
      {
        quirks: { efforts: ['low', 'medium'] },
        asked: { reasoningEffort: 'xhigh' },
        has: { reasoning: { effort: 'medium', summary: 'auto' } },
      },
    ],
    [
      'has no temperature where none is taken',
      { quirks: { temperature: 'omitted' }, asked: { temperature: 1 }, lacks: ['temperature'] },
    ],
    [
      'has the only temperature that is taken',
      { quirks: { temperature: 1 }, asked: { temperature: 0.2 }, has: { temperature: 1 } },
    ],
    [
      'has a limit of output where nobody names one',
      { quirks: { defaultMaxTokens: 64_000 }, has: { max_output_tokens: 64_000 } },
    ],
    ['asks for no fewer tokens than there may be', { asked: { maxTokens: 1 }, has: { max_output_tokens: 16 } }],
    ['names no cache where none is wanted', { quirks: { cacheMarks: 'none' }, lacks: ['prompt_cache_key'] }],
    [
      'takes what a provider wants besides',
      { quirks: { body: { service_tier: 'flex' } }, has: { service_tier: 'flex' } },
    ],
    ['has no instructions without a system', { asked: { system: '' }, lacks: ['instructions'] }],
  ]
  it.each(quirks)('%s', (_name, { quirks: given, asked: more = {}, has = {}, lacks = [] }) => {
    const body = sent(more, given)
    expect(body).toMatchObject(has)
    for (const field of lacks) expect(body).not.toHaveProperty(field)
    expect(findResponsesViolations(body)).toEqual([])
  })

  it('has the system text as a message where a role is given for it, and grows behind it', () => {
    const transcript = [hello, assistantText('hi'), userText('more')]
    const body = sent({ transcript }, { systemRole: 'developer' })
    expect(body.instructions).toBe(undefined)
    expect(body.input.map((item) => 'role' in item && item.role)).toEqual(['developer', 'user', 'assistant', 'user'])
    expect(body.input[0]).toEqual({ type: 'message', role: 'developer', content: 'Be kind.' })
    expect(findResponsesViolations(body)).toEqual([])
  })

  it('names the same cache for all of a conversation, and another for another', () => {
    const key = (transcript: readonly Message[], more = {}) => sent({ transcript, ...more }).prompt_cache_key
    const one = key([hello])
    expect(key([hello, assistantText('hi'), userText('x')], { say: 'Go on.' })).toBe(one)
    expect(key([userText('hallo')])).not.toBe(one)
    expect(key([hello], { system: 'Be brief.' })).not.toBe(one)
  })

  it('leaves properties of a tool alone that have the name of what some servers cannot compile', () => {
    const inputSchema = { type: 'object', properties: { pattern: { type: 'string', pattern: '^a', format: 'uri' } } }
    const body = sent({ tools: [{ name: 'search', description: '', inputSchema }], repairs: { schemas: 'plain' } })
    expect(body.tools?.[0]).toMatchObject({
      parameters: { type: 'object', properties: { pattern: { type: 'string' } } },
    })
    expect(JSON.stringify(body)).not.toContain('^a')
  })

  it('ends with the draft of an answer and with what is said for this call only', () => {
    expect(sent({ draft: 'Once upon', say: 'Go on.' }).input.slice(-2)).toEqual([
      { type: 'message', role: 'assistant', content: 'Once upon' },
      { type: 'message', role: 'user', content: 'Go on.' },
    ])
  })

  it('of a transcript that grows is the same as one made anew', () => {
    const grown: Message[] = [hello]
    const steps: readonly (readonly [readonly Message[], Partial<ModelRequest>, Quirks?])[] = [
      [[said(thought('rs_1'), call('c1')), toolResult('c1', 'one')], {}],
      [[], { say: 'and now?' }],
      [[], { draft: 'so far ', say: 'go on' }],
      [[userText('über 漢字 😀')], {}, { systemRole: 'developer' }],
      [[userText('x'.repeat(100_000))], {}],
      [[], { repairs: { thinking: 'left-out' } }],
      [[], { repairs: { images: 'left-out', toolContent: 'text' } }],
      [[assistantText('fine'), userText('next')], {}],
    ]
    for (const [messages, more, given] of steps) {
      grown.push(...messages)
      const body = bodyOf({ transcript: grown, ...more }, given)
      expect(body).toBe(bodyOf({ transcript: structuredClone(grown), ...more }, given))
      expect(findResponsesViolations(JSON.parse(body))).toEqual([])
    }
  })
})

describe('an item', () => {
  const image = { type: 'image', mediaType: 'image/png', data: pixelPng } as const
  const shownImage = { type: 'input_image', detail: 'auto', image_url: `data:image/png;base64,${pixelPng}` } as const
  const cases: readonly (readonly [string, Message, readonly Input[]])[] = [
    ['of a user is text', hello, [{ type: 'message', role: 'user', content: 'hello' }]],
    [
      'of a user with an image is parts',
      { role: 'user', content: [text('see'), image] },
      [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'see' }, shownImage] }],
    ],
    [
      'of an answer follows what was thought for it',
      said(thought('rs_1'), text('Yes.')),
      [reasoning('rs_1'), { type: 'message', role: 'assistant', content: 'Yes.' }],
    ],
    [
      'of a call follows what was thought for it, and text stays between',
      said(thought('rs_1'), text('First '), text('this.'), thought('rs_2'), call('c1', { at: 'a' }), call('c2')),
      [
        reasoning('rs_1'),
        { type: 'message', role: 'assistant', content: 'First this.' },
        reasoning('rs_2'),
        { type: 'function_call', call_id: 'c1', name: 'look', arguments: '{"at":"a"}' },
        { type: 'function_call', call_id: 'c2', name: 'look', arguments: '{}' },
      ],
    ],
    [
      'of thinking waits over a text that is none',
      said(thought('rs_1'), text(' \n'), call('c1')),
      [reasoning('rs_1'), { type: 'function_call', call_id: 'c1', name: 'look', arguments: '{}' }],
    ],
    [
      'of thinking that led to nothing is left out',
      said(text('Yes.'), thought('rs_1')),
      [{ type: 'message', role: 'assistant', content: 'Yes.' }],
    ],
    [
      'of thinking that others sealed, or nobody, is left out',
      said(
        { type: 'thinking', text: 'hm', sealed: { by: 'anthropic', data: 'x' } },
        { type: 'thinking', text: 'hm' },
        text('Yes.'),
      ),
      [{ type: 'message', role: 'assistant', content: 'Yes.' }],
    ],
    [
      'of a text says again what it was meant to be',
      said(phased('commentary'), text('I look.'), thought('rs_1'), phased('final_answer'), text('Found.')),
      [
        { type: 'message', role: 'assistant', content: 'I look.', phase: 'commentary' },
        reasoning('rs_1'),
        { type: 'message', role: 'assistant', content: 'Found.', phase: 'final_answer' },
      ],
    ],
    [
      'of a call with arguments that were no JSON has none',
      said({ ...call('c1'), raw: '{"at' }),
      [{ type: 'function_call', call_id: 'c1', name: 'look', arguments: '{}' }],
    ],
    [
      'of a call with an invented name has one that is taken',
      said({ ...call('c1'), name: 'functions.look up' }),
      [{ type: 'function_call', call_id: 'c1', name: 'functions_look_up', arguments: '{}' }],
    ],
    [
      'of a result is text',
      toolResult('c1', 'a tree'),
      [{ type: 'function_call_output', call_id: 'c1', output: 'a tree' }],
    ],
    [
      'of a result with an image shows it',
      toolResult('c1', '', { content: [text('here'), image] }),
      [{ type: 'function_call_output', call_id: 'c1', output: [{ type: 'input_text', text: 'here' }, shownImage] }],
    ],
  ]
  it.each(cases)('%s', (_name, message, expected) => {
    expect(renderInputItems(message)).toEqual(expected)
  })

  it('of thinking is for the host that encrypted it', () => {
    const of = (from: string, id: string) =>
      ({ type: 'thinking', text: 'hm', sealed: { by: `openai-responses@${from}`, data: reasoning(id) } }) as const
    const message = said(of('a.test', 'rs_1'), text('Yes.'), of('b.test', 'rs_2'), call('c1'))
    const kept = (host?: string) => renderInputItems(message, {}, host).filter(({ type }) => type === 'reasoning')
    expect([kept('a.test'), kept('b.test'), kept()]).toEqual([[reasoning('rs_1')], [reasoning('rs_2')], []])
  })

  it('has no thinking in it when that is left out', () => {
    const message = said(thought('rs_1'), phased('final_answer'), text('Yes.'), thought('rs_2'), call('c1'))
    expect(renderInputItems(message, { thinking: 'left-out' }).map(({ type }) => type)).toEqual([
      'message',
      'function_call',
    ])
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
  fc.nat().map((n) => sealed(reasoning(`rs_${n}`))),
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
/** Reasoning has an id of its own: it is said once. */
function once(transcript: readonly Message[]): readonly Message[] {
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
  it('is one that the provider takes', () => {
    fc.assert(
      fc.property(
        fc.array(messages, { maxLength: 12 }).map(once),
        fc.constantFrom<Partial<ModelRequest>>(
          {},
          { say: 'Go on.' },
          { draft: 'so far', say: 'on' },
          { repairs: { thinking: 'left-out', toolContent: 'text' } },
          { repairs: { images: 'left-out' } },
        ),
        (transcript, more) => {
          const whole = [hello, ...transcript]
          expect(findResponsesViolations(sent({ transcript: whole, ...more }))).toEqual([])
        },
      ),
      { numRuns: 500 },
    )
  })
})

describe('what the provider would refuse is seen', () => {
  const user = { role: 'user', content: 'go' }
  const output = (callId: string) => ({ type: 'function_call_output', call_id: callId, output: 'x' })
  const called = (callId: string) => ({ type: 'function_call', call_id: callId, name: 'look', arguments: '{}' })
  const answer = { role: 'assistant', content: 'Yes.' }
  const bodies: readonly (readonly [string, object, RegExp])[] = [
    ['nothing wrong', { input: [user, reasoning('rs_1'), called('a'), output('a'), reasoning('rs_2'), answer] }, /^$/],
    ['a field it does not know', { input: [user], messages: [] }, /messages/],
    ['a result without its call', { input: [user, output('a')] }, /no call a stands before/],
    ['a result before its call', { input: [user, output('a'), called('a')] }, /no call a stands before/],
    ['a call without its result', { input: [user, called('a')] }, /no result for the calls a/],
    ['a word between call and result', { input: [user, called('a'), user, output('a')] }, /before the results of a/],
    ['two calls of one id', { input: [user, called('a'), output('a'), called('a'), output('a')] }, /there twice/],
    ['reasoning at the end', { input: [user, reasoning('rs_1')] }, /without its following item/],
    ['reasoning before a user', { input: [user, reasoning('rs_1'), user] }, /without its following item/],
    ['reasoning twice', { input: [user, reasoning('rs_1'), answer, reasoning('rs_1'), answer] }, /there twice/],
    [
      'reasoning that is kept nowhere',
      { store: false, input: [user, { ...reasoning('rs_1'), encrypted_content: null }, answer] },
      /not kept anywhere/,
    ],
    ['an id that is too long', { input: [user, called('a'.repeat(65)), output('a'.repeat(65))] }, /input/],
    ['arguments that are no JSON', { input: [user, { ...called('a'), arguments: '{"a' }, output('a')] }, /input/],
    ['no input', { input: [] }, /input/],
    ['half of a pair', { input: [{ ...user, content: '\ud83d' }] }, /half/],
  ]
  it.each(bodies)('%s', (_name, body, complaint) => {
    const faults = findResponsesViolations({ model: 'gpt', ...body })
    expect(faults.join('\n')).toMatch(complaint)
  })

  it('of calls that are asked for as they are', () => {
    expect(
      findResponsesViolations(sent({ transcript: [hello, assistantCalls('c1', 'c2'), toolResult('c2', 'two')] })),
    ).toEqual([])
  })
})
