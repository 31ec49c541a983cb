import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { encodeCallId, encodeToolName } from '#agent/providers/shared/call-id.ts'

describe('encodeCallId', { timeout: 60_000 }, () => {
  it('keeps an id that every provider accepts', () => {
    for (const id of ['call_1', 'toolu_01D7FLrfh4GYq7yT1ULFeyMV', 'a-b']) expect(encodeCallId(id)).toBe(id)
  })

  it('maps equal ids to equal valid ids, and different ids to different ones', () => {
    const ids = fc.oneof(fc.string(), fc.stringMatching(/^[\w|.:é-]{0,80}$/))
    fc.assert(
      fc.property(ids, ids, (a, b) => {
        expect(encodeCallId(a)).toMatch(/^[a-zA-Z0-9_-]{1,40}$/)
        expect(encodeCallId(a) === encodeCallId(b)).toBe(a === b)
      }),
      { numRuns: 1_000 },
    )
  })
})

describe('encodeToolName', () => {
  it('turns any name into one that every provider accepts', () => {
    expect(['look', 'no.such tool!', '', 'x'.repeat(70)].map(encodeToolName)).toEqual([
      'look',
      'no_such_tool_',
      'invalid_tool_call',
      'x'.repeat(64),
    ])
  })
})
