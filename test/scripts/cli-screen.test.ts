/** Tests the parts of the full-screen chat: widths, Markdown of terminals, and the field. */

import { describe, expect, it } from 'vitest'
import { drawScreen } from '../../cli/screen/draw.mjs'
import { complete, emptyField, findMention, pressKey } from '../../cli/screen/field.mjs'
import { renderMarkdown } from '../../cli/screen/markdown.mjs'
import { clip, widthOf, wrap } from '../../cli/screen/width.mjs'

const [bold, reset] = ['\u001b[1m', '\u001b[0m']

describe('the width of a text', () => {
  it.each([
    ['abc', 3],
    ['日本', 4],
    ['é', 1],
    ['👩‍👩‍👧', 2],
    [`${bold}ab${reset}`, 2],
    ['', 0],
  ])('of %j is %d', (text, width) => expect(widthOf(text)).toBe(width))

  it.each([
    ['one two three', 8, ['one two', 'three']],
    ['one two three', 7, ['one two', 'three']],
    ['abcdefgh', 3, ['abc', 'def', 'gh']],
    ['日本語', 4, ['日本', '語']],
    [`${bold}one two${reset} x`, 4, [`${bold}one${reset}`, `${bold}two${reset}`, 'x']],
    ['', 5, ['']],
  ])('breaks %j at %d', (text, width, lines) => expect(wrap(text, width)).toEqual(lines))

  it('never makes a line that is wider, whatever the text', () => {
    const text = 'a bb 日本語 👩‍👩‍👧 longerthanthewidth  x '.repeat(5)
    for (let width = 4; width < 30; width++)
      for (const line of wrap(text, width, '  ')) expect(widthOf(line)).toBeLessThanOrEqual(width)
    for (let width = 2; width < 30; width++) expect(widthOf(clip(text, width))).toBeLessThanOrEqual(width)
  })
})

