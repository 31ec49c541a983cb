import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Dropped } from '../../../../src/agent/model/dialect.ts'
import { crc32, type Frame, frameReader } from '../../../../src/agent/providers/bedrock/frames.ts'
import { readConverse } from '../../../../src/agent/providers/bedrock/stream.ts'
import { kindOf } from '../support/conformance.ts'
import {
  bedrockAnswers,
  bytesOf,
  call,
  end,
  event,
  exception,
  frame,
  redacted,
  text,
  thinking,
} from '../fixtures/bedrock.ts'
import { inPieces, noPause } from '../support/byte-pieces.ts'

async function read(bytes: Uint8Array, size = 1_000_000) {
  const heard: string[] = []
  const response = inPieces(bytes, size, 'application/vnd.amazon.eventstream')
  const reply = await readConverse(response, {
    hear: (delta) => heard.push(`${delta.of}: ${delta.text}`),
    pulse: () => {},
    sleep: noPause,
  })
  return { ...reply, heard }
}
const answer = (...frames: readonly (readonly Uint8Array[])[]) => bytesOf(...frames.flat())
const errorOf = (bytes: Uint8Array) => read(bytes).catch((error: unknown) => error)

describe('frames', { timeout: 60_000 }, () => {
  const framesOf = (bytes: Uint8Array): readonly Frame[] => [...frameReader()(bytes)]

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
    const plain = frame({ a: 'b' }, {})
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
    const good = event('contentBlockDelta', { delta: { text: 'a' } })
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
      thinking(0, 'c2ln', 'hm ', 'ja 😀'),
      text(1, 'Grüße'),
      call(2, 'c1', 'look', '{"at"', ':1}'),
      end('tool_use'),
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
    const body = bedrockAnswers.calls.body as Uint8Array
    const last = bytesOf(...end('tool_use')).length
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 0, max: body.length - last }), async (length) => {
        expect(await errorOf(body.slice(0, length))).toBeInstanceOf(Dropped)
      }),
    )
  })

  it('with a frame that does not add up is dropped, in or out of a call', async () => {
    const broken = event('contentBlockDelta', {})
    broken[20] = 0
    expect(await errorOf(answer(text(0, 'half'), [broken], end('end_turn')))).toMatchObject({
      name: 'Dropped',
      inCall: false,
    })
    expect(await errorOf(answer(call(0, 'c', 'look'), [broken], end('tool_use')))).toMatchObject({ inCall: true })
    expect(await errorOf(new TextEncoder().encode('<html>not a stream at all</html>'))).toBeInstanceOf(Dropped)
  })

  it('whose end is followed by a broken frame is whole', async () => {
    expect(
      (await read(answer(text(0, 'ok'), end('end_turn'), [Uint8Array.from({ length: 20 }, () => 7)]))).message.stop,
    ).toBe('end')
  })

  it('keeps thinking with its seals, in its order', async () => {
    const { message } = await read(
      answer(
        thinking(0, 'c2ln', 'one'),
        redacted(1, 'cmVk'),
        text(2, 'between'),
        thinking(3, '', 'unsigned'),
        end('end_turn'),
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
    expect((await read(answer(text(0, 'x'), end(reason)))).message.stop).toBe(stop)
  })

  it('that the provider itself could not read is asked for again', async () => {
    expect(await errorOf(answer(call(0, 'c', 'look', '{"'), end('malformed_tool_use')))).toMatchObject({ inCall: true })
  })

  it('brings usage behind its end, what was written to the cache included', async () => {
    const { usage } = await read(bedrockAnswers.usage.body as Uint8Array)
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
    const { usage } = await read(answer(text(0, 'x'), end('end_turn', counts)))
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
    const error = await errorOf(answer(text(0, 'half'), [exception(name, message)]))
    expect(error).toMatchObject({ name: 'BedrockError', code: name, message })
    expect(kindOf(error).kind).toBe(kind)
  })

  it('that ends in an error without a type is that error', async () => {
    const unmodeled = frame(
      { ':message-type': 'error', ':error-code': 'InternalFailure', ':error-message': 'Gone.' },
      {},
    )
    expect(await errorOf(answer([unmodeled]))).toMatchObject({ code: 'InternalFailure', message: 'Gone.' })
  })
})
