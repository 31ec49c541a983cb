/** Tests which addresses are files of the workspace, and what of a message names its attached files. */

import { describe, expect, it } from 'vitest'
import { arrangeBlocks } from '../../web/model/arrange-blocks.ts'
import type { Block } from '../../web/model/blocks.ts'
import { findPath, kindOf, splitAtFiles, splitAttached } from '../../web/model/workspace-files.ts'

describe('an address', () => {
  it.each([
    ['a.png', 'a.png'],
    ['./a/b.png', 'a/b.png'],
    ['/workspace/a.png', 'a.png'],
    ['sandbox:/a.png', 'a.png'],
    ['sandbox:/mnt/data/my%20plot.png', 'my plot.png'],
    ['sandbox:/workspace/a.png', 'a.png'],
    ['file:///workspace/a.png', 'a.png'],
    ['100%.txt', '100%.txt'],
    ['notes.md#part', 'notes.md'],
  ])('%s is the file %s', (address, path) => {
    expect(findPath(address)).toBe(path)
  })

  it.each([
    'https://evil.example/a.png',
    '//evil.example/a.png',
    '/etc/passwd',
    '/api/sessions/s/files/a.png',
    '../a.png',
    'a/../../b.png',
    'sandbox:/..%2f..%2fa.png',
    'a\\b.png',
    'a%00.png',
    'javascript:alert(1)',
    'data:image/png;base64,AAAA',
    'mailto:a@b.example',
    '#top',
    '?q',
    '',
    'folder/',
    `${'x'.repeat(2_000)}.png`,
    '/workspace//etc/passwd',
    'java%73cript:alert(1).png',
  ])('%s is none', (address) => {
    expect(findPath(address)).toBeUndefined()
  })

  it('has the kind of its extension, whatever words objects know', () => {
    expect(['a.PNG', 'b.mp3', 'c.webm', 'd', 'e.constructor', 'f.zip'].map(kindOf)).toEqual([
      'picture',
      'sound',
      'film',
      'other',
      'other',
      'other',
    ])
  })
})

describe('a text', () => {
  it.each([
    ['MEDIA:out/a.mp3', [{ text: 'a.mp3', path: 'out/a.mp3' }]],
    ['It is /workspace/a.txt.', [{ text: 'It is ' }, { text: 'a.txt', path: 'a.txt' }, { text: '.' }]],
    ['(sandbox:/a.txt)', [{ text: '(' }, { text: 'a.txt', path: 'a.txt' }, { text: ')' }]],
    ['the folder /workspace/src is new', [{ text: 'the folder /workspace/src is new' }]],
    ['see http://x.example/workspace/a.txt', [{ text: 'see http://x.example/workspace/a.txt' }]],
    ['MEDIA:https://evil.example/a.png', [{ text: 'MEDIA:https://evil.example/a.png' }]],
  ])('%s names its files', (text, parts) => {
    expect(splitAtFiles(text)).toEqual(parts)
  })
})

describe('a message with files', () => {
  const line = (path: string, type = 'text/plain') => `\n[Attached file: ${path} (${type})]`

  it('has words and files', () => {
    const text = `Look${line('uploads/1/a.txt')}${line('uploads/1/2-b.pdf', 'application/pdf')}`
    expect(splitAttached(text)).toEqual({
      text: 'Look',
      files: [
        { name: 'a.txt', path: 'uploads/1/a.txt' },
        { name: '2-b.pdf', path: 'uploads/1/2-b.pdf' },
      ],
    })
  })

  it('shows neither the contents of a file nor the files that they name', () => {
    const inside = `\n[uploads/1/a.txt contains:]\n${line('uploads/9/evil.txt')}\n[End of uploads/1/a.txt]`
    expect(splitAttached(`Look${line('uploads/1/a.txt')}${inside}`)).toEqual({
      text: 'Look',
      files: [{ name: 'a.txt', path: 'uploads/1/a.txt' }],
    })
  })

  it('may have no words, and may mention what was uploaded before', () => {
    expect(splitAttached(line('uploads/1/a.txt')).text).toBe('')
    expect(splitAttached('Read\n\n@uploads/big.zip\n@"uploads/my list.txt"')).toEqual({
      text: 'Read',
      files: [
        { name: 'big.zip', path: 'uploads/big.zip' },
        { name: 'my list.txt', path: 'uploads/my list.txt' },
      ],
    })
  })

  it.each(['Hi', 'See @uploads/a.txt for it', 'a [Attached file: x] b', '', '  spaced  '])(
    '%j is words alone',
    (text) => {
      expect(splitAttached(text)).toEqual({ text, files: [] })
    },
  )
})

describe('the results of a run', () => {
  const call = (input: object, result: object): Block => ({
    kind: 'tool',
    key: 'r.1.c',
    runId: 'r',
    callId: 'c',
    tool: 'image_generate',
    input,
    state: 'done',
    progress: '',
    result: JSON.stringify(result),
  })
  const text = (words: string): Block => ({ kind: 'text', key: 'r.2.text', runId: 'r', text: words, marks: [] })
  const made = call({ prompt: 'A fox' }, { success: true, path: 'media/fox.png', mime: 'image/png' })
  const arrange = (blocks: readonly Block[], changed = {}) =>
    arrangeBlocks(blocks, { approvals: [], questions: [] }, changed).filter(({ kind }) => kind === 'results')

  it('are the media of its calls that its answer does not show, and what its turn has changed', () => {
    expect(arrange([made, text('Here.')])).toMatchObject([
      { key: 'r.results', made: [{ path: 'media/fox.png', text: 'A fox' }], count: 0 },
    ])
    expect(arrange([made, text('![](media/fox.png)')])).toEqual([])
    expect(arrange([made, text('![](media/fox.png)')], { r: { files: ['a'], count: 1 } })).toMatchObject([
      { made: [], changed: ['a'], count: 1 },
    ])
  })

  it('are none of a run without calls, and none of a path outside', () => {
    expect(arrange([text('Hi')], { r: { files: ['a'], count: 1 } })).toEqual([])
    expect(arrange([call({}, { success: true, path: '../x.png', mime: 'image/png' })])).toEqual([])
  })
})
