/** Tests how read_file shows the pages of a PDF file. */

import { describe, expect, it } from 'vitest'
import type { Documents, PdfAnswer } from '#agent/core/media/document.ts'
import readFile from '#tools/file/read-file.tool.ts'
import { call } from '../../support/call.ts'
import { memoryBackend } from '../../support/memory-backend.ts'

/** Returns these answers in order and counts the requests. */
function reader(...answers: readonly PdfAnswer[]): Documents & { requests: number } {
  return {
    requests: 0,
    office: () => Promise.reject(new Error('no test reads an office document')),
    async pdf() {
      return answers[this.requests++] ?? { refused: 'damaged' }
    },
  }
}

const pages = (...texts: readonly string[]): PdfAnswer => ({ pages: texts, total: texts.length, unread: [] })
const backendWith = (content = '%PDF-1.7') => memoryBackend({ 'a.pdf': content })
const open = async (documents: Documents, more: object = {}, backend = backendWith()) =>
  call(readFile, { path: 'a.pdf', ...more }, { backend, documents }, { callId: crypto.randomUUID() })
const text = async (answer: PdfAnswer) =>
  (await open(reader(answer))).result['content']?.replaceAll(/^\d+\|/gm, '') as string

describe('a PDF file', () => {
  it('is read as lines with a heading per page', async () => {
    const { failed, result } = await open(reader(pages('one\ntwo', 'three')))
    expect(failed).toBe(false)
    expect(result).toEqual({
      content: '1|[Page 1 of 2]\n2|one\n3|two\n4|\n5|[Page 2 of 2]\n6|three',
      rendered_from: 'pdf',
      total_lines: 6,
      file_size: 8,
      truncated: false,
    })
  })

  it('is paged like any other file and parsed once', async () => {
    const [documents, backend] = [reader(pages('one\ntwo', 'three')), backendWith()]
    const { result } = await open(documents, { offset: 2, limit: 2 }, backend)
    expect(result).toMatchObject({ content: '2|one\n3|two', total_lines: 6, truncated: true, next_offset: 4 })
    const next = await open(documents, { offset: 4 }, backend)
    expect(next.result['content']).toBe('4|\n5|[Page 2 of 2]\n6|three')
    expect(documents.requests).toBe(1)
  })

  it('is omitted when unchanged and shown after a change', async () => {
    const [documents, backend] = [reader(pages('one'), pages('other')), backendWith()]
    await open(documents, {}, backend)
    expect((await open(documents, {}, backend)).result).toMatchObject({ unchanged: true })
    await backend.files.write('a.pdf', new TextEncoder().encode('%PDF-1.8'))
    expect((await open(documents, {}, backend)).result['content']).toContain('other')
  })

  it.each<[string, PdfAnswer, string]>([
    ['a page without text', pages('one', ''), '[Page 1 of 2]\none\n\n[Page 2 of 2: no text]'],
    [
      'a page that could not be read',
      { pages: ['', 'two'], total: 2, unread: [1] },
      '[Page 1 of 2: it could not be read]\n\n[Page 2 of 2]\ntwo',
    ],
    [
      'what is missing at the end',
      { pages: ['one'], total: 3, unread: [], stopped: 'work' },
      '[Page 1 of 3]\none\n\n[Pages 2 to 3 are missing: they take too much time or memory. Split the file to read them.]',
    ],
  ])('marks %s', async (_, answer, content) => {
    expect(await text(answer)).toBe(content)
  })

  it.each<[string, PdfAnswer, RegExp]>([
    ['pictures of text', pages('', ''), /a\.pdf has 2 pages without text: .* scan.*pdftoppm/],
    ['no pages that can be read', { pages: ['', ''], total: 2, unread: [1, 2] }, /not a valid \.pdf/],
    ['a password', { refused: 'encrypted' }, /protected by a password.*without one/],
    ['damage', { refused: 'damaged' }, /not a valid \.pdf/],
    ['too much in it', { refused: 'stopped' }, /too much time or memory.*Split/],
    ['no room for it', { refused: 'size' }, /too large.*Split/],
  ])('with %s is refused with advice', async (_, answer, reason) => {
    const { failed, result } = await open(reader(answer))
    expect([failed, result['is_binary'], result['file_size']]).toEqual([true, true, 8])
    expect(result['error']).toMatch(reason)
  })

  it('that took too long is parsed again on the next read', async () => {
    const [documents, backend] = [reader({ refused: 'stopped' }, pages('one')), backendWith()]
    expect((await open(documents, {}, backend)).failed).toBe(true)
    expect((await open(documents, {}, backend)).result['content']).toContain('one')
  })
})
