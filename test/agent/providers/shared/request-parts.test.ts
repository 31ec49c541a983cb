import * as fc from 'fast-check'
import type OpenAI from 'openai'
import { describe, expect, it } from 'vitest'
import { wireId, wireName } from '../../../../src/agent/providers/shared/call-id.ts'
import { pictureOf } from '../../../../src/agent/providers/shared/image-content.ts'
import { plain } from '../../../../src/agent/providers/shared/request-parts.ts'
import { claudeEffort, thinkingBudget } from '../../../../src/agent/providers/shared/claude-thinking.ts'
import { anthropicFaults } from '../fakes/anthropic.ts'
import { bedrockFaults } from '../fakes/bedrock.ts'
import { chatFaults } from '../fakes/openai-chat.ts'

describe('the id of a call', { timeout: 60_000 }, () => {
  it('stays what it is where every provider takes it', () => {
    for (const id of ['call_1', 'toolu_01D7FLrfh4GYq7yT1ULFeyMV', 'a-b']) expect(wireId(id)).toBe(id)
  })

  it('is one that every provider takes, the same for the same, another for another', () => {
    const ids = fc.oneof(fc.string(), fc.stringMatching(/^[\w|.:é-]{0,80}$/))
    fc.assert(
      fc.property(ids, ids, (a, b) => {
        expect(wireId(a)).toMatch(/^[a-zA-Z0-9_-]{1,40}$/)
        expect(wireId(a) === wireId(b)).toBe(a === b)
      }),
      { numRuns: 1_000 },
    )
  })
})

describe('parts of a request', () => {
  it('name a tool that was made up such as it may be named', () => {
    expect(['look', 'no.such tool!', '', 'x'.repeat(70)].map(wireName)).toEqual([
      'look',
      'no_such_tool_',
      'invalid_tool_call',
      'x'.repeat(64),
    ])
  })

  it('have a schema without patterns, but with properties of that name', () => {
    const schema = {
      type: 'object',
      properties: { format: { type: 'string', format: 'uri', pattern: '^h' }, pattern: { type: 'string' } },
    }
    expect(plain(schema)).toEqual({
      type: 'object',
      properties: { format: { type: 'string' }, pattern: { type: 'string' } },
    })
  })

  const pictures: readonly (readonly [string, string, object])[] = [
    ['image/jpg', 'AAAA', { as: 'bytes', format: 'jpeg', data: 'AAAA' }],
    ['image/webp', 'AAAA', { as: 'bytes', format: 'webp', data: 'AAAA' }],
    ['image/png', 'A'.repeat(140), { as: 'words', text: '[an image, left out because it was too large]' }],
    ['image/svg+xml', 'AAAA', { as: 'words', text: '[an image of the type image/svg+xml, not shown]' }],
    ['image/*;url', 'https://x.test/a', { as: 'address', url: 'https://x.test/a' }],
    ['image/*;url', 'http://x.test/a', { as: 'words', text: '[an image, not shown]' }],
    ['image/png', 'blob:t/a/1', { as: 'words', text: '[an image that is gone]' }],
  ]
  it.each(pictures)('show an image of the type %s as far as it can be shown', (mediaType, data, expected) => {
    expect(pictureOf({ type: 'image', mediaType, data }, 100)).toEqual(expected)
  })

  it('leave room to answer behind the thinking', () => {
    expect(thinkingBudget('high', 128_000)).toBe(20_000)
    expect(thinkingBudget('max', 10_000)).toBe(8_000)
    expect(thinkingBudget('high', 1_200)).toBe(undefined)
    expect(thinkingBudget('none', 128_000)).toBe(undefined)
    expect(thinkingBudget('a word of tomorrow', 128_000)).toBe(8_192)
    expect(['minimal', 'high', 'ultra'].map(claudeEffort)).toEqual(['low', 'high', 'max'])
  })
})

