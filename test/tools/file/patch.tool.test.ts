import { describe, expect, it } from 'vitest'
import { BackendError } from '#agent/core/backend.ts'
import patch from '#tools/file/patch.tool.ts'
import { replaceText } from '#tools/file/patch/replace-text.ts'
import { matchStrategies } from '#tools/file/patch/match-strategies.ts'
import { call } from '../support/call.ts'
import { memoryBackend } from '../support/memory-backend.ts'

describe('replaceText', () => {
  it.each([
    ['exact', 'a\nb\nc', 'b', 'B', 'a\nB\nc'],
    ['line-trimmed', 'f(\n    x,  \n)', 'f(\nx,\n)', 'g(\nx,\n)', 'g(\n    x,  \n)'],
    ['whitespace-normalised', 'let  x   = 1', 'let x = 1', 'let x = 2', 'let  x   = 2'],
    ['escape-normalised', 'say("a\nb")', 'say("a\\nb")', 'say("c\\nd")', 'say("c\nd")'],
    ['unicode-normalised', 'it\u2019s \u201Cfine\u201D\u2026 ok', 'it\'s "fine"... ok', 'yes', 'yes'],
    [
      'block-anchor',
      'start {\n  alpha beta\n  gamma delta\n}',
      'start {\n  alpha bета\n  gamma dalta\n}',
      'new',
      'new',
    ],
    ['context-aware', 'one line here\nsecond line here\nthird', 'one line here\nsomething else', 'X', 'X\nthird'],
  ])('finds a passage by the strategy %s', (strategy, text, from, ...[to, expected]) => {
    expect(replaceText(text, { from, to, all: false })).toEqual({ text: expected, strategy, count: 1 })
  })

  const soon = 'She wrote “soon” — it’s calm…\n'
  const plainSoon = 'She wrote "soon" - it\'s calm...'
  const makefile = 'all:\n\tcc -o a a.c\n\techo done\n'
  it.each<readonly [string, string, string, string, string]>([
    ['typography', soon, plainSoon, plainSoon.replace('calm', 'calmer'), soon.replace('calm', 'calmer')],
    [
      'typography between two changes',
      soon,
      plainSoon,
      plainSoon.replace('She', 'He').replace('calm', 'calmer'),
      soon.replace('She', 'He').replace('calm', 'calmer'),
    ],
    ['typography of other lines', `“a”\n“b”\n`, '"a"\n"b"', '"a"\n"c"', '“a”\n“c”\n'],
    ['an ellipsis beside a change', 'wait… here\n', 'wait... here', 'wait... there', 'wait… there\n'],
    ['no ellipsis that changes', 'it’s… ok\n', "it's... ok", "it's.. ok", 'it’s.. ok\n'],
    ['quotes that the edit changes', 'it’s “a”\n', 'it\'s "a"', "it's 'a'", "it’s 'a'\n"],
    [
      'tabs of a Makefile',
      makefile,
      'all:\n    cc -o a a.c',
      'all:\n    cc -O2 -o a a.c\n    strip a',
      'all:\n\tcc -O2 -o a a.c\n\tstrip a\n\techo done\n',
    ],
    [
      'tabs, two steps deep',
      'f:\n\ta\n\t\tb\n',
      'f:\n  a\n    b',
      'f:\n  a\n    b\n      c\n  d',
      'f:\n\ta\n\t\tb\n\t\t\tc\n\td\n',
    ],
    ['spaces of a file', 'f:\n    a\n', 'f:\n\ta', 'f:\n\ta\n\t\tb', 'f:\n    a\n        b\n'],
    ['spaces and a deeper line', '    f:\n      a\n', 'f:\n  a', 'f:\n  a\n    b', '    f:\n      a\n        b\n'],
    ['an indentation that the edit changes', '\ta\n\tb\n', '    a\n    b', '    a\n        b', '\ta\n\t\tb\n'],
    ['aligned columns', 'a   =  1\nb   =  2\n', 'a = 1\nb = 2', 'a = 1\nb = 3', 'a   =  1\nb   =  3\n'],
    [
      'decomposed letters',
      'Gru\u0308ße\nvon u\u0308ber\n',
      'Grüße\nvon über',
      'Grüße\nvon unter',
      'Gru\u0308ße\nvon unter\n',
    ],
    ['composed letters', 'für\nüber\n', 'fu\u0308r\nu\u0308ber', 'fu\u0308r\nunter', 'für\nunter\n'],
    [
      'Korean in parts',
      '\u1112\u1161\u11ab\u1100\u1173\u11af a\n',
      '한글 a',
      '한글 b',
      '\u1112\u1161\u11ab\u1100\u1173\u11af b\n',
    ],
    [
      'typography in indented lines',
      '\tsay(“a”)\n\tgo()\n',
      '  say("a")\n  go()',
      '  say("a")\n  stop()',
      '\tsay(“a”)\n\tstop()\n',
    ],
    ['the missing newline at the end', 'a  b\nc', 'a b\nc\n', 'a b\nd\n', 'a  b\nd'],
    ['nothing of a passage that goes', 'a  b\nc\n', 'a b\n', '', 'c\n'],
    ['exact text, with plain quotes and spaces', '"a"\n  b\n', '"a"\n  b', '"c"\n  b\n  d', '"c"\n  b\n  d\n'],
    ['lines before it', '\tb(“x”)\n', '  b("x")', '  a()\n  b("x", 1)', '\ta()\n\tb(“x”, 1)\n'],
  ])('changes only what the edit changes: %s', (_name, text, from, ...[to, expected]) => {
    expect(replaceText(text, { from, to, all: false })).toMatchObject({ text: expected, count: 1 })
  })

  it.each([
    ['a\nb\nc\n', '2|b\n3|c', '2|b\n3|d', 'a\nb\nd\n'],
    ['a\nb\nc\n', '2|b', '2|B\nx', 'a\nB\nx\nc\n'],
    ['1|a\n2|b\n', '2|b', '2|c', '1|a\n2|c\n'],
  ])('removes the line numbers of read_file from a quote of %j', (text, from, to, expected) => {
    expect(replaceText(text, { from, to, all: false })).toMatchObject({ text: expected })
  })

  it('does not remove numbers that count nothing', () => {
    expect(replaceText('a\nb\n', { from: '5|a\n3|b', to: 'x', all: false })).toHaveProperty('error')
  })

  it('transfers an edit of thousands of lines in little time', () => {
    const lines = Array.from({ length: 5_000 }, (_, i) => `\tcall(“${i}”)`)
    const quote = lines.map((line) => line.replace('\t', '    ').replaceAll(/[“”]/g, '"'))
    const to = quote.map((line, i) => (i % 2 ? line : line.replace('call', 'run'))).join('\n')
    const result = replaceText(lines.join('\n'), { from: quote.join('\n'), to, all: false })
    expect(result).toMatchObject({
      text: lines.map((line, i) => (i % 2 ? line : line.replace('call', 'run'))).join('\n'),
    })
  })

  it('tries nine strategies from exact to approximate', () => {
    expect(matchStrategies.map(({ name }) => name)).toEqual([
      'exact',
      'line-trimmed',
      'whitespace-normalised',
      'indentation-flexible',
      'escape-normalised',
      'trimmed-boundary',
      'unicode-normalised',
      'block-anchor',
      'context-aware',
    ])
  })

  it.each([
    ['indentation-flexible', 'if a:\n        b', ' if a:\n b', true],
    ['trimmed-boundary', '  a\nb  b\nc  ', 'a\nb  b\nc', true],
    ['trimmed-boundary', '  a\n b  b\nc  ', 'a\nb  b\nc', false],
  ])('the strategy %s alone decides about %j', (strategy, text, wanted, finds) => {
    const found = matchStrategies.find(({ name }) => name === strategy)?.locate(text, wanted) ?? []
    expect(found.length > 0).toBe(finds)
  })

  it('indents the new text like the replaced passage', () => {
    const text = 'class A {\n        run() {\n            go()\n        }\n}\n'
    const from = 'run() {\n    go()\n}'
    const result = replaceText(text, { from, to: 'run() {\n    stop()\n}', all: false })
    expect(result).toMatchObject({ text: 'class A {\n        run() {\n            stop()\n        }\n}\n' })
  })

  it('keeps Windows line ends', () => {
    expect(replaceText('a\r\nb\r\nc\r\n', { from: 'a\nb', to: 'x\ny\nz', all: false })).toMatchObject({
      text: 'x\r\ny\r\nz\r\nc\r\n',
    })
  })

  it('replaces all occurrences with all: true', () => {
    expect(replaceText('x y x', { from: 'x', to: 'z', all: true })).toMatchObject({ text: 'z y z', count: 2 })
  })

  it('does not replace all occurrences of an approximate match', () => {
    const text = 'start {\n  alpha beta gamma\n}'
    const wanted = { from: 'start {\n  alpha beta gamna\n}', to: 'x' }
    expect(replaceText(text, { ...wanted, all: false })).toMatchObject({ strategy: 'block-anchor' })
    expect(replaceText(text, { ...wanted, all: true })).toMatchObject({
      error: expect.stringContaining('approximately'),
    })
  })

  it.each([
    ['nothing like it', 'a\nb', 'completely different words', /not found/],
    ['a near miss', 'const total = price * 2\n', 'const totals = price * 3', /closest line is: 1\|const total/],
    ['a blank', 'a\n\nb', '   ', /not found/],
  ])('returns an error for %s', (_, text, from, error) => {
    expect(replaceText(text, { from, to: 'x', all: false })).toMatchObject({ error: expect.stringMatching(error) })
  })

  it('returns the locations when two places match', () => {
    expect(replaceText('x = 1\ny\nx = 1\n', { from: 'x = 1', to: 'z', all: false })).toMatchObject({
      error: expect.stringContaining('fits 2 places'),
      locations: ['1|x = 1', '3|x = 1'],
    })
  })
})

