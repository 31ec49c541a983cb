import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { crc32 } from '#agent/core/crc32.ts'
import { createFrameDecoder, type BedrockFrame } from '#agent/providers/bedrock/frames.ts'
import { encodeFrame, eventFrame } from '../fixtures/bedrock.ts'

describe('createFrameDecoder', { timeout: 60_000 }, () => {
  const decodeAll = (bytes: Uint8Array): readonly BedrockFrame[] => [...createFrameDecoder()(bytes)]

  it('uses the checksum of AWS and zip', () => {
    expect(crc32(new TextEncoder().encode('123456789'))).toBe(0xcbf43926)
  })

  it('decodes the example of the AWS specification', () => {
    // No headers, the payload {'foo':'bar'}.
    const bytes = Uint8Array.from(
      '0000001d00000000fd528c5a7b27666f6f273a27626172277dc3653936'.match(/../g) ?? [],
      (hex) => Number.parseInt(hex, 16),
    )
    const [frame] = decodeAll(bytes)
    expect(new TextDecoder().decode(frame?.payload)).toBe("{'foo':'bar'}")
  })

  it('skips headers that are not strings', () => {
    const plainFrame = encodeFrame({ a: 'b' }, {})
    // A flag, a byte, a timestamp and bytes before the string.
    const otherHeaders = [1, 102, 0, 1, 98, 2, 7, 1, 116, 8, 0, 0, 0, 0, 0, 0, 0, 9, 1, 120, 6, 0, 2, 5, 6]
    const bytes = new Uint8Array(plainFrame.length + otherHeaders.length)
    bytes.set(otherHeaders, 12)
    bytes.set(plainFrame.subarray(12), 12 + otherHeaders.length)
    const view = new DataView(bytes.buffer)
    view.setUint32(0, bytes.length)
    view.setUint32(4, new DataView(plainFrame.buffer).getUint32(4) + otherHeaders.length)
    view.setUint32(8, crc32(bytes.subarray(0, 8)))
    view.setUint32(bytes.length - 4, crc32(bytes.subarray(0, -4)))
    expect(decodeAll(bytes)[0]?.headers).toEqual({ a: 'b' })
  })

  const decodeOutcome = (bytes: Uint8Array): string => {
    try {
      return decodeAll(bytes).length ? 'decoded' : 'the frame is incomplete'
    } catch (error) {
      return String(error)
    }
  }

  it('rejects a frame with any changed byte', () => {
    const validFrame = eventFrame('contentBlockDelta', { delta: { text: 'a' } })
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: validFrame.length - 1 }),
        fc.integer({ min: 1, max: 255 }),
        (at, change) => {
          const changedFrame = validFrame.slice()
          changedFrame[at] = (changedFrame[at] ?? 0) ^ change
          // The frame is an error, or its changed length makes it incomplete.
          expect(decodeOutcome(changedFrame)).toMatch(/frame/i)
        },
      ),
    )
  })
})