/** Fakes that refused nothing would make every suite green. */
describe('a fake', () => {
  const chat = {
    model: 'm',
    stream: true,
    stream_options: { include_usage: true },
    messages: [
      { role: 'system', content: 'Be kind.' },
      { role: 'user', content: [{ type: 'text', text: 'hello' }] },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'c1', type: 'function', function: { name: 'look', arguments: '{}' } }],
      },
      { role: 'tool', tool_call_id: 'c1', content: 'seen' },
    ],
  } satisfies OpenAI.Chat.Completions.ChatCompletionCreateParamsStreaming

  it('of chat completions takes what the types of the SDK say', () => {
    expect(chatFaults(chat)).toEqual([])
  })

  const user = (...content: object[]) => ({ role: 'user', content })
  const model = (...content: object[]) => ({ role: 'assistant', content })
  const said = { type: 'text', text: 'a' }
  const call = { type: 'tool_use', id: 'c1', name: 'look', input: {} }
  const result = { type: 'tool_result', tool_use_id: 'c1', content: 'b' }
  const tool = { name: 'look', input_schema: { type: 'object' } }
  const mark = { cache_control: { type: 'ephemeral' } }
  const messages = (...all: object[]) => ({ model: 'm', max_tokens: 9_000, stream: true, tools: [tool], messages: all })
  const budget = { thinking: { type: 'enabled', budget_tokens: 2_000 } }
  const refused: readonly (readonly [string, object, RegExp])[] = [
    ['an unknown field', { ...messages(user(said)), top: 1 }, /unrecognized/i],
    ['a call without a result', messages(user(said), model(call), user(said)), /no result for c1/],
    ['a result without a call', messages(user(result)), /was not called/],
    [
      'a result that comes too late',
      messages(user(said), model(call), user(said), model(said), user(result)),
      /no result/,
    ],
    ['words before results', messages(user(said), model(call), user(said, result)), /before its results/],
    ['two users', messages(user(said), user(said)), /role user/],
    ['an answer at the end', messages(user(said), model(said)), /words of its own/],
    [
      'an id with a colon',
      messages(user(said), model({ ...call, id: 'a:b' }), user({ ...result, tool_use_id: 'a:b' })),
      /tool_use_id: .*pattern/,
    ],
    [
      'thinking without a seal',
      messages(user(said), model({ type: 'thinking', thinking: 'a' }, said), user(said)),
      /signature/,
    ],
    [
      'calls that did not begin with thinking',
      { ...messages(user(said), model(call), user(result)), ...budget },
      /expected thinking/,
    ],
    ['a temperature with thinking', { ...messages(user(said)), ...budget, temperature: 0 }, /temperature/],
    ['a budget above the length', { ...messages(user(said)), ...budget, max_tokens: 2_000 }, /budget/],
    ['blank text', messages(user({ type: 'text', text: ' ' })), /text: .*pattern/],
    ['five marks', messages(user(...Array.from({ length: 5 }, () => ({ ...said, ...mark })))), /5 marks/],
    [
      'a mark on thinking',
      messages(user(said), model({ type: 'thinking', thinking: 'a', signature: 'b', ...mark }, said), user(said)),
      /unrecognized/i,
    ],
    [
      'thinking at the end',
      messages(user(said), model(said, { type: 'redacted_thinking', data: 'a' }), user(said)),
      /ends with thinking/,
    ],
    ['half of a pair', messages(user({ type: 'text', text: '\ud83d' })), /half/],
    ['calls without tools', { ...messages(user(said), model(call), user(result)), tools: undefined }, /without tools/],
  ]
  it.each(refused)('of the Messages API refuses %s', (_name, body, fault) => {
    expect(anthropicFaults(JSON.parse(JSON.stringify(body))).join('\n')).toMatch(fault)
  })

  it('of ConverseStream refuses what is none of its blocks, orphans and too many marks', () => {
    const talk = (...content: object[]) => ({ messages: [{ role: 'user', content }] })
    const point = { cachePoint: { type: 'default' } }
    expect(bedrockFaults(talk({ text: 'a' }))).toEqual([])
    expect(bedrockFaults(talk({ text: 'a', image: {} }))).not.toEqual([])
    expect(bedrockFaults(talk({ toolResult: { toolUseId: 'c', content: [{ text: 'a' }] } })).join()).toMatch(
      /the calls were/,
    )
    expect(bedrockFaults(talk({ text: 'a' }, point, point, point, point, point)).join()).toMatch(/5 marks/)
    expect(bedrockFaults(talk(point)).join()).toMatch(/nothing but marks/)
  })

  const turned: readonly (readonly [string, object, RegExp])[] = [
    ['an unknown field', { ...chat, top: 1 }, /unrecognized/i],
    ['a call without a result', { ...chat, messages: chat.messages.slice(0, 3) }, /without results/],
    [
      'a result without a call',
      { ...chat, messages: [...chat.messages.slice(0, 2), chat.messages[3]] },
      /no open call/,
    ],
    ['two users', { ...chat, messages: [chat.messages[1], chat.messages[1]] }, /second user/],
  ]
  it.each(turned)('of chat completions refuses %s', (_name, body, fault) => {
    expect(chatFaults(body).join('\n')).toMatch(fault)
  })
})
