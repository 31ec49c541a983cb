import { describe, expect, it } from 'vitest'
import readFile from '#tools/file/read-file.tool.ts'
import { call } from '../support/call.ts'
import { memoryBackend } from '../support/memory-backend.ts'

const bytes = (text: string) => Uint8Array.from(text, (char) => char.charCodeAt(0))
const png = bytes('\u0089PNG\r\n\u001A\nrest')

const look = (path: string, content: Uint8Array, seesImages = true) =>
  call(readFile, { path }, { backend: memoryBackend({ [path]: content }) }, { seesImages })

describe('read_file of an image', () => {
  it.each([
    ['a.png', png, 'image/png'],
    ['a.jpg', bytes('\u00FF\u00D8\u00FF\u00E0..'), 'image/jpeg'],
    ['a.GIF', bytes('GIF89a..'), 'image/gif'],
    ['a.webp', bytes('RIFF\u0001\u0002\u0003\u0004WEBPVP8 '), 'image/webp'],
    ['wrongly-named.jpeg', png, 'image/png'],
  ])('shows %s to a model that sees images', async (path, content, mediaType) => {
    const { raw, result } = await look(path, content)
    expect(result).toMatchObject({ image: mediaType, file_size: content.byteLength })
    expect(raw).toMatchObject({
      failed: false,
      content: [{ type: 'text' }, { type: 'image', mediaType, data: Buffer.from(content).toString('base64') }],
    })
  })

  it('refuses an image for a model without image input', async () => {
    const { failed, result, raw } = await look('a.png', png, false)
    expect([failed, result['is_binary']]).toEqual([true, true])
    expect(result['error']).toContain('this model sees none')
    expect(raw).toMatchObject({ content: [{ type: 'text' }] })
  })

  it.each([
    ['text.png', bytes('no image'), 'not a PNG'],
    ['a.bmp', bytes('BM......'), 'not a PNG'],
    ['large.png', new Uint8Array(4 * 1024 * 1024), '3.75 MiB'],
  ])('does not show %s', async (path, content, why) => {
    const { failed, result } = await look(path, content)
    expect(failed).toBe(true)
    expect(result['error']).toContain(why)
  })

  it('ignores SVG files and missing files', async () => {
    expect((await look('image.svg', bytes('<svg/>'))).result['content']).toBe('1|<svg/>')
    const missing = await call(readFile, { path: 'x.png' }, { backend: memoryBackend() }, { seesImages: true })
    expect(missing.result['error']).toContain('not found')
  })
})
