import { describe, expect, it } from 'vitest'
import { showHidden, showHiddenInValue } from '#agent/core/visible-text.ts'

describe('hidden characters', () => {
  it.each([
    ['r\u200Bm', String.raw`r\u{200B}m`],
    ['a\u202Eb', String.raw`a\u{202E}b`],
    ['\u2066x\u2069', String.raw`\u{2066}x\u{2069}`],
    ['x\uFEFF', String.raw`x\u{FEFF}`],
    ['a\u00A0b', String.raw`a\u{00A0}b`],
    ['\u001B[31m', String.raw`\u{001B}[31m`],
    ['tag\u{E0041}', String.raw`tag\u{E0041}`],
    ['a\rb', String.raw`a\u{000D}b`],
  ])('are shown: %j', (text, shown) => expect(showHidden(text)).toBe(shown))

  it.each(['ls -la\n\techo done', 'grüße 你好 😀', String.raw`\u{200B}`])('are nothing else: %j', (text) =>
    expect(showHidden(text)).toBe(text),
  )

  it('are shown in names and values of JSON', () =>
    expect(showHiddenInValue({ 'a\u200B': ['b\u200B', 1, null] })).toEqual({
      [String.raw`a\u{200B}`]: [String.raw`b\u{200B}`, 1, null],
    }))
})
