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
