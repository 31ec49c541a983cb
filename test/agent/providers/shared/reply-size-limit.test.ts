/** Tests the limits of memory and time for replies that are endless, huge or very fragmented. */

import { describe, expect, it } from 'vitest'
import { itInTurn } from '#test/support/long.ts'
import type { DialectReply } from '#agent/core/dialect.ts'
import type { BodyReadOptions } from '#agent/providers/shared/read-body.ts'
import { readMessagesStream } from '#agent/providers/anthropic/stream.ts'
import { readChatStream } from '#agent/providers/openai/chat-stream.ts'
import { readResponsesStream } from '#agent/providers/openai/responses-stream.ts'
import { readConverseStream } from '#agent/providers/bedrock/stream.ts'
import { eventFrame as frame } from '../fixtures/bedrock.ts'
import { skipSleep } from '../support/chunked-response.ts'

type Read = (response: Response, options: BodyReadOptions) => Promise<DialectReply>

const encoder = new TextEncoder()
const event = (data: object) => encoder.encode(`data: ${JSON.stringify(data)}\n\n`)

/** Reads a reply whose body has up to `maxChunks` chunks. */
async function readChunks(read: Read, createChunk: (n: number) => Uint8Array, maxChunks = 2_000_000) {
  let sent = 0
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (sent === maxChunks) return controller.close()
      controller.enqueue(createChunk(sent++))
    },
  })
  const response = new Response(body, { headers: { 'content-type': 'text/event-stream' } })
  return read(response, { onDelta: () => {}, onActivity: () => {}, sleep: skipSleep })
}

const long = 'x'.repeat(100_000)
const chat = (delta: object) => event({ choices: [{ delta }] })
const chatCall = (call: object) => chat({ tool_calls: [call] })
const block = (content_block: object, index = 0) => event({ type: 'content_block_start', index, content_block })
const inBlock = (delta: object) => event({ type: 'content_block_delta', index: 0, delta })
const first = (begin: Uint8Array, next: Uint8Array) => (n: number) => (n ? next : begin)
const item = (n: number) => ({ type: 'function_call', call_id: `c${n}`, name: 'x' })
const thinking = { contentBlockIndex: 0, delta: { reasoningContent: { redactedContent: long } } }

const endless: readonly (readonly [string, Read, (n: number) => Uint8Array])[] = [
  ['openai-chat: text', readChatStream, () => chat({ content: long })],
  ['openai-chat: a refusal', readChatStream, () => chat({ refusal: long })],
  ['openai-chat: thinking', readChatStream, () => chat({ reasoning: long })],
  ['openai-chat: details', readChatStream, () => chat({ reasoning_details: [{ type: 't', index: 0, text: long }] })],
  [
    'openai-chat: fields of details',
    readChatStream,
    (n) => chat({ reasoning_details: [{ type: 't', index: 0, [`${n}${long}`]: 1 }] }),
  ],
  [
    'openai-chat: arguments',
    readChatStream,
    () => chatCall({ index: 0, id: 'c', function: { name: 'x', arguments: long } }),
  ],
  [
    'openai-chat: calls',
    readChatStream,
    (n) => chatCall({ index: n, id: `c${n}`, function: { name: 'x', arguments: '' } }),
  ],
  ['openai-chat: a line', readChatStream, first(encoder.encode('data: '), encoder.encode(long))],
  ['anthropic: text', readMessagesStream, first(block({ type: 'text' }), inBlock({ type: 'text_delta', text: long }))],
  [
    'anthropic: arguments',
    readMessagesStream,
    first(block({ type: 'tool_use', id: 'c', name: 'x' }), inBlock({ type: 'input_json_delta', partial_json: long })),
  ],
  [
    'anthropic: a signature',
    readMessagesStream,
    first(block({ type: 'thinking' }), inBlock({ type: 'signature_delta', signature: long })),
  ],
  ['anthropic: calls', readMessagesStream, (n) => block({ type: 'tool_use', id: `c${n}`, name: 'x' }, n)],
  [
    'openai-responses: text',
    readResponsesStream,
    () => event({ type: 'response.output_text.delta', output_index: 0, delta: long }),
  ],
  ['openai-responses: calls', readResponsesStream, (n) => event({ type: 'response.output_item.added', item: item(n) })],
  [
    'openai-responses: items',
    readResponsesStream,
    (n) => event({ type: 'response.output_item.done', item: { ...item(n), arguments: long } }),
  ],
  [
    'bedrock: text',
    readConverseStream,
    () => frame('contentBlockDelta', { contentBlockIndex: 0, delta: { text: long } }),
  ],
  ['bedrock: thinking', readConverseStream, () => frame('contentBlockDelta', thinking)],
  [
    'bedrock: calls',
    readConverseStream,
    (n) => frame('contentBlockStart', { contentBlockIndex: n, start: { toolUse: { name: 'x' } } }),
  ],
]

describe('an endless reply fails', () => {
  it.each(endless)('%s', async (_name, read, createChunk) => {
    await expect(readChunks(read, createChunk)).rejects.toThrow(/more than|exceeded/)
  })
})

describe('a reply in many fragments takes linear time', () => {
  const calls = (json: string) => chatCall({ function: { name: 'x', arguments: json } })
  // Every fragment ends with a brace, but the arguments never end.
  it('openai-chat: arguments without an index', async () => {
    const createChunk = (n: number) => calls(n ? '}' : `{"a":"${'x'.repeat(1_000_000)}`)
    await expect(readChunks(readChatStream, createChunk, 50_000)).rejects.toThrow('ended before the reply was complete')
  })

  itInTurn('openai-chat: a detail with many fields', async () => {
    const many = Object.fromEntries(Array.from({ length: 100_000 }, (_, n) => [`f${n}`, 1]))
    const detail = (more: object) => chat({ reasoning_details: [{ type: 't', index: 0, ...more }] })
    await expect(readChunks(readChatStream, (n) => detail(n ? { text: 'x' } : many), 50_000)).rejects.toThrow(
      'ended before',
    )
  })

  itInTurn('openai-chat: a name', async () => {
    const createChunk = (n: number) => chatCall({ index: 0, function: { name: n % 2 ? 'a' : 'b' } })
    await expect(readChunks(readChatStream, createChunk, 100_000)).rejects.toThrow(
      'ended before the reply was complete',
    )
  })
})
