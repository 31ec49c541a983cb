import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { StreamBroken } from '../../../../src/agent/model/dialect.ts'
import { crc32, type Frame, createFrameDecoder } from '../../../../src/agent/providers/bedrock/frames.ts'
import { readConverseStream } from '../../../../src/agent/providers/bedrock/stream.ts'
import { toFailure } from '../support/conformance.ts'
import {
  bedrockResponses,
  concatBytes,
  toolUseBlock,
  messageEnd,
  eventFrame,
  exceptionFrame,
  encodeFrame,
  redactedBlock,
  textBlock,
  thinkingBlock,
} from '../fixtures/bedrock.ts'
import { chunkedResponse, skipSleep } from '../support/chunked-response.ts'

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
const answer = (...frames: readonly (readonly Uint8Array[])[]) => concatBytes(...frames.flat())
const errorOf = (bytes: Uint8Array) => read(bytes).catch((error: unknown) => error)

describe('frames', { timeout: 60_000 }, () => {
  const framesOf = (bytes: Uint8Array): readonly Frame[] => [...createFrameDecoder()(bytes)]

  it('have the checksum that AWS and zip use', () => {
    expect(crc32(new TextEncoder().encode('123456789'))).toBe(0xcbf43926)
  })

  it('are read as the specification of event streams has them in bytes', () => {
    // The example of AWS: no headers, the payload {'foo':'bar'}.
    const bytes = Uint8Array.from(
      '0000001d00000000fd528c5a7b27666f6f273a27626172277dc3653936'.match(/../g) ?? [],
      (hex) => Number.parseInt(hex, 16),
    )
    const [only] = framesOf(bytes)
    expect(new TextDecoder().decode(only?.payload)).toBe("{'foo':'bar'}")
  })

  it('may have headers that are no strings', () => {
    const plain = encodeFrame({ a: 'b' }, {})
    // A flag, a byte, a timestamp and bytes before the string.
    const others = [1, 102, 0, 1, 98, 2, 7, 1, 116, 8, 0, 0, 0, 0, 0, 0, 0, 9, 1, 120, 6, 0, 2, 5, 6]
    const bytes = new Uint8Array(plain.length + others.length)
    bytes.set(others, 12)
    bytes.set(plain.subarray(12), 12 + others.length)
    const view = new DataView(bytes.buffer)
    view.setUint32(0, bytes.length)
    view.setUint32(4, new DataView(plain.buffer).getUint32(4) + others.length)
    view.setUint32(8, crc32(bytes.subarray(0, 8)))
    view.setUint32(bytes.length - 4, crc32(bytes.subarray(0, -4)))
    expect(framesOf(bytes)[0]?.headers).toEqual({ a: 'b' })
  })

  const outcomeOf = (bytes: Uint8Array): string => {
    try {
      return framesOf(bytes).length ? 'read' : 'a frame is still to come'
    } catch (error) {
      return String(error)
    }
  }

  it('with any byte changed are refused', () => {
    const good = eventFrame('contentBlockDelta', { delta: { text: 'a' } })
    fc.assert(
      fc.property(fc.integer({ min: 0, max: good.length - 1 }), fc.integer({ min: 1, max: 255 }), (at, change) => {
        const bad = good.slice()
        bad[at] = (bad[at] ?? 0) ^ change
        // Nothing of it is read: it is refused, or more bytes are waited for that never come.
        expect(outcomeOf(bad)).toMatch(/frame/i)
      }),
    )
  })
})

describe('an answer of ConverseStream', { timeout: 60_000 }, () => {
  it('is the same wherever the bytes are cut', async () => {
    const body = answer(
      thinkingBlock(0, 'c2ln', 'hm ', 'ja 😀'),
      textBlock(1, 'Grüße'),
      toolUseBlock(2, 'c1', 'look', '{"at"', ':1}'),
      messageEnd('tool_use'),
    )
    const whole = await read(body)
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 300 }), async (size) => {
        expect(await read(body, size)).toEqual(whole)
      }),
      { numRuns: 40 },
    )
  })

  it('that breaks off anywhere is never taken for whole', async () => {
    const body = bedrockResponses.calls.body as Uint8Array
    const last = concatBytes(...messageEnd('tool_use')).length
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 0, max: body.length - last }), async (length) => {
        expect(await errorOf(body.slice(0, length))).toBeInstanceOf(StreamBroken)
      }),
    )
  })

  it('with a frame that does not add up is dropped, in or out of a call', async () => {
    const broken = eventFrame('contentBlockDelta', {})
    broken[20] = 0
    expect(await errorOf(answer(textBlock(0, 'half'), [broken], messageEnd('end_turn')))).toMatchObject({
      name: 'StreamBroken',
      inCall: false,
    })
    expect(await errorOf(answer(toolUseBlock(0, 'c', 'look'), [broken], messageEnd('tool_use')))).toMatchObject({
      inCall: true,
    })
    expect(await errorOf(new TextEncoder().encode('<html>not a stream at all</html>'))).toBeInstanceOf(StreamBroken)
  })

  it('whose end is followed by a broken frame is whole', async () => {
    expect(
      (await read(answer(textBlock(0, 'ok'), messageEnd('end_turn'), [Uint8Array.from({ length: 20 }, () => 7)])))
        .message.stop,
    ).toBe('end')
  })

  it('keeps thinking with its seals, in its order', async () => {
    const { message } = await read(
      answer(
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
  it.each(stops)('that stops for %s is %s', async (reason, stop) => {
    expect((await read(answer(textBlock(0, 'x'), messageEnd(reason)))).message.stop).toBe(stop)
  })

  it('that the provider itself could not read is asked for again', async () => {
    expect(await errorOf(answer(toolUseBlock(0, 'c', 'look', '{"'), messageEnd('malformed_tool_use')))).toMatchObject({
      inCall: true,
    })
  })

  it('brings usage behind its end, what was written to the cache included', async () => {
    const { usage } = await read(bedrockResponses.usage.body as Uint8Array)
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
  ])('counts what is written to the cache for an hour apart from the rest: %j', async (cacheDetails, hourWrite) => {
    const counts = { inputTokens: 1, outputTokens: 1, cacheWriteInputTokens: 5, cacheDetails }
    const { usage } = await read(answer(textBlock(0, 'x'), messageEnd('end_turn', counts)))
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
  it.each(exceptions)('that ends in a %s (%s) is of the kind %s', async (name, message, kind) => {
    const error = await errorOf(answer(textBlock(0, 'half'), [exceptionFrame(name, message)]))
    expect(error).toMatchObject({ name: 'BedrockError', code: name, message })
    expect(toFailure(error).kind).toBe(kind)
  })

  it('that ends in an error without a type is that error', async () => {
    const unmodeled = encodeFrame(
      { ':message-type': 'error', ':error-code': 'InternalFailure', ':error-message': 'Gone.' },
      {},
    )
    expect(await errorOf(answer([unmodeled]))).toMatchObject({ code: 'InternalFailure', message: 'Gone.' })
  })
})
