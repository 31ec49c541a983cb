/** Tests the parts of the full-screen chat: widths, Markdown of terminals, and the field. */

import { describe, expect, it } from 'vitest'
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
  ])('has %#', (keys, text) => expect(press(keys, ['first', 'second']).text).toBe(text))

  it('finds the path behind an @, and completes it', () => {
    const field = { ...emptyField, text: 'see @no', caret: 7 }
    const mention = findMention(field)
    expect(mention).toEqual({ path: 'no', from: 5 })
    expect(complete(field, mention ?? { path: '', from: 0 }, 'notes.md').text).toBe('see @notes.md')
    expect(findMention({ ...emptyField, text: 'a@b', caret: 3 })).toBeUndefined()
  })
})