const edit = async (files: Record<string, string>, input: object) => {
  const backend = memoryBackend(files)
  const answer = await call(patch, input, { backend })
  return { ...answer, texts: backend.texts() }
}

describe('patch, mode replace', () => {
  const files = { 'a.txt': 'one\ntwo\nthree\n' }

  it('changes the file and shows a unified diff', async () => {
    const { result, texts } = await edit(files, { mode: 'replace', path: 'a.txt', old_string: 'two', new_string: '2' })
    expect(texts['/workspace/a.txt']).toBe('one\n2\nthree\n')
    expect(result).toMatchObject({ success: true, files_modified: ['/workspace/a.txt'] })
    expect(result['diff']).toBe(
      '--- a/workspace/a.txt\n+++ b/workspace/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+2\n three\n',
    )
    expect(result['note']).toBeUndefined()
  })

  it.each([{ path: 'a.txt', old_string: 'two', new_string: '2' }, { patch: '*** Update File: a.txt\n-two\n+2' }])(
    'is known by what is given: %j',
    async (input) => {
      const { texts } = await edit(files, input)
      expect(texts['/workspace/a.txt']).toBe('one\n2\nthree\n')
    },
  )

  it('reports that nothing changes', async () => {
    const { result } = await edit(files, { mode: 'replace', path: 'a.txt', old_string: 'two', new_string: 'two' })
    expect(result).toMatchObject({ success: true, no_change: true })
  })

  it('notes an approximate match', async () => {
    const { result } = await edit(files, { mode: 'replace', path: 'a.txt', old_string: '  two  ', new_string: '2' })
    expect(result['note']).toContain('line-trimmed')
  })

  it.each([
    [{ mode: 'replace', path: 'a.txt' }, 'needs path'],
    [{ mode: 'replace', path: 'a.txt', old_string: '', new_string: 'x' }, 'write_file'],
    [{ mode: 'replace', path: 'b.txt', old_string: 'x', new_string: 'y' }, 'not found'],
    [{ mode: 'patch' }, 'needs patch'],
    [{ mode: 'patch', patch: 'hello' }, 'begins with'],
    [{ mode: 'patch', patch: '*** Begin Patch\n*** End Patch' }, 'names no file'],
    [{ mode: 'patch', patch: '*** Update File: a.txt\n' }, 'no hunks'],
    [{ mode: 'patch', patch: '*** Update File: a.txt\n@@\n?what' }, 'begins with'],
    [{ mode: 'patch', patch: '*** Add File: a.txt\n+x' }, 'exists already'],
  ])('refuses %j', async (input, reason) => {
    const { failed, result, texts } = await edit(files, input)
    expect(failed).toBe(true)
    expect(result['error']).toContain(reason)
    expect(texts).toEqual({ '/workspace/a.txt': files['a.txt'] })
  })
})

