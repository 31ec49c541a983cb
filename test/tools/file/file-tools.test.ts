import { describe, expect, it } from 'vitest'
import readFile from '#tools/file/read-file.tool.ts'
import searchFiles from '#tools/file/search-files.tool.ts'
import writeFile from '#tools/file/write-file.tool.ts'
import { call } from '../support/call.ts'
import { memoryBackend } from '../support/memory-backend.ts'

const lines = (count: number, text = 'x') => Array.from({ length: count }, (_, i) => `${text}${i + 1}\n`).join('')

describe('read_file', () => {
  const read = (input: object, files = {}) => call(readFile, input, { backend: memoryBackend(files) })

  it('numbers lines and counts them', async () => {
    const { result } = await read({ path: 'a.txt' }, { 'a.txt': 'one\ntwo\n' })
    expect(result).toEqual({ content: '1|one\n2|two', total_lines: 2, file_size: 8, truncated: false })
  })

  it.each([
    [{ offset: 3, limit: 2 }, '3|x3\n4|x4', 5],
    [{ offset: 9 }, '9|x9\n10|x10', undefined],
    [{ offset: 10, limit: 9000 }, '10|x10', undefined],
  ])('pages %j', async (page, content, next) => {
    const { result } = await read({ path: 'f', ...page }, { f: lines(10) })
    expect(result).toMatchObject({ content, truncated: next !== undefined, total_lines: 10 })
    expect(result['next_offset']).toBe(next)
  })

  it('reports the last line for an offset after the end', async () => {
    expect((await read({ path: 'f', offset: 50 }, { f: lines(10) })).result).toMatchObject({
      content: '',
      hint: 'The file ends at line 10.',
    })
  })

  it('truncates at 100 000 characters, and lines at 2000', async () => {
    const { result } = await read({ path: 'f' }, { f: lines(200, 'y'.repeat(1000)) })
    expect(result['content'].length).toBeLessThanOrEqual(100_000)
    expect(result['content'].split('\n').at(-1)).toMatch(/^\d+\|y{1000}\d+$/)
    expect(result['truncated']).toBe(true)
    expect(result['hint']).toContain(`offset ${result['next_offset']}`)
    const long = await read({ path: 'f' }, { f: 'z'.repeat(5000) })
    expect(long.result['content']).toMatch(/^1\|z{2000}\.\.\. \[line cut, 5000 characters; limit 1 shows more\]$/)
  })

  it('names similar files for a missing one', async () => {
    const { failed, result } = await read({ path: 'src/mian.ts' }, { 'src/main.ts': 'x', 'other/thing.md': 'y' })
    expect(failed).toBe(true)
    expect(result['similar_files']).toEqual(['/workspace/src/main.ts'])
  })

  it.each([
    ['a binary file', { path: 'b' }, { b: Uint8Array.of(1, 0, 2) }, { is_binary: true, file_size: 3 }],
    ['an image', { path: 'i.png' }, { 'i.png': 'x' }, { is_binary: true }],
    ['a directory', { path: 'd' }, { 'd/f': 'x' }, {}],
    ['a device', { path: '/dev/zero' }, {}, {}],
  ])('refuses %s and names an alternative', async (_, input, files, expected) => {
    const { failed, result } = await read(input, files)
    expect(failed).toBe(true)
    expect(result).toMatchObject(expected)
    expect(result['error'].length).toBeGreaterThan(20)
  })

  it('touches one canonical path for all spellings', () => {
    const backend = memoryBackend()
    expect(readFile.touches({ path: './a/../b' }, { backend })).toEqual(['/workspace/b'])
    expect(writeFile.touches({ path: '/workspace/b', content: '' }, { backend })).toEqual(['/workspace/b'])
  })
})

