import { describe, expect, it } from 'vitest'
import { fenceUntrusted } from '#agent/untrusted/fence.ts'
import { openFenceFilter, removeFences } from '#agent/untrusted/fence-filter.ts'

const fence = (text: string, nonce = 'a1b2c3d4') => fenceUntrusted(text, { source: 'mem0', nonce })

const filtered = (pieces: readonly string[]): string => {
  const filter = openFenceFilter()
  return [...pieces.map(filter.push), filter.flush()].join('')
}

const texts: readonly (readonly [name: string, text: string, shown: string])[] = [
  ['a fence between words', `Hello ${fence('secret')} world.`, 'Hello  world.'],
  ['two fences', `${fence('one', 'n0000001')}a${fence('two', 'n0000002')}b`, 'ab'],
  ['a fence within a fence', fence(`before ${fence('inner', 'n0000001')} after`), ''],
  ['a closing delimiter alone', 'a</untrusted-a1b2c3d4>b', 'ab'],
  ['a fence that is never closed', `a ${fence('secret').slice(0, -5)}`, 'a '],
  [
    'text with brackets',
    'if (a < b && c </ d) <untrusted> <u <untrusted- x',
    'if (a < b && c </ d) <untrusted> <u <untrusted- x',
  ],
  [
    'an opening delimiter that is none',
    '<untrusted-a1b2c3d4 sourc="x"> <untrusted-a1b2c3d4 source="x',
    '<untrusted-a1b2c3d4 sourc="x"> <untrusted-a1b2c3d4 source="x',
  ],
  ['a bracket at the end', 'a <', 'a <'],
  ['emoji around', `\u{1F600}${fence('x')}\u{1F600}`, '\u{1F600}\u{1F600}'],
]

describe.each(texts)('%s', (_name, text, shown) => {
  it('is filtered as a whole', () => {
    expect(filtered([text])).toBe(shown)
    expect(removeFences(text)).toBe(shown)
  })

  it('is filtered when it is split anywhere', () => {
    for (let at = 0; at <= text.length; at++) expect(filtered([text.slice(0, at), text.slice(at)])).toBe(shown)
  })

  it('is filtered when it is split at any two places', () => {
    for (let first = 0; first <= text.length; first += 3)
      for (let second = first; second <= text.length; second += 5)
        expect(filtered([text.slice(0, first), text.slice(first, second), text.slice(second)])).toBe(shown)
  })

  it('is filtered character by character, and never shows more than the whole does', () => {
    const filter = openFenceFilter()
    let sum = ''
    for (const unit of text.split('')) {
      sum += filter.push(unit)
      expect(shown.startsWith(sum)).toBe(true)
    }
    expect(sum + filter.flush()).toBe(shown)
  })
})

it('keeps nothing back where no fence can begin', () => {
  const filter = openFenceFilter()
  expect(filter.push('Hello, ')).toBe('Hello, ')
  expect(filter.push('a < b')).toBe('a < b')
  expect(filter.push('<p>')).toBe('<p>')
})

it('ends a fence that hides too much', () => {
  const shown = filtered([fence('').slice(0, -23), 'x'.repeat(300_000)])
  expect(shown.length).toBeGreaterThan(0)
})

it('takes little time for hostile text', () => {
  const hostile = ['<untrusted-'.repeat(9_000), '<'.repeat(100_000), '</untrusted-a '.repeat(7_000)]
  for (const text of hostile) {
    const start = performance.now()
    expect(filtered([text])).toBe(text)
    expect(performance.now() - start).toBeLessThan(2_000)
  }
})
