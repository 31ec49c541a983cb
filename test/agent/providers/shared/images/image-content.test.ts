import { expect, it } from 'vitest'
import { toImageContent } from '#agent/providers/shared/images/image-content.ts'

it.each([
  ['image/jpg', 'AAAA', { kind: 'bytes', format: 'jpeg', data: 'AAAA' }],
  ['image/webp', 'AAAA', { kind: 'bytes', format: 'webp', data: 'AAAA' }],
  ['image/png', 'A'.repeat(140), { kind: 'text', text: '[an image, left out because it was too large]' }],
  ['image/svg+xml', 'AAAA', { kind: 'text', text: '[an image of the type image/svg+xml, not shown]' }],
  ['image/*;url', 'https://x.test/a', { kind: 'url', url: 'https://x.test/a' }],
  ['image/*;url', 'http://x.test/a', { kind: 'text', text: '[an image, not shown]' }],
  ['image/png', 'blob:t/a/1', { kind: 'text', text: '[an image that is gone]' }],
] as const)('converts an image of type %s', (mediaType, data, expected) => {
  expect(toImageContent({ type: 'image', mediaType, data }, 100)).toEqual(expected)
})

const encode = (text: string) => Buffer.from(text, 'latin1').toString('base64')

it.each([
  ['image/png', '\u00ff\u00d8\u00ff\u00e0 a JPEG in CMYK', 'jpeg'],
  ['image/jpeg', '\u0089PNG\r\n\u001a\n', 'png'],
  ['image/jpeg', 'RIFF\u0001\u0002\u0003\u0004WEBPVP8X', 'webp'],
  ['image/heic', 'GIF89a', 'gif'],
  ['image/png', 'bytes of no known format', 'png'],
])('names the format of the bytes where a client says %s', (mediaType, bytes, format) => {
  const data = encode(bytes)
  expect(toImageContent({ type: 'image', mediaType, data }, 100)).toEqual({ kind: 'bytes', format, data })
})

it.each([
  ['image/jpeg', '\0\0\0\u0018ftypheic\0\0\0\0', 'image/heic'],
  ['image/png', '\0\0\0\u001cftypavif\0\0\0\0', 'image/avif'],
  ['image/png', 'II*\0\b\0\0\0', 'image/tiff'],
  ['image/png', 'ID3\u0003', 'audio/mpeg'],
  ['image/bmp', 'BM......', 'image/bmp'],
])('says what cannot be shown where a client says %s', (mediaType, bytes, type) => {
  const text = `[an image of the type ${type}, not shown]`
  expect(toImageContent({ type: 'image', mediaType, data: encode(bytes) }, 100)).toEqual({ kind: 'text', text })
})

it('leaves what is no base64 to the provider', () => {
  const data = 'A=%'
  expect(toImageContent({ type: 'image', mediaType: 'image/png', data }, 100)).toMatchObject({ kind: 'bytes', data })
})

it('says that an image is empty', () => {
  expect(toImageContent({ type: 'image', mediaType: 'image/png', data: '' }, 100)).toEqual({
    kind: 'text',
    text: '[an empty image]',
  })
})