describe('write_file', () => {
  it('writes the file, creates directories and verifies the content', async () => {
    const backend = memoryBackend()
    const { result } = await call(writeFile, { path: 'a/b.txt', content: 'hé' }, { backend })
    expect(result).toEqual({ bytes_written: 3, dirs_created: true, verified: true })
    expect(backend.texts()).toEqual({ '/workspace/a/b.txt': 'hé' })
  })

  it.each([
    '1|one\n2|two\n3|three',
    '1|one\n2|2\n3|three\n4|four\n',
    '2|two\n3|three',
    '     1|one\n     2|two\n     3|three',
  ])('removes the line numbers of read_file: %j', async (content) => {
    const backend = memoryBackend({ a: 'one\r\ntwo\r\nthree\r\n' })
    const { failed, result } = await call(writeFile, { path: 'a', content }, { backend })
    expect(failed).toBe(false)
    expect(result['note']).toContain('line numbers')
    const lines = content.split('\n').flatMap((line) => (line ? [line.replace(/^\s*\d+\|/, '')] : []))
    expect(backend.texts()).toEqual({ '/workspace/a': `${lines.join('\r\n')}\r\n` })
  })

  it.each([
    ['Windows line ends', 'a\r\nb\r\n', 'a\nc\n', 'a\r\nc\r\n'],
    ['plain newlines', 'a\nb\n', 'a\nc\n', 'a\nc\n'],
    ['mixed line ends', 'a\r\nb\n', 'a\nc\n', 'a\nc\n'],
    ['line ends that the new text has itself', 'a\nb\n', 'a\r\nc\r\n', 'a\r\nc\r\n'],
    ['a byte order mark', '\uFEFFa\n', 'b\n', '\uFEFFb\n'],
    ['no byte order mark', 'a\n', 'b\n', 'b\n'],
    ['nothing', 'a\r\n', '', ''],
  ])('keeps %s', async (_name, before, content, expected) => {
    const backend = memoryBackend({ a: before })
    const { result } = await call(writeFile, { path: 'a', content }, { backend })
    expect(
      new TextDecoder('utf-8', { fatal: false, ignoreBOM: true }).decode(await backend.files.read('/workspace/a')),
    ).toBe(expected)
    expect(result['bytes_written']).toBe(new TextEncoder().encode(expected).byteLength)
  })

  it('finds a file whose name is decomposed', async () => {
    const backend = memoryBackend({ 'u\u0308ber.txt': 'a\n' })
    await call(writeFile, { path: '\u00fcber.txt', content: 'b\n' }, { backend })
    expect(backend.texts()).toEqual({ '/workspace/u\u0308ber.txt': 'b\n' })
    const { result } = await call(readFile, { path: '\u00fcber.txt' }, { backend })
    expect(result['content']).toBe('1|b')
  })

  it('refuses a line that was cut when it was read', async () => {
    const backend = memoryBackend({ a: `${'x'.repeat(3_000)}\n` })
    const content = `${'x'.repeat(2_000)}... [line cut, 3000 characters; limit 1 shows more]\nnew\n`
    expect((await call(writeFile, { path: 'a', content }, { backend })).failed).toBe(true)
    expect((await call(writeFile, { path: 'b', content: 'a... [line cut here]\n' }, { backend })).failed).toBe(false)
  })

  it.each([
    ['a|b\nc|d', undefined],
    ['1|only', undefined],
    ['2024|x\n1999|y', undefined],
    ['', undefined],
    ['1|Alice\n2|Bob\n3|Carol\n', undefined],
    ['1|Alice\n2|Bob\n3|Carol\n', '1|Alice\n2|Bob\n'],
    ['1|Alice\n2|Bob\n3|Carol\n', 'name\n'],
  ])('writes %j over %j, which only looks numbered', async (content, before) => {
    const backend = memoryBackend(before === undefined ? {} : { a: before })
    expect((await call(writeFile, { path: 'a', content }, { backend })).failed).toBe(false)
    expect(backend.texts()).toEqual({ '/workspace/a': content })
  })

  it('reports when the written file has other content', async () => {
    const backend = memoryBackend()
    backend.broken.add('/workspace/a')
    const { failed, result } = await call(writeFile, { path: 'a', content: 'x' }, { backend })
    expect([failed, result['verified']]).toEqual([true, false])
  })

  it('warns about invalid JSON', async () => {
    const { result } = await call(writeFile, { path: 'a.json', content: '{' }, { backend: memoryBackend() })
    expect(result['warning']).toContain('not valid JSON')
  })
})

