import { describe, expect, it } from 'vitest'
import { getImageSize } from '#agent/providers/shared/images/image-limits.ts'
import { base64, image, png, toCharCodes } from '../../support/images.ts'

describe('getImageSize', () => {
  const app1 = [0xff, 0xe1, 0, 8, 1, 2, 3, 4, 5, 6]
  const frame = [0xff, 0xc2, 0, 17, 8, 0x0b, 0xb8, 0x0f, 0xa0, 3]
  const riff = (...rest: readonly number[]) =>
    base64(...toCharCodes('RIFF'), 0, 0, 0, 0, ...toCharCodes('WEBP'), ...rest)
  it.each([
    ['PNG', png(9_000, 20), [9_000, 20]],
    ['GIF', image(base64(...toCharCodes('GIF89a'), 0x2c, 0x01, 0x0a, 0, ...Array(12).fill(0)), 'image/gif'), [300, 10]],
    ['JPEG', image(base64(0xff, 0xd8, ...app1, ...frame, 0, 0, 0), 'image/jpeg'), [4_000, 3_000]],
    [
      'WebP, extended',
      image(riff(...toCharCodes('VP8X'), 10, 0, 0, 0, 0, 0, 0, 0, 0x0f, 0x27, 0, 0x63, 0, 0), 'image/webp'),
      [10_000, 100],
    ],
    [
      'WebP, lossy',
      image(riff(...toCharCodes('VP8 '), 9, 0, 0, 0, 0, 0, 0, 0x9d, 0x01, 0x2a, 0x20, 0x03, 0x58, 0x02), 'image/webp'),
      [800, 600],
    ],
    [
      'WebP, lossless',
      image(riff(...toCharCodes('VP8L'), 9, 0, 0, 0, 0x2f, 0x1f, 0xc3, 0x95, 0, ...Array(6).fill(0)), 'image/webp'),
      [800, 600],
    ],
  ] as const)('reads the size of a %s', (_name, part, [width, height]) => {
    expect(getImageSize(part)).toEqual({ width, height })
  })

  it.each([
    ['a URL', image('https://x.test/a.png', 'image/png;url')],
    ['text', image(btoa('this is not a picture at all'))],
    ['a truncated JPEG', image(base64(0xff, 0xd8, 0xff, 0xe1, 0xff, 0xff, ...Array(20).fill(0)), 'image/jpeg')],
  ])('returns undefined for %s', (_name, part) => expect(getImageSize(part)).toBe(undefined))
})
