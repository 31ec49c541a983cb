import { expect, it } from 'vitest'
import { mediaKindOf } from '#agent/core/media/media-reference.ts'

it.each([
  ['image/png', 'image'],
  ['audio/ogg; codecs=opus', 'audio'],
  ['video/mp4', 'video'],
  ['application/pdf', 'document'],
  ['imagery/x', 'document'],
  ['', 'document'],
])('%j is of the kind %s', (mime, kind) => expect(mediaKindOf(mime)).toBe(kind))
