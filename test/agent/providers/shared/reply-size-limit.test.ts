/** What a provider may make us keep: answers that have no end, or more parts than anybody asks for. */

import { describe, expect, it } from 'vitest'
import type { DialectReply } from '../../../../src/agent/model/dialect.ts'
import type { ReadOptions } from '../../../../src/agent/providers/shared/read-body.ts'
import { readMessagesStream } from '../../../../src/agent/providers/anthropic/stream.ts'
import { limitBody } from '../../../../src/agent/providers/shared/limit-body.ts'
import { readChatStream } from '../../../../src/agent/providers/openai/chat-stream.ts'
import { readResponsesStream } from '../../../../src/agent/providers/openai/responses-stream.ts'
import { readConverseStream } from '../../../../src/agent/providers/bedrock/stream.ts'
import { eventFrame as frame } from '../fixtures/bedrock.ts'
import { skipSleep } from '../support/chunked-response.ts'

type Read = (response: Response, listening: ReadOptions) => Promise<DialectReply>

const encoder = new TextEncoder()
const event = (data: object) => encoder.encode(`data: ${JSON.stringify(data)}\n\n`)

/** Sends pieces for as long as somebody reads. */
async function reads(read: Read, pieceOf: (n: number) => Uint8Array, most = 2_000_000) {
  let sent = 0
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (sent === most) return controller.close()
      controller.enqueue(pieceOf(sent++))
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

describe('an answer without an end is given up', () => {
  it.each(endless)('%s', async (_name, read, pieceOf) => {
    await expect(reads(read, pieceOf)).rejects.toThrow(/more than|exceeded/)
  })
})

describe('of an answer that comes in many pieces, none is looked at again with each', () => {
  const calls = (json: string) => chatCall({ function: { name: 'x', arguments: json } })
  // A string in which a brace ends every piece, but never the arguments.
  it('openai-chat: arguments without an index', async () => {
    const pieceOf = (n: number) => calls(n ? '}' : `{"a":"${'x'.repeat(1_000_000)}`)
    await expect(reads(readChatStream, pieceOf, 50_000)).rejects.toThrow('ended before the reply was complete')
  })

  it('openai-chat: a detail with many fields', async () => {
    const many = Object.fromEntries(Array.from({ length: 100_000 }, (_, n) => [`f${n}`, 1]))
    const detail = (more: object) => chat({ reasoning_details: [{ type: 't', index: 0, ...more }] })
    await expect(reads(readChatStream, (n) => detail(n ? { text: 'x' } : many), 50_000)).rejects.toThrow('ended before')
  })

  it('openai-chat: a name', async () => {
    const pieceOf = (n: number) => chatCall({ index: 0, function: { name: n % 2 ? 'a' : 'b' } })
    await expect(reads(readChatStream, pieceOf, 100_000)).rejects.toThrow('ended before the reply was complete')
  })
})

describe('a body that is read as a whole is read up to a length', () => {
  const endlessBody = (init: ResponseInit) => {
    const pull = (controller: ReadableStreamDefaultController<Uint8Array>) => controller.enqueue(encoder.encode(long))
    return new Response(new ReadableStream<Uint8Array>({ pull }), init)
  }
  const json = { headers: { 'content-type': 'application/json' } }

  it.each([{ status: 500 }, json])('%j', async (init) => {
    const response = limitBody(endlessBody(init))
    expect(response.status).toBe(init === json ? 200 : 500)
    expect(await response.text()).toHaveLength(8_000_000)
  })

  it('a stream is passed on as it is', () => {
    const stream = new Response('data: 1', { headers: { 'content-type': 'text/event-stream' } })
    expect(limitBody(stream)).toBe(stream)
  })
})
