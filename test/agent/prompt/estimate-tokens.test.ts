import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Message, userText } from '#agent/core/message.ts'
import { estimateMessageTokens, estimateTokens } from '#agent/prompt/estimate-tokens.ts'

const call = (id: string): Message => ({
  role: 'assistant',
  content: [{ type: 'call', id, name: 'look', input: { at: id } }],
  stop: 'tools',
})

describe('estimateTokens()', () => {
  it.each<readonly [string, string, number]>([
    ['English', 'The quick brown fox jumps over the lazy dog. '.repeat(20), 200],
    ['JSON', '{"name": "value", "list": [1, 2, 3], "flag": true}'.repeat(20), 400],
    ['Japanese', '吾輩は猫である。名前はまだ無い。'.repeat(20), 290],
    ['a hash', 'deadbeef'.repeat(50), 235],
  ])('is within a third for %s', (_name, text, tokens) => {
    expect(estimateTokens(text)).toBeGreaterThan(tokens * 0.67)
    expect(estimateTokens(text)).toBeLessThan(tokens * 1.5)
  })

  it('grows with the text and is never negative', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (a, b) => {
        expect(estimateTokens(a)).toBeGreaterThanOrEqual(0)
        expect(estimateTokens(`${a}\n${b}`)).toBeGreaterThanOrEqual(estimateTokens(a) - 1)
      }),
    )
  })

  it('counts calls by their input and images at a flat rate', () => {
    const image = (data: string): Message => ({
      role: 'user',
      content: [{ type: 'image', mediaType: 'image/png', data }],
    })
    expect(estimateMessageTokens(image('A'))).toBe(estimateMessageTokens(image('A'.repeat(100_000))))
    expect(estimateMessageTokens(call('x'.repeat(400)))).toBeGreaterThan(estimateMessageTokens(call('x')))
    expect(estimateMessageTokens(userText(''))).toBeGreaterThan(0)
  })
})
