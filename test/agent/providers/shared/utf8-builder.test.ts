/** Tests that a growing text becomes the same bytes as if it were encoded at once. */

import { describe, expect, it } from 'vitest'
import { Utf8Builder } from '#agent/providers/shared/utf8-builder.ts'

const encode = (text: string) => new TextEncoder().encode(text)
const texts = [
  '',
  'plain',
  'é',
  '日本',
  '\u{1F600}',
  'x'.repeat(70_000),
  '日'.repeat(70_000),
  `${'a'.repeat(200_000)}😀`,
]

describe('a text that grows at its end', () => {
  it.each(texts.flatMap((first) => texts.map((suffix) => [first, suffix] as const)))(
    'ends with any suffix',
    (first, suffix) => {
      const builder = new Utf8Builder()
      builder.append(first)
      builder.append('head')
      const expected = encode(`${first}head${suffix}`)
      for (const _ of [1, 2])
        expect(Buffer.from(builder.toBytesWith([suffix])).equals(Buffer.from(expected))).toBe(true)
      expect(Buffer.from(builder.finishWith([suffix])).equals(Buffer.from(expected))).toBe(true)
    },
  )

  it('holds a large text and its suffix once each', () => {
    const builder = new Utf8Builder()
    const part = 'x'.repeat(1_000_000)
    for (let n = 0; n < 12; n++) builder.append(part)
    const bytes = builder.toBytesWith([part])
    expect(bytes.length).toBe(13_000_000)
    expect(bytes.buffer.byteLength).toBeLessThan(13_100_000)
  })

  it('holds few spare bytes when a short text follows a large one', () => {
    const builder = new Utf8Builder()
    builder.append('x'.repeat(400_000))
    builder.append('y')
    expect(builder.capacity).toBeLessThan(470_000)
    expect(builder.finishWith(['z']).buffer.byteLength).toBeLessThan(470_000)
  })
})
