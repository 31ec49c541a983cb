import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { StreamBroken, type Activity } from '#agent/core/dialect.ts'
import { readResponsesStream } from '#agent/providers/openai/responses-stream.ts'
import { toFailure } from '../support/conformance.ts'
import {
  callItem,
  completedResponse,
  truncatedResponse,
  endedResponse,
  messageItem,
  streamEvents,
  reasoningItem,
  createUsage,
} from '../fixtures/openai-responses.ts'
import { sseResponse } from '../support/exchange.ts'
import { skipSleep } from '../support/chunked-response.ts'

const encoder = new TextEncoder()

/** Creates a response whose body arrives in chunks of `size` bytes. `breaks`: the body fails at its end. */
function createResponse(text: string, { size = 1_000_000, breaks = false } = {}) {
  const bytes = encoder.encode(text)
  let at = 0
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (at < bytes.length) controller.enqueue(bytes.slice(at, (at += size)))
      else if (breaks) controller.error(new TypeError('terminated'))
      else controller.close()
    },
  })
  return new Response(body, { headers: { 'content-type': 'text/event-stream' } })
}

async function read(
  from: { readonly body: string | Uint8Array } | Response,
  options?: { size?: number; breaks?: boolean },
) {
  const deltas: string[] = []
  const activities: (Activity | undefined)[] = []
  const { message, usage: used } = await readResponsesStream(
    from instanceof Response ? from : createResponse(from.body as string, options),
    {
      onDelta: (delta) => deltas.push(`${delta.of}: ${delta.text}`),
      onActivity: (sign) => activities.push(sign),
      sleep: skipSleep,
    },
  )
  return { message, usage: used, deltas, activities }
}
const readError = async (...args: Parameters<typeof read>): Promise<unknown> =>
  read(...args).then(
    () => 'no error',
    (error: unknown) => error,
  )
const text = (words: string) => ({ type: 'text', text: words })
const call = (id: string, input: object) => ({ type: 'call', id, name: 'look', input })
const done = { body: 'data: [DONE]\n\n' }
const joinBodies = (...answers: readonly { readonly body: string | Uint8Array }[]) => ({
  body: answers.map(({ body }) => body as string).join(''),
})

describe('readResponsesStream', () => {
  const response = completedResponse(
    reasoningItem([['hm ', 'yes']]),
    messageItem(['Grüße, ', '世界 👋']),
    callItem('c1', 'look', ['{"at"', ':"a"}']),
  )

  it('reads the same reply for any chunk size', async () => {
    const { message, deltas } = await read(response)
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 60 }), async (size) => {
        const chunked = await read(response, { size })
        expect({ message: chunked.message, deltas: chunked.deltas }).toEqual({ message, deltas })
      }),
      { numRuns: 20 },
    )
  })

  it('keeps the final reasoning item as a seal, before the call that it led to', async () => {
    const { message } = await read(
      completedResponse(reasoningItem([['one'], ['two']], 'rs_7'), callItem('c1', 'look', ['{}'])),
    )
    const summary = [
      { type: 'summary_text', text: 'one' },
      { type: 'summary_text', text: 'two' },
    ]
    const data = { type: 'reasoning', id: 'rs_7', summary, encrypted_content: 'gAAAArs_7' }
    expect(message.content).toEqual([
      { type: 'thinking', text: 'one\n\ntwo', sealed: { by: 'openai-responses', data } },
      call('c1', {}),
    ])
  })

  it('keeps reasoning without text', async () => {
    const { message, deltas } = await read(completedResponse(reasoningItem([]), messageItem(['Yes.'])))
    expect(message.content.map((part) => part.type)).toEqual(['thinking', 'text'])
    expect(deltas).toEqual(['text: Yes.'])
  })

  it('keeps the phase of a text', async () => {
    const { message } = await read(
      completedResponse(messageItem(['I look.'], 'commentary'), callItem('c1', 'look', ['{}'])),
    )
    const sealed = { by: 'openai-responses', data: { type: 'message', phase: 'commentary' } }
    expect(message.content).toEqual([{ type: 'thinking', text: '', sealed }, text('I look.'), call('c1', {})])
  })

  it('reads a JSON body instead of a stream', async () => {
    const output = [messageItem(['whole'])(0).item, callItem('c1', 'look', ['{"at":1}'])(1).item]
    const {
      message,
      deltas,
      usage: used,
    } = await read(Response.json({ status: 'completed', output, usage: createUsage(3, 1) }))
    expect(message).toEqual({ role: 'assistant', content: [text('whole'), call('c1', { at: 1 })], stop: 'tools' })
    expect(deltas).toEqual(['text: whole'])
    expect(used).toMatchObject({ input: 3, output: 1 })
  })

  it('reports activity, and keep-alive activity for events without content', async () => {
    const begun = { type: 'response.in_progress', response: { status: 'in_progress' } }
    const { activities } = await read(joinBodies(sseResponse(begun), { body: ': waiting\n\n' }, completedResponse()))
    expect(activities).toEqual(['keep-alive', 'keep-alive', 'keep-alive', 'keep-alive', 'answer'])
  })
})