describe('Markdown in a terminal', () => {
  // eslint-disable-next-line no-control-regex
  const plain = (lines: readonly string[]) => lines.map((line) => line.replace(/\u001b\[[0-9;]*m/g, ''))
  it.each([
    ['# Title', ['Title']],
    ['**bold** and `code`', ['bold and code']],
    ['- one\n- two', ['• one', '• two']],
    ['3. three', ['3. three']],
    ['> said', ['▏said']],
    ['```js\nlet a = 1\n```\nend', ['│ js', '│ let a = 1', 'end']],
    ['```\nopen', ['│ open']],
    ['[a](https://b.example)', ['a (https://b.example)']],
    ['2 * 3 * 4 and a_b_c', ['2 * 3 * 4 and a_b_c']],
    ['**open', ['**open']],
    ['- [ ] open\n- [x] done', ['☐ open', '☑ done']],
    [
      '| a | **b** |\n|---|:-:|\n| 日本 | x \\| y |\n| z |\nend',
      ['a    │ b', '─────┼──────', '日本 │ x | y', 'z    │ ', 'end'],
    ],
    // The widest column gives way, and its text goes on below.
    [
      `| key | ${'word '.repeat(12)}|\n|--|--|`,
      [
        'key │ word word word word word word word',
        '    │ word word word word word',
        '────┼───────────────────────────────────',
      ],
    ],
    ['a | b\nno table', ['a | b', 'no table']],
    ['```\n| a |\n|---|\n```', ['│ | a |', '│ |---|']],
  ])('draws %j', (text, lines) => expect(plain(renderMarkdown(text, 40))).toEqual(lines))

  it('is fast for long lines of signs', () => {
    const start = performance.now()
    renderMarkdown('*_`[~'.repeat(4_000), 80)
    expect(performance.now() - start).toBeLessThan(2_000)
  })
})

describe('the field', () => {
  type Key = { readonly name?: string; readonly ctrl?: boolean; readonly meta?: boolean }
  const press = (keys: readonly (string | Key)[], history: readonly string[] = []) =>
    keys.reduce(
      (field, key) =>
        (typeof key === 'string' ? pressKey(field, key, {}, history) : pressKey(field, '', key, history)) ?? field,
      emptyField,
    )
  const [left, back, up, down] = ['left', 'backspace', 'up', 'down'].map((name) => ({ name })) as [Key, Key, Key, Key]

  it.each([
    [['a', 'b', left, 'c'], 'acb'],
    [['a', '👩‍👩‍👧', back], 'a'],
    [['one two', { name: 'w', ctrl: true }], 'one '],
    [['ab', { name: 'a', ctrl: true }, 'x'], 'xab'],
    [['ab', { name: 'return', meta: true }, 'c'], 'ab\nc'],
    [['new', up], 'second'],
    [['new', up, up, up], 'first'],
    [['new', up, down], 'new'],
    // Messages that have the typed text are found. Without one, all are gone through.
    [['FIR', up], 'first'],
    [['s', up, up, down, down], 's'],
    [['x', { name: 'return', meta: true }, 'y', up, '1'], 'x1\ny'],
    [['x', { name: 'return', meta: true }, 'yz', up, down, '2'], 'x\ny2z'],
    [[{ name: 'return', meta: true }, up, 'a'], 'a\n'],
    [[{ name: 'return', meta: true }, 'second', up, up], 'second'],
  ])('has %#', (keys, text) => expect(press(keys, ['first', 'second']).text).toBe(text))

  it('finds the path behind an @, and completes it', () => {
    const field = { ...emptyField, text: 'see @no', caret: 7 }
    const mention = findMention(field)
    expect(mention).toEqual({ path: 'no', from: 5 })
    expect(complete(field, mention ?? { path: '', from: 0 }, 'notes.md').text).toBe('see @notes.md')
    expect(findMention({ ...emptyField, text: 'a@b', caret: 3 })).toBeUndefined()
  })

  it.each([
    ['see @no', 'my notes.md', 'see @"my notes.md"'],
    ['see @my', 'my dir/', 'see @"my dir/'],
    ['see @"my dir/n', 'my dir/notes.md', 'see @"my dir/notes.md"'],
    ['@', 'a.txt', '@a.txt'],
  ])('completes %j with %j', (text, path, completed) => {
    const field = { ...emptyField, text, caret: text.length }
    expect(complete(field, findMention(field) ?? { path: '', from: 0 }, path).text).toBe(completed)
  })
})

describe('the screen', () => {
  const command = 'rm -rf build && '.repeat(100)
  const waiting = {
    id: 'a',
    tool: 'terminal',
    input: { command },
    rule: 'rm',
    choices: ['once', 'session', 'always', 'deny'],
  }
  const viewOf = (over: object = {}, text = '') => ({
    title: 'Title',
    transcript: { state: { run: 'run_1', entries: [{ kind: 'answer', text: 'said' }], waiting: [waiting] } },
    field: { ...emptyField, text, caret: text.length },
    scroll: 0,
    ...over,
  })
  // eslint-disable-next-line no-control-regex
  const read = (view: object, rows: number, columns: number) => {
    const { lines, caret } = drawScreen(view, { rows, columns })
    // eslint-disable-next-line no-control-regex
    return { lines: lines.map((line: string) => line.replaceAll(/\u001b\[[0-9;]*m/g, '')), caret }
  }

  it('shows choices, field and keys at every size, and nothing that is wider', () => {
    const items = Array.from({ length: 50 }, (_, at) => ({ name: `session ${at} 日本語` }))
    const decisions = /\[o\]\u00a0once {2}\[s\]\u00a0session {2}\[a\]\u00a0always\s+\[d\]\u00a0deny/
    const views = [
      [viewOf(), decisions],
      [viewOf({}, 'line\n'.repeat(30)), decisions],
      [viewOf({ picker: { title: 'Sessions', at: 40, items } }), '› session 40'],
    ] as const
    for (const [view, shown] of views)
      for (const [rows, columns] of [
        [12, 40],
        [14, 60],
        [24, 80],
        [50, 200],
      ] as const) {
        const { lines, caret } = read(view, rows, columns)
        expect(lines).toHaveLength(rows)
        for (const line of lines) expect(widthOf(line)).toBeLessThanOrEqual(columns)
        expect(lines.join('\n')).toMatch(shown)
        expect(caret.row).toBe(rows - 2)
      }
  })

  it('says that a command is not whole, and that keys decide in an empty field alone', () => {
    expect(read(viewOf(), 20, 60).lines.join('\n')).toMatch(/more lines: talaria approve shows all/)
    expect(read(viewOf({}, 'x'), 20, 60).lines.join('\n')).toContain('while the field is empty')
    expect(read(viewOf(), 20, 60).lines.join('\n')).not.toContain('while the field is empty')
  })

  it('keeps the place of somebody who reads above while an answer grows', () => {
    const draw = (count: number, over: object) =>
      drawScreen(
        viewOf({
          transcript: {
            state: {
              waiting: [],
              entries: [{ kind: 'answer', text: Array.from({ length: count }, (_, at) => `line ${at}\n`).join('\n') }],
            },
          },
          ...over,
        }),
        { rows: 12, columns: 40 },
      )
    const { lastTop, lines } = draw(20, { scroll: 8 })
    const { scroll, lines: later } = draw(30, { scroll: 8, lastTop })
    expect(later.slice(1, -4)).toEqual(lines.slice(1, -4))
    expect(scroll).toBe(28)
    expect(draw(30, { scroll: 0, lastTop }).lines.join()).toContain('line 29')
  })

  it.each([
    ['a'.repeat(17), 17, 1, 19],
    ['a'.repeat(19), 19, 2, 3],
    ['日'.repeat(10), 10, 2, 4],
    [`${'日'.repeat(10)}\n${'a'.repeat(19)}`, 30, 4, 3],
    ['one\n\ntwo', 4, 2, 2],
    ['\none', 0, 1, 2],
    ['one\ntwo', 3, 1, 5],
  ])('puts the caret of %j at %d in its line', (text, caret, row, column) => {
    const field = { ...emptyField, text, caret }
    const drawn = drawScreen(viewOf({ field, transcript: { state: { entries: [], waiting: [] } } }), {
      rows: 20,
      columns: 20,
    })
    const top = drawn.lines.findIndex((line: string) => line.includes('›'))
    // Two cells of each line are a mark.
    expect([drawn.caret.row - top, drawn.caret.column]).toEqual([row - 1, column])
  })

  it('draws a pasted log at once', () => {
    const text = 'a line of a log with some words in it\n'.repeat(2_500)
    const began = performance.now()
    for (let n = 0; n < 10; n++) drawScreen(viewOf({}, text), { rows: 24, columns: 80 })
    expect(performance.now() - began).toBeLessThan(3_000)
  })

  it('keeps the last key of the line in a narrow terminal', () => {
    const idle = viewOf({ transcript: { state: { entries: [], waiting: [] } } })
    for (const [columns, keys] of [
      [80, 'Enter sends · Alt+Enter new line · @ files · Ctrl+R sessions · Ctrl+D leaves'],
      [60, 'Enter sends · Alt+Enter new line · @ files · Ctrl+D leaves'],
      [40, 'Enter sends · Ctrl+D leaves'],
    ] as const)
      expect(read(idle, 12, columns).lines.at(-1)).toBe(keys)
  })
})
