/** Tests that JSON for providers has no lone surrogates, and that nothing else of it changes. */

import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { stringifyWellFormed } from '#agent/providers/shared/well-formed.ts'
import { isWellFormed } from '../fakes/schema-violations.ts'

describe('JSON without lone surrogates', () => {
  it.each([
    ['a text', 'a\ud83d', 'a\ufffd'],
    ['two in a row', '\udc00\udc00', '\ufffd\ufffd'],
    ['a key', { 'k\ud83d': 1 }, { 'k\ufffd': 1 }],
    ['a nested text', [{ a: ['\udfff!'] }], [{ a: ['\ufffd!'] }]],
    ['one after a backslash', '\\\ud83d', '\\\ufffd'],
  ])('%s is replaced', (_what, value, expected) => {
    expect(JSON.parse(stringifyWellFormed(value))).toEqual(expected)
  })

  it.each([
    ['a pair', '😀'],
    ['the letters of an escape', '\\ud83d'],
    ['letters that look like one', { '\\UdA': '\\\\udfff' }],
  ])('%s is left as it is', (_what, value) => {
    expect(stringifyWellFormed(value)).toBe(JSON.stringify(value))
  })

  it('holds for any value, and changes only the surrogates', () => {
    const text = fc.string({ unit: fc.oneof(fc.constantFrom('\\', 'u', 'd', '8', '\ud83d', '\ude00'), fc.string()) })
    fc.assert(
      fc.property(fc.dictionary(text, text), (value) => {
        const json = stringifyWellFormed(value)
        expect(isWellFormed(JSON.parse(json))).toBe(true)
        const replaced = Object.entries(value).map(([key, inner]) => [key.toWellFormed(), inner.toWellFormed()])
        expect(JSON.parse(json)).toEqual(Object.fromEntries(replaced))
      }),
      { numRuns: 1_000 },
    )
  })
})

describe('the check of the fakes', () => {
  it.each([{ a: '\ud83d' }, { '\ud83d': 1 }, ['{"a":"\\ud83d"}'], '[{"\\udfff":1}]'])('finds one in %j', (value) => {
    expect(isWellFormed(value)).toBe(false)
  })

  it.each([{ '\\UdA': '\\ud83d' }, '{"a":"\\\\ud83d"}', '{no JSON', null, 4])('finds none in %j', (value) => {
    expect(isWellFormed(value)).toBe(true)
  })
})
