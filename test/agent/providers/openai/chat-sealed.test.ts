/** What has to go back to a provider as it came: signatures of calls, sealed thinking; and how the cache is counted. */

import { describe, expect, it } from 'vitest'
import { readChatStream } from '../../../../src/agent/providers/openai/chat-stream.ts'
import { skipSleep } from '../support/chunked-response.ts'

const frame = (choice: object, more: object = {}) =>
  `data: ${JSON.stringify({ choices: [{ index: 0, ...choice }], ...more })}\n\n`

const read = (...frames: readonly string[]) =>
  readChatStream(
    new Response([...frames, 'data: [DONE]\n\n'].join(''), { headers: { 'content-type': 'text/event-stream' } }),
    { onDelta: () => {}, onActivity: () => {}, sleep: skipSleep },
  )

describe('a signature of a call', () => {
  it('is kept sealed, with its call', async () => {
    const signature = { google: { thought_signature: 'c2lnbmF0dXJl' } }
    const call = { id: 'c1', type: 'function', function: { name: 'look', arguments: '{}' } }
    const { message } = await read(
      frame({ delta: { tool_calls: [{ index: 0, ...call, extra_content: signature }] } }),
      frame({ delta: { tool_calls: [{ index: 1, ...call, id: 'c2' }] } }),
      frame({ delta: {}, finish_reason: 'tool_calls' }),
    )
    expect(message.content).toEqual([
      { type: 'call', id: 'c1', name: 'look', input: {}, sealed: { by: 'openai-chat', data: signature } },
      { type: 'call', id: 'c2', name: 'look', input: {} },
    ])
  })
})

describe('sealed thinking', () => {
  it('is put together piece by piece, and kept whole', async () => {
    const text = { type: 'reasoning.text', format: 'anthropic-claude-v1', index: 0 }
    const { message } = await read(
      frame({ delta: { reasoning: 'I ', reasoning_details: [{ ...text, text: 'I ' }] } }),
      frame({ delta: { reasoning: 'see.', reasoning_details: [{ ...text, text: 'see.', signature: null }] } }),
      frame({ delta: { reasoning_details: [{ ...text, signature: 'sig' }] } }),
      frame({ delta: { reasoning_details: [{ type: 'reasoning.encrypted', data: 'abc', id: 'r1', index: 1 }] } }),
      frame({ delta: { content: 'A tree.' }, finish_reason: 'stop' }),
    )
    expect(message.content).toEqual([
      {
        type: 'thinking',
        text: 'I see.',
        sealed: {
          by: 'openai-chat',
          data: [
            { ...text, text: 'I see.', signature: 'sig' },
            { type: 'reasoning.encrypted', data: 'abc', id: 'r1', index: 1 },
          ],
        },
      },
      { type: 'text', text: 'A tree.' },
    ])
  })

  it('without a number is a piece of its own', async () => {
    const piece = { type: 'reasoning.encrypted', data: 'abc' }
    const { message } = await read(
      frame({ delta: { reasoning_details: [piece] } }),
      frame({ delta: { reasoning_details: [piece], content: 'hm' }, finish_reason: 'stop' }),
    )
    expect(message.content[0]).toMatchObject({ text: '', sealed: { data: [piece, piece] } })
  })
})

describe('tokens of the cache', () => {
  const usageOf = async (usage: object) =>
    (await read(frame({ delta: { content: 'hi' }, finish_reason: 'stop' }), frame({ delta: {} }, { usage }))).usage
  it.each<readonly [string, object, object]>([
    [
      'that are read and written',
      { prompt_tokens: 100, prompt_tokens_details: { cached_tokens: 60, cache_write_tokens: 30 } },
      { input: 10, cachedRead: 60, cachedWrite: 30 },
    ],
    ['in the words of DeepSeek', { prompt_tokens: 100, prompt_cache_hit_tokens: 64 }, { input: 36, cachedRead: 64 }],
    ['that nobody counts', { prompt_tokens: 100 }, { input: 100, cachedRead: 0, cachedWrite: 0 }],
  ])('%s are counted apart', async (_name, usage, expected) => {
    expect(await usageOf({ completion_tokens: 1, ...usage })).toMatchObject(expected)
  })
})
