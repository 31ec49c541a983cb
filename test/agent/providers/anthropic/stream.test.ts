/** Tests reading a stream of the Messages API into a reply. */

import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { StreamBroken, type Activity } from '#agent/core/dialect.ts'
import { readMessagesStream } from '#agent/providers/anthropic/stream.ts'
import {
  anthropicRecordings,
  contentBlock,
  toolUseBlock,
  messageEnd,
  type Event,
  messageStart,
  serializeEvents,
  textBlock,
  thinkingBlock,
} from '../fixtures/anthropic.ts'
import { chunkedResponse, skipSleep } from '../support/chunked-response.ts'

const encoder = new TextEncoder()

async function read(body: string, size = 1_000_000) {
  const deltas: string[] = []
  const activities: (Activity | undefined)[] = []
  const response = chunkedResponse(encoder.encode(body), size, 'text/event-stream')
  const reply = await readMessagesStream(response, {
    onDelta: (delta) => deltas.push(`${delta.of}: ${delta.text}`),
    onActivity: (activity) => activities.push(activity),
    sleep: skipSleep,
  })
  return { ...reply, deltas, activities }
}
const createStream = (...events: readonly (Event | readonly Event[])[]) =>
  serializeEvents(messageStart(), ...events.flat())

describe('readMessagesStream', { timeout: 60_000 }, () => {
  it('reads the same reply for any chunk size', async () => {
    const body = createStream(
      thinkingBlock(0, 'c2ln', 'hm ', 'ja 😀'),
      textBlock(1, 'Grüße'),
      toolUseBlock(2, 'c1', 'look', '{"at"', ':1}'),
      messageEnd('tool_use'),
    )
    const reply = await read(body)
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 60 }), async (size) => {
        expect(await read(body, size)).toEqual(reply)
      }),
      { numRuns: 40 },
    )
  })

  it('never accepts a truncated stream as complete', async () => {
    const body = anthropicRecordings.calls.body as string
    const reply = await read(body)
    const stop = body.indexOf('"stop_reason"')
    const outcomeOf = async (length: number) => {
      const outcome: unknown = await read(body.slice(0, length)).catch((error: unknown) => error)
      return outcome instanceof StreamBroken ? 'broken' : outcome
    }
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 0, max: stop }), async (length) => {
        expect(await outcomeOf(length)).toBe('broken')
      }),
    )
    expect(await outcomeOf(body.indexOf('event: message_stop'))).toMatchObject({ message: reply.message })
  })

  it('keeps thinking and its signatures in order', async () => {
    const { message } = await read(
      createStream(
        thinkingBlock(0, 'c2ln', 'one'),
        contentBlock(1, { type: 'redacted_thinking', data: 'cmVk' }),
        textBlock(2, 'between'),
        thinkingBlock(3, 'c2lnMg==', ''),
        thinkingBlock(4, '', 'unsigned'),
        toolUseBlock(5, 'c1', 'look'),
        messageEnd('tool_use'),
      ),
    )
    expect(message.content).toEqual([
      { type: 'thinking', text: 'one', sealed: { by: 'anthropic', data: { signature: 'c2ln' } } },
      { type: 'thinking', text: '', sealed: { by: 'anthropic', data: { redacted: 'cmVk' } } },
      { type: 'text', text: 'between' },
      { type: 'thinking', text: '', sealed: { by: 'anthropic', data: { signature: 'c2lnMg==' } } },
      { type: 'thinking', text: 'unsigned' },
      { type: 'call', id: 'c1', name: 'look', input: {} },
    ])
  })

  const stops: readonly (readonly [string, string])[] = [
    ['end_turn', 'end'],
    ['stop_sequence', 'end'],
    ['max_tokens', 'length'],
    ['model_context_window_exceeded', 'length'],
    ['pause_turn', 'length'],
    ['refusal', 'refused'],
    ['something_new', 'end'],
  ]
  it.each(stops)('maps the stop reason %s to %s', async (reason, stop) => {
    expect((await read(createStream(textBlock(0, 'x'), messageEnd(reason)))).message.stop).toBe(stop)
  })

  it('uses the explanation of the provider for a refusal without text', async () => {
    const { message } = await read(anthropicRecordings.refusal.body as string)
    expect(message).toEqual({ role: 'assistant', content: [{ type: 'text', text: 'I will not.' }], stop: 'refused' })
  })

  it('keeps truncated arguments as raw text', async () => {
    const { message } = await read(
      createStream(toolUseBlock(0, 'c1', 'look', '{"at": "unfin'), messageEnd('max_tokens')),
    )
    expect(message).toEqual({
      role: 'assistant',
      content: [{ type: 'call', id: 'c1', name: 'look', input: {}, raw: '{"at": "unfin' }],
      stop: 'length',
    })
  })

  it('reads blocks without deltas, and ignores unknown blocks', async () => {
    const { message, deltas } = await read(
      createStream(
        contentBlock(0, { type: 'text', text: 'whole' }),
        contentBlock(
          1,
          { type: 'server_tool_use', id: 's1', name: 'x', input: {} },
          { type: 'input_json_delta', partial_json: '{}' },
        ),
        contentBlock(2, { type: 'tool_use', id: 'c1', name: 'look', input: { at: 1 } }),
        messageEnd('tool_use'),
      ),
    )
    expect(message.content).toEqual([
      { type: 'text', text: 'whole' },
      { type: 'call', id: 'c1', name: 'look', input: { at: 1 } },
    ])
    expect(deltas).toEqual(['text: whole'])
  })

  it('uses the final usage, and the first usage for counts that the final one lacks', async () => {
    const body = (first: object, last: object) =>
      serializeEvents(messageStart(first), ...textBlock(0, 'x'), ...messageEnd('end_turn', {}, last))
    const usage = async (first: object, last: object) => (await read(body(first, last))).usage
    const beginning = { input_tokens: 50, cache_read_input_tokens: 7, cache_creation_input_tokens: 3, output_tokens: 1 }
    const expectedUsage = {
      input: 50,
      output: 9,
      cachedRead: 7,
      cachedWrite: 3,
      reasoning: 0,
      costUsd: 0,
      costStatus: 'unknown',
    }
    expect(await usage(beginning, { output_tokens: 9 })).toEqual(expectedUsage)
    expect(await usage({ input_tokens: 0, output_tokens: 0 }, { ...beginning, output_tokens: 9 })).toEqual(
      expectedUsage,
    )
    expect(
      await usage(beginning, { input_tokens: 0, output_tokens: 9, output_tokens_details: { thinking_tokens: 4 } }),
    ).toEqual({
      ...expectedUsage,
      reasoning: 4,
    })
    expect(await usage({ input_tokens: -5, output_tokens: 'many' }, {})).toMatchObject({ input: 0, output: 0 })
  })

  it('counts one-hour cache writes separately, at most all cache writes', async () => {
    const usage = async (hour: unknown) => {
      const cache_creation = { ephemeral_5m_input_tokens: 30, ephemeral_1h_input_tokens: hour }
      const first = { input_tokens: 1, cache_creation_input_tokens: 100, cache_creation, output_tokens: 1 }
      return (await read(serializeEvents(messageStart(first), ...textBlock(0, 'x'), ...messageEnd('end_turn')))).usage
    }
    expect(await usage(70)).toMatchObject({ cachedWrite: 100, hourWrite: 70 })
    expect(await usage(700)).toMatchObject({ cachedWrite: 100, hourWrite: 100 })
    expect(await usage('many')).not.toHaveProperty('hourWrite')
  })

  it('reports pings as keep-alive activity', async () => {
    const { activities } = await read(createStream({ type: 'ping' }, textBlock(0, 'x'), messageEnd('end_turn')))
    expect(activities.filter((activity) => activity === 'keep-alive')).toHaveLength(1)
    expect(activities[1]).toBe('keep-alive')
  })

  it('reads a JSON message instead of a stream', async () => {
    const reply = {
      type: 'message',
      content: [
        { type: 'thinking', thinking: 'hm', signature: 'c2ln' },
        { type: 'text', text: 'whole' },
      ],
      stop_reason: 'end_turn',
      usage: { input_tokens: 3, output_tokens: 1 },
    }
    const options = { onDelta: () => {}, onActivity: () => {}, sleep: skipSleep }
    const { message, usage } = await readMessagesStream(Response.json(reply), options)
    expect(message).toEqual({
      role: 'assistant',
      content: [
        { type: 'thinking', text: 'hm', sealed: { by: 'anthropic', data: { signature: 'c2ln' } } },
        { type: 'text', text: 'whole' },
      ],
      stop: 'end',
    })
    expect(usage).toMatchObject({ input: 3, output: 1 })
    const refused = Response.json({ type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } })
    await expect(readMessagesStream(refused, options)).rejects.toThrow('Overloaded')
  })
})
