import { describe, expect, it } from 'vitest'
import { detectMediaType } from '#agent/core/media/detect-media-type.ts'

const bytes = (text: string) => new Uint8Array([...text].map((char) => char.charCodeAt(0)))

describe('detectMediaType', () => {
  it.each([
    ['\u0089PNG\r\n\u001a\n', 'image/png', 'png'],
    ['\u00ff\u00d8\u00ff\u00e0', 'image/jpeg', 'jpg'],
    ['GIF89a', 'image/gif', 'gif'],
    ['RIFF0000WEBPVP8 ', 'image/webp', 'webp'],
    ['\0\0\0\u001cftypavif', 'image/avif', 'avif'],
    ['BM\u0086\u0024\0\0\0\0\0\0\u0036', 'image/bmp', 'bmp'],
    ['RIFF0000WAVEfmt ', 'audio/wav', 'wav'],
    ['OggS\0\u0002', 'audio/ogg', 'ogg'],
    ['fLaC\0', 'audio/flac', 'flac'],
    ['\0\0\0\u001cftypM4A ', 'audio/mp4', 'm4a'],
    ['\0\0\0\u001cftypisom', 'video/mp4', 'mp4'],
    ['\u001aE\u00df\u00a3', 'video/webm', 'webm'],
    ['ID3\u0004\0', 'audio/mpeg', 'mp3'],
    ['\u00ff\u00fb\u0090\u0064', 'audio/mpeg', 'mp3'],
  ])('knows %j', (head, mime, extension) => {
    expect(detectMediaType(bytes(head))).toEqual({ mime, extension })
  })

  it.each([
    '',
    '<html>',
    '<svg xmlns',
    '%PDF-1.7',
    'PK\u0003\u0004',
    '\u00ff\u00ff\u00ff\u00ff',
    'plain text',
    'BMW cars',
    'ID3 tags',
  ])('takes %j for no media', (head) => {
    expect(detectMediaType(bytes(head))).toBeUndefined()
  })
})