describe('search_files', () => {
  const files = { 'src/a.ts': 'let x\nneedle\nend', 'src/b.md': 'needle\nneedle\nneedle\nneedle', 'c.ts': 'none' }
  const search = async (input: object) =>
    (await call(searchFiles, { pattern: 'needle', ...input }, { backend: memoryBackend(files) })).result

  it('finds names and texts whose letters are composed or decomposed', async () => {
    const [composed, decomposed] = ['Übersicht'.normalize('NFC'), 'Übersicht'.normalize('NFD')]
    const named = {
      [`a/${composed}.md`]: `eine ${decomposed}`,
      [`b/${decomposed}.md`]: `eine ${composed}`,
      'c.md': 'x',
    }
    const find = async (input: object) =>
      (await call(searchFiles, { pattern: 'needle', ...input }, { backend: memoryBackend(named) })).result
    for (const pattern of [composed, decomposed]) {
      expect(await find({ pattern, target: 'files' })).toMatchObject({
        files: [`a/${composed}.md`, `b/${decomposed}.md`],
        total_count: 2,
      })
      expect((await find({ pattern }))['total_count']).toBe(2)
      expect(await find({ pattern, target: 'files', offset: 1, limit: 1 })).toMatchObject({
        files: [`b/${decomposed}.md`],
      })
    }
    expect((await find({ pattern: 'eine', path: `b/${composed}.md` }))['total_count']).toBe(1)
  })

  it('lists few matches one by one', async () => {
    expect(await search({ file_glob: '*.ts', context: 1 })).toEqual({
      matches: [{ path: 'src/a.ts', line: 2, content: 'needle', before: ['let x'], after: ['end'] }],
      total_count: 1,
      truncated: false,
    })
  })

  it('groups many matches by file', async () => {
    expect((await search({}))['matches']).toEqual([
      { path: 'src/a.ts', lines: ['2:needle'] },
      { path: 'src/b.md', lines: ['1:needle', '2:needle', '3:needle', '4:needle'] },
    ])
  })

  it('pages and names the next offset', async () => {
    expect(await search({ limit: 2, offset: 1 })).toMatchObject({
      total_count: 5,
      truncated: true,
      hint: expect.stringContaining('offset 3'),
    })
  })

  it.each([
    [{ output_mode: 'count' }, { counts: { 'src/a.ts': 1, 'src/b.md': 4 }, total_count: 5 }],
    [{ output_mode: 'files_only' }, { files: ['src/a.ts', 'src/b.md'], total_count: 2 }],
    [
      { target: 'files', pattern: '*.ts' },
      { files: ['c.ts', 'src/a.ts'], total_count: 2 },
    ],
    [
      { target: 'files', pattern: 'b.m' },
      { files: ['src/b.md'], total_count: 1 },
    ],
    [
      { path: 'src/b.md', limit: 1 },
      { total_count: 4, truncated: true },
    ],
  ])('answers %j', async (input, expected) => {
    expect(await search(input)).toMatchObject(expected)
  })

  describe('with files that hold secrets', () => {
    const secrets = { '.env': 'needle=1\nneedle=2', 'src/server.key': 'needle', '.ssh/config': 'needle' }
    const find = async (input: object, backend = memoryBackend({ ...files, ...secrets })) =>
      (await call(searchFiles, { pattern: 'needle', ...input }, { backend })).result

    it.each([{}, { output_mode: 'count' }, { output_mode: 'files_only' }, { context: 2 }, { file_glob: '*' }])(
      'leaves them out and says so: %j',
      async (input) => {
        const found = await find(input)
        expect(found).toMatchObject({ skipped_secret_files: 3, skipped_hint: expect.stringContaining('path') })
        expect(JSON.stringify(found)).not.toMatch(/needle=|server\.key|\.ssh/)
      },
    )
    it('counts no matches in them', async () => expect(await find({})).toMatchObject({ total_count: 5 }))
    it('counts only files that the search would have read', async () => {
      expect(await find({ path: 'src' })).toMatchObject({ skipped_secret_files: 1 })
      expect(await find({ file_glob: '*.ts' })).not.toHaveProperty('skipped_secret_files')
    })
    it('reads one that is named, as a person has allowed', async () => {
      const found = await find({ path: '.env' })
      expect(found).toMatchObject({ total_count: 2, matches: [{ content: 'needle=1' }, { content: 'needle=2' }] })
      expect(found).not.toHaveProperty('skipped_secret_files')
    })
    it('lists their names', async () =>
      expect(await find({ target: 'files', pattern: '*.key' })).toMatchObject({ files: ['src/server.key'] }))
    it('leaves them out where the host ignores what to exclude', async () => {
      const plain = memoryBackend({ ...files, ...secrets })
      const search: typeof plain.files.search = (query) => plain.files.search({ ...query, exclude: [] })
      expect(JSON.stringify(await find({}, { ...plain, files: { ...plain.files, search } }))).not.toContain('needle=')
    })
  })

  it('names similar files for a missing path', async () => {
    expect(await search({ path: 'src/a.tx' })).toMatchObject({ similar_files: ['/workspace/src/a.ts'] })
  })
})