describe('servers with other event formats', () => {
  const item = (fields: object) => ({ type: 'function_call', call_id: 'c1', name: 'look', ...fields })
  const completed = { type: 'response.completed', response: { status: 'completed' } }
  const cases: readonly (readonly [string, readonly object[], readonly object[]])[] = [
    [
      'change the item id in every event',
      [
        { type: 'response.output_item.added', output_index: 0, item: item({ id: 'a1', arguments: '' }) },
        { type: 'response.function_call_arguments.delta', output_index: 0, item_id: 'a2', delta: '{"at":1}' },
        { type: 'response.output_item.done', output_index: 0, item: item({ id: 'a3', arguments: '{"at":1}' }) },
        completed,
      ],
      [call('c1', { at: 1 })],
    ],
    [
      'send ids without indexes',
      [
        { type: 'response.output_item.added', item: item({ id: 'a', arguments: '' }) },
        { type: 'response.output_item.added', item: item({ id: 'b', call_id: 'c2', arguments: '' }) },
        { type: 'response.function_call_arguments.delta', item_id: 'a', delta: '{"at":1}' },
        { type: 'response.function_call_arguments.delta', item_id: 'b', delta: '{"at":2}' },
        completed,
      ],
      [call('c1', { at: 1 }), call('c2', { at: 2 })],
    ],
    [
      'send neither indexes nor ids',
      [
        { type: 'response.output_text.delta', delta: 'Hel' },
        { type: 'response.output_text.delta', delta: 'lo' },
        completed,
      ],
      [text('Hello')],
    ],
    [
      'send texts only when they end',
      [
        { type: 'response.reasoning_text.done', output_index: 0, text: 'hm' },
        { type: 'response.output_text.done', output_index: 1, content_index: 0, text: 'Hel' },
        { type: 'response.output_text.done', output_index: 1, content_index: 1, text: 'lo' },
        completed,
      ],
      [{ type: 'thinking', text: 'hm' }, text('Hello')],
    ],
    [
      'repeat streamed texts when they end',
      [
        { type: 'response.reasoning_summary_text.delta', output_index: 0, summary_index: 0, delta: 'hm' },
        { type: 'response.reasoning_summary_text.done', output_index: 0, summary_index: 0, text: 'hm' },
        { type: 'response.output_text.delta', output_index: 1, content_index: 0, delta: 'Hel' },
        { type: 'response.output_text.delta', output_index: 1, content_index: 0, delta: 'l' },
        { type: 'response.output_text.done', output_index: 1, content_index: 0, text: 'Hell' },
        { type: 'response.output_text.delta', output_index: 1, content_index: 1, delta: 'o' },
        { type: 'response.output_text.done', output_index: 1, content_index: 1, text: 'o' },
        completed,
      ],
      [{ type: 'thinking', text: 'hm' }, text('Hello')],
    ],
    [
      'send only complete items',
      [
        {
          type: 'response.output_item.done',
          output_index: 0,
          item: { type: 'message', content: [{ type: 'output_text', text: 'Hello' }] },
        },
        completed,
      ],
      [text('Hello')],
    ],
    [
      'send everything with the final event',
      [
        {
          type: 'response.completed',
          response: { output: [{ type: 'message', content: [{ type: 'output_text', text: 'Hello' }] }, item({})] },
        },
      ],
      [text('Hello'), call('c1', {})],
    ],
    [
      'send reasoning as summary and as full text',
      [
        { type: 'response.reasoning_summary_text.delta', output_index: 0, delta: 'short' },
        { type: 'response.reasoning_text.delta', output_index: 0, delta: 'at length' },
        { type: 'response.output_text.delta', output_index: 1, delta: 'Hello' },
        completed,
      ],
      [{ type: 'thinking', text: 'short' }, text('Hello')],
    ],
    [
      'run a web search',
      [
        { type: 'response.output_item.added', output_index: 0, item: { type: 'web_search_call', id: 'ws' } },
        { type: 'response.web_search_call.searching', output_index: 0, item_id: 'ws' },
        { type: 'response.output_item.done', output_index: 0, item: { type: 'web_search_call', id: 'ws' } },
        { type: 'response.output_text.delta', output_index: 1, delta: 'Hello' },
        completed,
      ],
      [text('Hello')],
    ],
    [
      'repeat streamed text in the final item',
      [
        { type: 'response.output_text.delta', output_index: 0, delta: 'Hel' },
        {
          type: 'response.output_item.done',
          output_index: 0,
          item: { type: 'message', content: [{ type: 'output_text', text: 'Hello' }] },
        },
        completed,
      ],
      [text('Hello')],
    ],
  ]
  it.each(cases)('are supported when they %s', async (_name, events, expected) => {
    const { message, deltas } = await read(sseResponse(...events))
    expect(message.content).toEqual(expected)
    const textDeltas = deltas.filter((line) => line.startsWith('text: ')).map((line) => line.slice(6))
    const texts = message.content.map((part) => (part.type === 'text' ? part.text : ''))
    expect(textDeltas.join('')).toBe(texts.join(''))
  })

  it('are supported when they send a refusal only when it ends', async () => {
    const ended = { type: 'response.refusal.done', output_index: 0, refusal: 'No.' }
    const { message } = await read(sseResponse(ended, completed))
    expect(message).toEqual({ role: 'assistant', content: [text('No.')], stop: 'refused' })
  })

  it('are supported when the type is only in the event name', async () => {
    const body = 'event: response.output_text.delta\ndata: {"delta":"Hi"}\n\nevent: response.completed\ndata: {}\n\n'
    expect((await read({ body })).message.content).toEqual([text('Hi')])
  })

  it('are supported when they end with [DONE] after complete items', async () => {
    const made = messageItem(['Hello'])(0)
    expect((await read(joinBodies(streamEvents(made.events), done))).message.content).toEqual([text('Hello')])
    expect(
      await readError(joinBodies(truncatedResponse('response.output_text.delta', messageItem(['Hel', 'lo'])), done)),
    ).toBeInstanceOf(StreamBroken)
  })

  it('are supported when they send open reasoning; a bare summary gets no seal', async () => {
    const open = { type: 'reasoning', id: 'rs_1', summary: [], content: [{ type: 'reasoning_text', text: 'hm' }] }
    const bare = { type: 'reasoning', id: 'rs_2', summary: [{ type: 'summary_text', text: 'so' }] }
    const output = [open, bare, { type: 'message', content: [{ type: 'output_text', text: 'Hi' }] }]
    const { message } = await read(Response.json({ status: 'completed', output }))
    expect(message.content).toEqual([
      { type: 'thinking', text: 'hm', sealed: { by: 'openai-responses', data: open } },
      { type: 'thinking', text: 'so' },
      text('Hi'),
    ])
  })
})