describe('a file that is not UTF-8', () => {
  const latin1 = new Uint8Array([...'caf\u00e9\nx = 1\n'].map((character) => character.charCodeAt(0)))

  it.each([
    { mode: 'replace', path: 'a.txt', old_string: 'x = 1', new_string: 'x = 2' },
    { mode: 'patch', patch: '*** Update File: a.txt\n-x = 1\n+x = 2' },
    { mode: 'patch', patch: '*** Update File: a.txt\n*** Move to: b.txt' },
    { mode: 'patch', patch: '*** Delete File: a.txt' },
  ])('is not changed by %j', async (input) => {
    const backend = memoryBackend({ 'a.txt': latin1 })
    const { failed, result } = await call(patch, input, { backend })
    expect(failed).toBe(true)
    expect(result['error']).toContain('iconv')
    expect(await backend.files.read('a.txt')).toEqual(latin1)
  })
})

describe('a byte order mark', () => {
  it.each([
    { mode: 'replace', path: 'a.txt', old_string: 'one', new_string: '1' },
    { mode: 'replace', path: 'a.txt', old_string: '\uFEFFone', new_string: '\uFEFF1' },
    { mode: 'replace', path: 'a.txt', old_string: '  one  ', new_string: '1' },
    { mode: 'patch', patch: '*** Update File: a.txt\n-one\n+1\n two' },
    { mode: 'patch', patch: '*** Update File: a.txt\n-\uFEFFone\n+\uFEFF1\n two' },
  ])('is kept by %j', async (input) => {
    const backend = memoryBackend({ 'a.txt': '\uFEFFone\ntwo\n' })
    const { failed } = await call(patch, input, { backend })
    expect(failed).toBe(false)
    expect(await backend.files.read('a.txt')).toEqual(new TextEncoder().encode('\uFEFF1\ntwo\n'))
  })
})

