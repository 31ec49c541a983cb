import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { StreamBroken } from '#agent/core/dialect.ts'
import { readChatStream } from '#agent/providers/openai/chat-stream.ts'
import { ErrorInBody } from '#agent/providers/shared/error-in-body.ts'
import {
  callEvent,
  callFragment,
  choiceEvent,
  deltaEvent,
  doneEvent,
  finish,
  readStream,
  type StreamOptions,
} from '../support/chat-streams.ts'
import { skipSleep } from '../support/chunked-response.ts'
import { toFailure } from '../support/conformance.ts'

const encoder = new TextEncoder()
const terminated = new TypeError('terminated')

describe('readChatStream', () => {
  const text =
    deltaEvent({ role: 'assistant', content: '' }) +
    deltaEvent({ content: 'Grüße, ' }) +
    deltaEvent({ content: '世界 👋' }) +
    finish('stop')

  it('joins text and reports it as deltas', async () => {
    const { message, deltas } = await readStream(text)
    expect(message).toEqual({ role: 'assistant', content: [{ type: 'text', text: 'Grüße, 世界 👋' }], stop: 'end' })
    expect(deltas).toEqual(['text: Grüße, ', 'text: 世界 👋'])
  })

  it('reads the same reply for any chunk size', async () => {
    const reply = await readStream(text)
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 40 }), async (size) => {
        const { message, deltas } = await readStream(text, { size })
        expect({ message, deltas }).toEqual({ message: reply.message, deltas: reply.deltas })
      }),
    )
  })

  it.each([
    ['text', deltaEvent({ content: 'a' }), 'answer'],
    ['thinking', deltaEvent({ reasoning_content: 'a' }), 'answer'],
    ['a refusal', deltaEvent({ refusal: 'a' }), 'answer'],
    ['a fragment of a tool call', callEvent({ index: 0, id: 'c', function: { name: 'f', arguments: '' } }), 'answer'],
    ['a finish reason', deltaEvent({}, 'stop'), 'answer'],
    ['usage', 'data: {"choices":[],"usage":{"prompt_tokens":1}}\n\n', 'answer'],
    ['a role', deltaEvent({ role: 'assistant', content: '' }), 'keep-alive'],
    ['a chunk without a choice', 'data: {"choices":[]}\n\n', 'keep-alive'],
    ['a comment', ': processing\n\n', 'keep-alive'],
  ])('reports %s as activity of its kind', async (_name, frame, activity) => {
    expect((await readStream(frame + finish('stop'))).activities).toEqual([activity, 'answer'])
  })

  it('reports no activity for incomplete events', async () => {
    expect((await readStream(text, { size: 1 })).activities).toEqual((await readStream(text)).activities)
  })

  it('accepts [DONE] without a finish reason', async () => {
    expect((await readStream(deltaEvent({ content: 'ok' }) + doneEvent)).message.stop).toBe('end')
  })

  it('reads a JSON body instead of a stream', async () => {
    const body = {
      choices: [{ message: { content: 'whole' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 3, completion_tokens: 1 },
    }
    const { message, usage } = await readChatStream(Response.json(body), {
      onDelta: () => {},
      onActivity: () => {},
      sleep: skipSleep,
    })
    expect(message.content).toEqual([{ type: 'text', text: 'whole' }])
    expect(usage).toMatchObject({ input: 3, output: 1 })
  })
})

describe('the thinking of a stream', () => {
  it.each(['reasoning', 'reasoning_content'])('is separate from text in the field %s', async (name) => {
    const { message, deltas } = await readStream(
      deltaEvent({ [name]: 'hm ' }) + deltaEvent({ [name]: 'yes' }) + deltaEvent({ content: 'Yes.' }) + finish('stop'),
    )
    expect(message.content).toEqual([
      { type: 'thinking', text: 'hm yes' },
      { type: 'text', text: 'Yes.' },
    ])
    expect(deltas).toEqual(['thinking: hm ', 'thinking: yes', 'text: Yes.'])
  })
})