describe('the end of a stream', () => {
  it.each([
    ['max_output_tokens', 'length'],
    ['content_filter', 'refused'],
    ['something new', 'length'],
  ])('maps the incomplete reason %s to %s', async (reason, stop) => {
    const details = { incomplete_details: { reason: reason as 'max_output_tokens' } }
    expect((await read(endedResponse('incomplete', details, [messageItem(['half'])]))).message.stop).toBe(stop)
  })

  it('keeps truncated arguments as raw text', async () => {
    const cut = truncatedResponse(
      'response.function_call_arguments.delta',
      callItem('c1', 'look', ['{"at": "unfin', 'ished"}']),
    )
    const end = { type: 'response.incomplete', response: { incomplete_details: { reason: 'max_output_tokens' } } }
    const { message } = await read(joinBodies(cut, sseResponse(end)))
    expect(message.stop).toBe('length')
    expect(message.content).toEqual([{ ...call('c1', {}), raw: '{"at": "unfin' }])
  })

  it('is accepted when the connection is lost afterwards', async () => {
    expect((await read(completedResponse(messageItem(['Hello'])), { breaks: true })).message.content).toEqual([
      text('Hello'),
    ])
  })

  it('has usage with cached tokens counted separately', async () => {
    const counted = {
      ...createUsage(100, 20, 30),
      input_tokens_details: { cached_tokens: 30, cache_write_tokens: 10 },
      output_tokens_details: { reasoning_tokens: 5 },
    }
    const { usage: used } = await read(endedResponse('completed', { usage: counted }, [messageItem(['x'])]))
    expect(used).toEqual({
      input: 60,
      output: 20,
      cachedRead: 30,
      cachedWrite: 10,
      reasoning: 5,
      costUsd: 0,
      costStatus: 'unknown',
    })
  })

  const failed = (error: object) => sseResponse({ type: 'response.failed', response: { status: 'failed', error } })
  const errors: readonly (readonly [string, { readonly body: string | Uint8Array }, string])[] = [
    ['a rate limit', failed({ code: 'rate_limit_exceeded', message: 'Slow down.' }), 'rate'],
    ['a server failure', failed({ code: 'server_error', message: 'The server had an error.' }), 'server'],
    ['a too long context', failed({ code: 'context_length_exceeded', message: 'No.' }), 'too-long'],
    ['an exhausted quota', failed({ code: 'insufficient_quota', message: 'No.' }), 'quota'],
    [
      'invalid encrypted reasoning',
      failed({ code: 'invalid_encrypted_content', message: 'No.' }),
      'encrypted-reasoning',
    ],
    ['a refused prompt', failed({ code: 'invalid_prompt', message: 'Limited access.' }), 'refused'],
    ['a too large image', failed({ code: 'image_too_large', message: 'No.' }), 'image-too-large'],
    ['an error event', sseResponse({ type: 'error', code: 'server_error', message: 'Oh.', param: null }), 'server'],
    [
      'a nested error',
      sseResponse({ type: 'error', error: { type: 'overloaded_error', message: 'Oh.' } }),
      'overloaded',
    ],
    [
      'refused reasoning summaries',
      sseResponse({
        type: 'error',
        error: {
          type: 'invalid_request_error',
          message: 'Your organization must be verified to generate reasoning summaries.',
        },
      }),
      'encrypted-reasoning',
    ],
    ['an error without an event type', sseResponse({ error: { code: 'rate_limit_exceeded', message: 'Oh.' } }), 'rate'],
  ]
  it.each(errors)('with %s fails with that error', async (_name, from, kind) => {
    expect(toFailure(await readError(from)).kind).toBe(kind)
  })

  it('with a failed JSON body fails with that error', async () => {
    const body = { status: 'failed', error: { code: 'rate_limit_exceeded', message: 'Slow down.' }, output: [] }
    expect(toFailure(await readError(Response.json(body))).kind).toBe('rate')
  })
})
