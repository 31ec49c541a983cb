import { describe, expect, it } from 'vitest'
import { parseMarkdown, parseRuns } from '#backends/make-document/inside/markdown.ts'
import { parseSheets } from '#backends/make-document/inside/sheet-rows.ts'

describe('parseMarkdown', () => {
  it('reads blocks in order', () => {
    const text =
      '# Title #\n\nOne\ntwo.\n\n- a\n  - b\n3. c\n\n> said\n> so\n\n```js\n# code\n```\n---\n| A | B |\n|---|:-:|\n| 1 | x\\|y |\n'
    expect(parseMarkdown(text)).toEqual([
      { kind: 'heading', level: 1, runs: [{ text: 'Title' }] },
      { kind: 'paragraph', runs: [{ text: 'One two.' }] },
      { kind: 'item', depth: 0, runs: [{ text: 'a' }] },
      { kind: 'item', depth: 1, runs: [{ text: 'b' }] },
      { kind: 'item', depth: 0, number: 3, runs: [{ text: 'c' }] },
      { kind: 'quote', runs: [{ text: 'said so' }] },
      { kind: 'code', lines: ['# code'] },
      { kind: 'rule' },
      {
        kind: 'table',
        rows: [
          [[{ text: 'A' }], [{ text: 'B' }]],
          [[{ text: '1' }], [{ text: 'x|y' }]],
        ],
      },
    ])
  })

  it('ends on texts that are no Markdown', () => {
    for (const text of ['', '|', '| a |', '```', '>', '- ', '#', '|a|\n|b|', '\n\n\n'])
      expect(() => parseMarkdown(text)).not.toThrow()
    expect(parseMarkdown('| a |\nnext')).toEqual([{ kind: 'paragraph', runs: [{ text: '| a | next' }] }])
  })
})

it.each([
  [
    'a **b** *c* `d*` [e](https://x.test)',
    [
      { text: 'a ' },
      { text: 'b', bold: true },
      { text: ' ' },
      { text: 'c', italic: true },
      { text: ' ' },
      { text: 'd*', code: true },
      { text: ' ' },
      { text: 'e', link: 'https://x.test' },
    ],
  ],
  ['snake_case_name 2*3*4', [{ text: 'snake_case_name 2' }, { text: '3', italic: true }, { text: '4' }]],
  [String.raw`\*no\*`, [{ text: '*no*' }]],
  ['[x](javascript:alert)', [{ text: 'x' }]],
])('parseRuns of %j', (text, runs) => {
  expect(parseRuns(text)).toEqual(runs)
})

describe('parseSheets', () => {
  it.each([
    [
      '[["a",1],["=1+1",null]]',
      [
        ['a', 1],
        ['=1+1', null],
      ],
    ],
    [
      '[{"a":1,"b":"x"},{"b":true,"c":{"d":1}}]',
      [
        ['a', 'b', 'c'],
        [1, 'x', null],
        [null, true, '{"d":1}'],
      ],
    ],
    [
      '| a | b |\n|---|---|\n| 1.5 | 007 |',
      [
        ['a', 'b'],
        [1.5, '007'],
      ],
    ],
    [
      'a,b\n"x, ""y""",-2\n',
      [
        ['a', 'b'],
        ['x, "y"', -2],
      ],
    ],
    ['a\r\n+49 30', [['a'], ['+49 30']]],
    [
      'a,,\n"two\nlines","open',
      [
        ['a', null, null],
        ['two\nlines', 'open'],
      ],
    ],
  ])('reads %j', (content, rows) => {
    expect(parseSheets(content)).toEqual([{ name: 'Sheet1', rows }])
  })

  it('reads several sheets', () => {
    expect(parseSheets('{"One/Two":[["a"]],"B":[]}')).toEqual([
      { name: 'One Two', rows: [['a']] },
      { name: 'B', rows: [] },
    ])
  })

  it.each(['[1,2]', '{"a":1}', '{}', '[{"a":1},[2]]', '{"a'])('refuses %j', (content) => {
    expect(parseSheets(content)).toHaveProperty('refused')
  })
})
