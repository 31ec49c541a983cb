/** Tests which files an answer gives to the user. */

import { describe, expect, it } from 'vitest'
import { mediaTypeOf, isShownInline } from '#agent/core/media/media-type.ts'
import type { Message } from '#agent/core/message.ts'
import { findAttachmentPaths } from '#agent/public-api/answer-attachments.ts'

const answer = (text: string): Message => ({ role: 'assistant', content: [{ type: 'text', text }], stop: 'end' })
const result = (text: string, failed = false): Message => ({
  role: 'tool',
  callId: 'c',
  name: 'image_generate',
  content: [{ type: 'text', text }],
  failed,
})

describe('the files of an answer', () => {
  it.each([
    ['Here: MEDIA:out/a.png', ['out/a.png']],
    ['MEDIA: a.png\nMEDIA:b.pdf', ['a.png', 'b.pdf']],
    ['See [the report](report%20final.pdf) and ![chart](/workspace/c.png)', ['report final.pdf', '/workspace/c.png']],
    ['Twice [a](a.txt) [a](a.txt)', ['a.txt']],
    ['No file: [x](https://example.com/a.png) [y](#top) [z](mailto:a@b.c) MEDIA:http://x/y', []],
    ['Outside: [p](/etc/passwd) [q](../x) [r](a/../../b) MEDIA:/root/.ssh/id', []],
    ['No mark at all: a.txt', []],
  ])('%j are %j', (text, paths) => {
    expect(findAttachmentPaths([answer(text)])).toEqual(paths)
  })

  it('are those of the last answer and of tools that made some', () => {
    const made = result(JSON.stringify({ success: true, path: 'media/1.png', mime: 'image/png', bytes: 4 }))
    const failed = result(JSON.stringify({ success: false, path: 'media/2.png', mime: 'image/png' }))
    expect(findAttachmentPaths([answer('[old](old.txt)'), made, failed, result('"mime" {'), answer('done')])).toEqual([
      'media/1.png',
    ])
  })

  it('are found in hostile text in linear time', () => {
    for (const text of ['](', '](<', 'MEDIA:', ' MEDIA: ', '[](a', '](%'].map((part) => part.repeat(20_000))) {
      const since = performance.now()
      findAttachmentPaths([answer(text)])
      expect(performance.now() - since, text.slice(0, 10)).toBeLessThan(1_000)
    }
  })
})

describe('media types', () => {
  it('come from the extension, and those that run scripts are never shown', () => {
    expect(mediaTypeOf('A/B.PNG')).toBe('image/png')
    expect(mediaTypeOf('constructor.__proto__')).toBe('application/octet-stream')
    expect(['a.png', 'b.mp3', 'c.mp4'].map(mediaTypeOf).every(isShownInline)).toBe(true)
    expect(['a.svg', 'b.html', 'c.pdf', 'd.xml', 'e', 'f.js'].map(mediaTypeOf).some(isShownInline)).toBe(false)
  })
})
