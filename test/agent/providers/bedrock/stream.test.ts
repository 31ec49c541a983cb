import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { StreamBroken } from '#agent/core/dialect.ts'
import { readConverseStream } from '#agent/providers/bedrock/stream.ts'
import {
  bedrockRecordings,
  concatBytes,
  encodeFrame,
  eventFrame,
  exceptionFrame,
  messageEnd,
  redactedBlock,
  textBlock,
  thinkingBlock,
  toolUseBlock,
} from '../fixtures/bedrock.ts'
import { chunkedResponse, skipSleep } from '../support/chunked-response.ts'
import { toFailure } from '../support/conformance.ts'

async function read(bytes: Uint8Array, size = 1_000_000) {
  const deltas: string[] = []
  const response = chunkedResponse(bytes, size, 'application/vnd.amazon.eventstream')
  const reply = await readConverseStream(response, {
    onDelta: (delta) => deltas.push(`${delta.of}: ${delta.text}`),
    onActivity: () => {},
    sleep: skipSleep,
  })
  return { ...reply, deltas }
}
const encodeReply = (...frames: readonly (readonly Uint8Array[])[]) => concatBytes(...frames.flat())
const readError = (bytes: Uint8Array) => read(bytes).catch((error: unknown) => error)

describe('readConverseStream', { timeout: 60_000 }, () => {
  it('reads the same reply for any chunk size', async () => {
    const body = encodeReply(
      thinkingBlock(0, 'c2ln', 'hm ', 'ja 😀'),
      textBlock(1, 'Grüße'),
      toolUseBlock(2, 'c1', 'look', '{"at"', ':1}'),
      messageEnd('tool_use'),
    )
    const reply = await read(body)
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 300 }), async (size) => {
        expect(await read(body, size)).toEqual(reply)
      }),
      { numRuns: 40 },
    )
  })

  it('never accepts a truncated stream as complete', async () => {
    const body = bedrockRecordings.calls.body as Uint8Array
    const last = concatBytes(...messageEnd('tool_use')).length
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 0, max: body.length - last }), async (length) => {
        expect(await readError(body.slice(0, length))).toBeInstanceOf(StreamBroken)
      }),
    )
  })

  it('fails as broken on a corrupt frame, inside a tool call or outside', async () => {
    const broken = eventFrame('contentBlockDelta', {})
    broken[20] = 0
    expect(await readError(encodeReply(textBlock(0, 'half'), [broken], messageEnd('end_turn')))).toMatchObject({
      name: 'StreamBroken',
      inCall: false,
    })
    expect(await readError(encodeReply(toolUseBlock(0, 'c', 'look'), [broken], messageEnd('tool_use')))).toMatchObject({
      inCall: true,
    })
    expect(await readError(new TextEncoder().encode('<html>not a stream at all</html>'))).toBeInstanceOf(StreamBroken)
  })

  it('ignores a corrupt frame after the end', async () => {
    expect(
      (await read(encodeReply(textBlock(0, 'ok'), messageEnd('end_turn'), [Uint8Array.from({ length: 20 }, () => 7)])))
        .message.stop,
    ).toBe('end')
  })

  it('keeps thinking with its seals, in order', async () => {
    const { message } = await read(
      encodeReply(
        thinkingBlock(0, 'c2ln', 'one'),
        redactedBlock(1, 'cmVk'),
        textBlock(2, 'between'),
        thinkingBlock(3, '', 'unsigned'),
        messageEnd('end_turn'),
      ),
    )
    expect(message.content).toEqual([
      { type: 'thinking', text: 'one', sealed: { by: 'bedrock-converse', data: { signature: 'c2ln' } } },
      { type: 'thinking', text: '', sealed: { by: 'bedrock-converse', data: { redacted: 'cmVk' } } },
      { type: 'text', text: 'between' },
      { type: 'thinking', text: 'unsigned' },
    ])
  })

  const stops: readonly (readonly [string, string])[] = [
    ['end_turn', 'end'],
    ['stop_sequence', 'end'],
    ['max_tokens', 'length'],
    ['model_context_window_exceeded', 'length'],
    ['guardrail_intervened', 'refused'],
    ['content_filtered', 'refused'],
    ['something_new', 'end'],
  ]
  it.each(stops)('maps the stop reason %s to %s', async (reason, stop) => {
    expect((await read(encodeReply(textBlock(0, 'x'), messageEnd(reason)))).message.stop).toBe(stop)
  })

  it('fails as broken when the provider could not parse the model output', async () => {
    expect(
      await readError(encodeReply(toolUseBlock(0, 'c', 'look', '{"'), messageEnd('malformed_tool_use'))),
    ).toMatchObject({
      inCall: true,
    })
  })

  it('reads usage after the end, with cache writes', async () => {
    const { usage } = await read(bedrockRecordings.usage.body as Uint8Array)
    expect(usage).toEqual({
      input: 70,
      output: 20,
      cachedRead: 30,
      cachedWrite: 5,
      reasoning: 0,
      costUsd: 0,
      costStatus: 'unknown',
    })
  })

  it.each([
    [
      [
        { ttl: '5m', inputTokens: 3 },
        { ttl: '1h', inputTokens: 2 },
      ],
      2,
    ],
    [[{ ttl: '1h', inputTokens: 900 }], 5],
    [[null, { ttl: '1h', inputTokens: 'many' }], undefined],
    ['none', undefined],
  ])('counts one-hour cache writes separately: %j', async (cacheDetails, hourWrite) => {
    const counts = { inputTokens: 1, outputTokens: 1, cacheWriteInputTokens: 5, cacheDetails }
    const { usage } = await read(encodeReply(textBlock(0, 'x'), messageEnd('end_turn', counts)))
    expect([usage.cachedWrite, usage.hourWrite]).toEqual([5, hourWrite])
  })

  const exceptions: readonly (readonly [string, string, string])[] = [
    ['throttlingException', 'Too many tokens per minute.', 'rate'],
    ['serviceUnavailableException', 'Try later.', 'overloaded'],
    ['modelStreamErrorException', 'The model failed.', 'server'],
    ['internalServerException', 'Something broke.', 'server'],
    ['modelTimeoutException', 'The model took too long.', 'network'],
    ['validationException', 'The input is not valid for this model.', 'invalid'],
    ['validationException', 'Input is too long for requested model.', 'too-long'],
  ]
  it.each(exceptions)('reads a %s (%s) as an error of the kind %s', async (name, message, kind) => {
    const error = await readError(encodeReply(textBlock(0, 'half'), [exceptionFrame(name, message)]))
    expect(error).toMatchObject({ name: 'BedrockError', code: name, message })
    expect(toFailure(error).kind).toBe(kind)
  })

  it('reads an unmodeled error', async () => {
    const unmodeled = encodeFrame(
      { ':message-type': 'error', ':error-code': 'InternalFailure', ':error-message': 'Gone.' },
      {},
    )
    expect(await readError(encodeReply([unmodeled]))).toMatchObject({ code: 'InternalFailure', message: 'Gone.' })
  })
})