describe('the end of a stream', () => {
  it.each([
    ['length', 'length'],
    ['model_length', 'length'],
    ['max_tokens', 'length'],
    ['MAX_TOKENS', 'length'],
    ['model_context_window_exceeded', 'length'],
    ['content_filter', 'refused'],
    ['sensitive', 'refused'],
    ['stop', 'end'],
  ])('maps the finish reason %s to %s', async (reason, stop) => {
    expect((await readStream(deltaEvent({ content: 'x' }) + finish(reason))).message.stop).toBe(stop)
  })

  it('has the text of a refusal', async () => {
    const { message } = await readStream(
      deltaEvent({ refusal: 'I will ' }) + deltaEvent({ refusal: 'not.' }) + finish('stop'),
    )
    expect(message).toEqual({ role: 'assistant', content: [{ type: 'text', text: 'I will not.' }], stop: 'refused' })
  })

  it('has usage with cached tokens counted separately', async () => {
    const usage = {
      prompt_tokens: 100,
      completion_tokens: 20,
      prompt_tokens_details: { cached_tokens: 30 },
      completion_tokens_details: { reasoning_tokens: 5 },
    }
    const text =
      deltaEvent({ content: 'x' }, 'stop') + `data: ${JSON.stringify({ choices: [], usage })}\n\n${doneEvent}`
    const counted = { input: 70, output: 20, cachedRead: 30, cachedWrite: 0, reasoning: 5 }
    expect((await readStream(text)).usage).toEqual({ ...counted, costUsd: 0, costStatus: 'unknown' })
    const priced = text.replace('"prompt_tokens":100', '"cost":0.5,"prompt_tokens":100')
    expect((await readStream(priced)).usage).toEqual({ ...counted, costUsd: 0.5, costStatus: 'actual' })
  })

  const details = (reasoning_tokens: number) => ({ completion_tokens_details: { reasoning_tokens } })
  it.each([
    [
      'with reasoning tokens outside of the completion tokens',
      { prompt_tokens: 37, completion_tokens: 530, total_tokens: 800, ...details(233) },
      { input: 37, output: 763, reasoning: 233 },
    ],
    [
      'with reasoning tokens inside of the completion tokens',
      { prompt_tokens: 37, completion_tokens: 530, total_tokens: 567, ...details(233) },
      { input: 37, output: 530, reasoning: 233 },
    ],
    [
      'without a total',
      { prompt_tokens: 37, completion_tokens: 530, ...details(233) },
      { input: 37, output: 530, reasoning: 233 },
    ],
    [
      'with cached tokens in a field of its own',
      { prompt_tokens: 100, completion_tokens: 5, cached_tokens: 60 },
      { input: 40, output: 5, cachedRead: 60 },
    ],
  ])('has usage %s', async (_name, usage, expected) => {
    const text =
      deltaEvent({ content: 'x' }, 'stop') + `data: ${JSON.stringify({ choices: [], usage })}\n\n${doneEvent}`
    expect((await readStream(text)).usage).toMatchObject(expected)
  })

  it.each<readonly [string, object, object]>([
    [
      'with thinking tokens that only the total counts, as Google has it',
      { prompt_tokens: 40, completion_tokens: 10, total_tokens: 350 },
      { input: 40, output: 310, reasoning: 300 },
    ],
    [
      'with a total that counts cached tokens too',
      { prompt_tokens: 40, completion_tokens: 10, total_tokens: 80, cached_tokens: 30 },
      { input: 10, output: 10, reasoning: 0, cachedRead: 30 },
    ],
    [
      'with a total below the sum',
      { prompt_tokens: 40, completion_tokens: 10, total_tokens: 5 },
      { input: 40, output: 10, reasoning: 0 },
    ],
    [
      'of OpenRouter with an own key of the upstream',
      { prompt_tokens: 1, cost: 0.0005, is_byok: true, cost_details: { upstream_inference_cost: 0.02 } },
      { costUsd: 0.0205, costStatus: 'actual' },
    ],
    [
      'of OpenRouter without an own key, whose cost includes that of the upstream',
      { prompt_tokens: 1, cost: 0.03, is_byok: false, cost_details: { upstream_inference_cost: 0.02 } },
      { costUsd: 0.03, costStatus: 'actual' },
    ],
    [
      'with an own key and an unknown cost of the upstream',
      { prompt_tokens: 1, cost: 0.0005, is_byok: true, cost_details: { upstream_inference_cost: null } },
      { costUsd: 0, costStatus: 'unknown' },
    ],
  ])('has usage %s', async (_name, usage, expected) => {
    const text =
      deltaEvent({ content: 'x' }, 'stop') + `data: ${JSON.stringify({ choices: [], usage })}\n\n${doneEvent}`
    expect((await readStream(text)).usage).toMatchObject(expected)
  })

  it('fails as broken without an end, inside a tool call or outside', async () => {
    const dropped = async (text: string, options?: StreamOptions) => {
      const error: unknown = await readStream(text, options).catch((caught: unknown) => caught)
      return error instanceof StreamBroken ? { inCall: error.inCall } : error
    }
    expect(await dropped('')).toEqual({ inCall: false })
    expect(await dropped(doneEvent)).toEqual({ inCall: false })
    expect(await dropped(deltaEvent({ content: 'half' }))).toEqual({ inCall: false })
    expect(await dropped(callFragment(0, 'a', '{"at', 'look'))).toEqual({ inCall: true })
    expect(await dropped(deltaEvent({ content: 'half' }), { error: terminated })).toEqual({ inCall: false })
    expect(await dropped('data: <html>\n\n')).toEqual({ inCall: false })
  })

  it.each([
    ['is lost', terminated],
    ['is aborted', Object.assign(new Error('aborted'), { name: 'AbortError' })],
  ])('is accepted when the connection %s afterwards', async (_name, breaks) => {
    // Enqueued before the error: an error drops queued chunks.
    const body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => controller.enqueue(encoder.encode(deltaEvent({ content: 'whole' }, 'stop'))),
        pull: (controller) => controller.error(breaks),
      },
      { highWaterMark: 0 },
    )
    const { message } = await readChatStream(new Response(body), {
      onDelta: () => {},
      onActivity: () => {},
      sleep: skipSleep,
    })
    expect(message).toEqual({ role: 'assistant', content: [{ type: 'text', text: 'whole' }], stop: 'end' })
  })

  it.each(['insufficient_system_resource', 'error', 'network_error'])(
    'fails as broken for the finish reason %s',
    async (reason) => {
      const error: unknown = await readStream(deltaEvent({ content: 'half' }) + finish(reason)).catch(
        (caught: unknown) => caught,
      )
      expect(error).toBeInstanceOf(StreamBroken)
      expect(error).toMatchObject({ inCall: false })
      expect(toFailure(error).kind).toBe('network')
      await expect(readStream(callFragment(0, 'a', '{"at', 'look') + finish(reason))).rejects.toMatchObject({
        inCall: true,
      })
    },
  )

  it('fails with the error of a choice', async () => {
    const choice = { index: 0, delta: {}, finish_reason: 'error', error: { code: 502, message: 'Upstream is gone' } }
    const text = deltaEvent({ content: 'x' }) + `data: ${JSON.stringify({ choices: [choice] })}\n\n${doneEvent}`
    await expect(readStream(text)).rejects.toMatchObject({ name: 'ErrorInBody', status: 502 })
  })

  it('fails with an error inside the stream', async () => {
    const text =
      deltaEvent({ content: 'x' }) + `data: ${JSON.stringify({ error: { message: 'Overloaded', code: 529 } })}\n\n`
    await expect(readStream(text)).rejects.toThrow(new ErrorInBody({ message: 'Overloaded', code: 529 }))
    await expect(readStream(text)).rejects.toMatchObject({ status: 529 })
  })
})

const readEvents = (...events: readonly string[]) => readStream([...events, doneEvent].join(''))

describe('cached tokens', () => {
  const usageOf = async (usage: object) =>
    (
      await readEvents(
        choiceEvent({ delta: { content: 'hi' }, finish_reason: 'stop' }),
        choiceEvent({ delta: {} }, { usage }),
      )
    ).usage
  it.each<readonly [string, object, object]>([
    [
      'are counted for reads and writes',
      { prompt_tokens: 100, prompt_tokens_details: { cached_tokens: 60, cache_write_tokens: 30 } },
      { input: 10, cachedRead: 60, cachedWrite: 30 },
    ],
    [
      'are counted in the field of DeepSeek',
      { prompt_tokens: 100, prompt_cache_hit_tokens: 64 },
      { input: 36, cachedRead: 64 },
    ],
    ['are zero without a count', { prompt_tokens: 100 }, { input: 100, cachedRead: 0, cachedWrite: 0 }],
  ])('%s', async (_name, usage, expected) => {
    expect(await usageOf({ completion_tokens: 1, ...usage })).toMatchObject(expected)
  })
})