describe('patch, mode patch', () => {
  const apply = (files: Record<string, string>, ...lines: string[]) =>
    edit(files, { mode: 'patch', patch: ['*** Begin Patch', ...lines, '*** End Patch', ''].join('\n') })

  it('adds, updates, moves and deletes several files at once', async () => {
    const { result, texts } = await apply(
      { 'a.ts': 'a\nb\nc\n', 'old.ts': 'x\n', 'gone.ts': 'bye\n' },
      '*** Add File: new.ts',
      '+hello',
      '+world',
      '*** Update File: a.ts',
      '@@',
      ' a',
      '-b',
      '+B',
      ' c',
      '*** Update File: old.ts',
      '*** Move to: moved.ts',
      '-x',
      '+y',
      '*** Delete File: gone.ts',
    )
    expect(texts).toEqual({
      '/workspace/a.ts': 'a\nB\nc\n',
      '/workspace/new.ts': 'hello\nworld\n',
      '/workspace/moved.ts': 'y\n',
    })
    expect(result).toMatchObject({
      files_modified: ['/workspace/a.ts'],
      files_created: ['/workspace/new.ts', '/workspace/moved.ts'],
      files_deleted: ['/workspace/old.ts', '/workspace/gone.ts'],
    })
  })

  it('writes nothing when one hunk does not match', async () => {
    const files = { 'a.ts': 'a\n', 'b.ts': 'b\n' }
    const { failed, result, texts } = await apply(
      files,
      '*** Update File: a.ts',
      '-a',
      '+A',
      '*** Update File: b.ts',
      '-nothing like this',
      '+B',
    )
    expect(failed).toBe(true)
    expect(result['error']).toContain('Nothing was written')
    expect(texts).toEqual({ '/workspace/a.ts': 'a\n', '/workspace/b.ts': 'b\n' })
  })

  it.each([
    ['several hunks in order', 'a\nx\nb\nx\nc\n', ['@@', ' a', '-x', '+1', '@@', ' b', '-x', '+2'], 'a\n1\nb\n2\nc\n'],
    ['a hint', 'f:\n x\ng:\n x\n', ['@@ g:', '- x', '+ y'], 'f:\n x\ng:\n y\n'],
    ['lines that only go', 'a\nb\nc\n', [' a', '-b'], 'a\nc\n'],
    ['lines that only come, at the end', 'a\n', ['@@', '+b'], 'a\nb\n'],
    ['lines that only come, below a hint', 'a\nb\n', ['@@ a', '+x'], 'a\nx\nb\n'],
    ['whole lines only', 'foobar\nfoo\n', ['-foo', '+x'], 'foobar\nx\n'],
    [
      'another indentation',
      '    if a:\n        b\n',
      ['-if a:', '-    b', '+if c:', '+    b'],
      '    if c:\n        b\n',
    ],
    ['Windows line ends', 'a\r\nb\r\n', [' a', '-b', '+c'], 'a\r\nc\r\n'],
  ])('accepts %s', async (_, before, hunk, after) => {
    const { failed, texts } = await apply({ f: before }, '*** Update File: f', ...hunk)
    expect(failed).toBe(false)
    expect(texts['/workspace/f']).toBe(after)
  })

  const twice = 'class A:\n  def run():\n    x = 1\nclass B:\n  def run():\n    x = 1\n'

  it.each([
    ['def run', 'def run_all():\n  x = 1\ndef run():\n  x = 1\n', 4],
    ['run', 'run_all:\n  x = 1\nrun (now):\n  x = 1\n', 4],
    ['class B', 'class Base:\n  x = 1\nexport class B {\n  x = 1\n', 4],
    ['x:', 'max: 3\n  x = 1\nx:\n  x = 1\n', 4],
    ['lass B', 'class A:\n  x = 1\nclass B:\n  x = 1\n', 4],
    ['def run', 'def run():\n  y = 1\ndef run():\n  x = 1\n', 4],
    ['class B\n@@ def run', twice, 6],
    ['class A\n@@ def run', twice, 3],
  ])('finds the line of the hint %j', async (hint, before, line) => {
    const hunk = [`@@ ${hint}`, '-x = 1', '+x = 2']
    const { failed, texts } = await apply({ f: before }, '*** Update File: f', ...hunk)
    expect(failed).toBe(false)
    const lines = before.split('\n')
    expect(texts['/workspace/f']).toBe(lines.with(line - 1, lines[line - 1]!.replace('1', '2')).join('\n'))
  })

  it.each([[['-x = 1', '+x = 2']], [['+  y = 1']]])('refuses a hint that matches two lines: %j', async (hunk) => {
    const { failed, result, texts } = await apply({ f: twice }, '*** Update File: f', '@@ def run', ...hunk)
    expect(failed).toBe(true)
    expect(result['error']).toContain('fits 2 places')
    expect(texts['/workspace/f']).toBe(twice)
  })

  it('refuses a hunk that matches two places', async () => {
    const { failed, result } = await apply({ f: 'x\ny\nx\n' }, '*** Update File: f', '-x', '+z')
    expect(failed).toBe(true)
    expect(result['error']).toContain('1|x; 3|x')
  })

  it('undoes earlier writes when a later file cannot be written', async () => {
    const backend = memoryBackend({ a: 'a\n', b: 'b\n' })
    const { write } = backend.files
    const full = (path: string, bytes: Uint8Array) =>
      path.endsWith('/b') ? Promise.reject(new BackendError('quota', 'no space left')) : write(path, bytes)
    const tight = { ...backend, files: { ...backend.files, write: full } }
    const text = ['*** Add File: new', '+x', '*** Update File: a', '-a', '+A', '*** Update File: b', '-b', '+B'].join(
      '\n',
    )
    const { failed, result } = await call(patch, { mode: 'patch', patch: text }, { backend: tight })
    expect([failed, result['code']]).toEqual([true, 'quota'])
    expect(backend.texts()).toEqual({ '/workspace/a': 'a\n', '/workspace/b': 'b\n' })
  })

  it('applies later changes to the result of earlier ones', async () => {
    const { texts } = await apply(
      { f: 'a\n' },

      '*** Update File: f',
      '-a',
      '+b',
      '*** Update File: f',
      '-b',
      '+c',
      '*** Delete File: f',
      '*** Add File: f',
      '+d',
    )
    expect(texts).toEqual({ '/workspace/f': 'd\n' })
  })

  it('touches all files of the patch', () => {
    const backend = memoryBackend()
    const text = '*** Update File: a\n*** Move to: b\n-x\n*** Add File: c\n+y'
    expect(patch.touches({ mode: 'patch', patch: text }, { backend })).toEqual([
      '/workspace/a',
      '/workspace/b',
      '/workspace/c',
    ])
  })
})
