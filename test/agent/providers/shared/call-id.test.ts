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
    const names = fc.oneof(fc.string(), fc.stringMatching(/^[\w.:é-]{0,80}$/))
    fc.assert(
      fc.property(names, (name) => {
        expect(encodeToolName(name)).toMatch(/^[a-zA-Z0-9_-]{1,64}$/)
      }),
    )
  })

  it('keeps the beginning of a name, and a name that every provider accepts', () => {
    expect(['look', 'mcp__server__a-b', 'x'.repeat(64), ''].map(encodeToolName)).toEqual([
      'look',
      'mcp__server__a-b',
      'x'.repeat(64),
      'invalid_tool_call',
    ])
    expect(encodeToolName('math.factorial')).toMatch(/^math_factorial_h_[0-9a-z]+$/)
  })

  it('turns no two names into one, not even the encoded form of another', () => {
    const long = 'a'.repeat(70)
    const names = ['a.b', 'a_b', 'a:b', 'a-b', long, `${long}b`, `${long}c`]
    const all = [...names, ...names.map(encodeToolName), ...names.map(encodeToolName).map(encodeToolName)]
    expect(new Set(all.map(encodeToolName)).size).toBe(new Set(all).size)
  })
})
