import { describe, expect, it } from 'vitest'
import { estimateTokens } from '#agent/prompt/estimate-tokens.ts'
import { truncateToChars, truncateToTokens } from '#agent/prompt/truncate-text.ts'

describe('truncateToChars()', () => {
  it('leaves a short text unchanged', () => {
    expect(truncateToChars('short', 5, 'a')).toEqual({ text: 'short', isTruncated: false })
  })

  it('keeps 70 % as head and 20 % as tail, and says what is missing', () => {
    const { text, isTruncated } = truncateToChars(`${'h'.repeat(5_000)}${'t'.repeat(5_000)}`, 1_000, 'AGENTS.md')
    const [head = '', note, tail = ''] = text.split('\n')
    expect([head.length, tail.length, isTruncated]).toEqual([700, 200, true])
    expect(note).toBe('[… AGENTS.md: 9100 of 10000 characters left out here …]')
    expect(text.length).toBeLessThanOrEqual(1_000)
  })

  it.each([0, 1, 2, 3, 5, 8, 13, 21])('never halves a character at %d', (maxChars) => {
    const { text } = truncateToChars('😀'.repeat(100), maxChars, 'a')
    expect(text.isWellFormed()).toBe(true)
  })
})

describe('truncateToTokens()', () => {
  it.each([
    ['words', 'lorem ipsum '.repeat(5_000)],
    ['Japanese', 'こんにちは世界。'.repeat(3_000)],
    ['hashes', 'deadbeef0123456789'.repeat(2_000)],
    ['words before hashes', 'lorem '.repeat(3_000) + 'deadbeef0123456789'.repeat(2_000)],
  ])('keeps %s within the tokens', (_case, text) => {
    const truncated = truncateToTokens(text, 500, 'notes')
    expect(truncated.isTruncated).toBe(true)
    expect(estimateTokens(truncated.text)).toBeLessThanOrEqual(500)
    expect(estimateTokens(truncated.text)).toBeGreaterThan(200)
  })

  it('leaves a text within the tokens unchanged', () => {
    expect(truncateToTokens('lorem', 500, 'notes')).toEqual({ text: 'lorem', isTruncated: false })
  })
})
