/** Tests how files of the workspace are read for their views: tables, sheets, archives, versions. */

import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { listZip } from '../../web/model/archive.ts'
import { readCsv, readSheets } from '../../web/model/csv.ts'
import { hasScripts, viewOf } from '../../web/model/file-views.ts'
import { sortRows } from '../../web/model/sort-rows.ts'
import { listVersions } from '../../web/model/versions.ts'

describe('the view of a file', () => {
  it.each([
    ['a.HTML', 'page'],
    ['notes/b.md', 'markdown'],
    ['c.csv', 'table'],
    ['d.tar.gz', 'archive'],
    ['e.xlsx', 'sheets'],
    ['f.py', undefined],
    ['g', undefined],
    ['h.constructor', undefined],
    ['i.gz', undefined],
  ])('%s is %s', (path, view) => expect(viewOf(path)).toBe(view))

  it.each([
    ['<p>one', false],
    ['<script>1</script>', true],
    ['<SCRIPT\nsrc=x>', true],
    ['<b onclick="x()">', true],
    ['<a href="javascript:x()">', true],
    ['<p>only = a word, once = twice', false],
    ['<p>description', false],
  ])('%j has scripts: %s', (html, has) => expect(hasScripts(html)).toBe(has))
})

const rowsOf = (text: string, max = 100) => readCsv(text, max).rows

describe('CSV', () => {
  it.each<[string, string[][]]>([
    [
      'a,b\n1,2\n',
      [
        ['a', 'b'],
        ['1', '2'],
      ],
    ],
    [
      'a;b\r\n1;2',
      [
        ['a', 'b'],
        ['1', '2'],
      ],
    ],
    ['a\tb\n', [['a', 'b']]],
    ['\uFEFFa,b', [['a', 'b']]],
    ['"a ""q""","b,c\nd"\n', [['a "q"', 'b,c\nd']]],
    ['"a;b",c', [['a;b', 'c']]],
    [
      'a,\n,b',
      [
        ['a', ''],
        ['', 'b'],
      ],
    ],
    ['a,b,', [['a', 'b', '']]],
    ['"open', [['open']]],
    ['"a"b,c', [['ab', 'c']]],
    ['', []],
  ])('%j', (text, rows) => expect(rowsOf(text)).toEqual(rows))

  it('ends at a number of rows and says that there are more', () => {
    expect(readCsv('a\nb\nc', 2)).toEqual({ rows: [['a'], ['b']], hasMore: true })
    expect(readCsv('a\nb', 2)).toEqual({ rows: [['a'], ['b']], hasMore: false })
  })

  it('reads what programs write, whatever the cells hold', () => {
    const cell = fc.string({ unit: fc.constantFrom('a', '"', ',', '\n', '\r', ';', ' ') })
    const table = fc
      .integer({ min: 1, max: 4 })
      .chain((width) =>
        fc.array(fc.array(cell, { minLength: width, maxLength: width }), { minLength: 1, maxLength: 5 }),
      )
    const write = (rows: string[][]) =>
      rows.map((row) => row.map((text) => `"${text.replaceAll('"', '""')}"`).join(',')).join('\n')
    fc.assert(fc.property(table, (rows) => void expect(rowsOf(write(rows))).toEqual(rows)))
  })
})

describe('the sheets of a workbook', () => {
  it('have their names and rows', () =>
    expect(readSheets('## Sheet: One\na\tb\n1\t2\n\n## Sheet: Two\nx')).toEqual([
      {
        name: 'One',
        rows: [
          ['a', 'b'],
          ['1', '2'],
        ],
      },
      { name: 'Two', rows: [['x']] },
    ]))
  it('are none in other text', () => expect(readSheets('text')).toEqual([]))
})

describe('sorted rows', () => {
  const rows = [
    ['b', '10'],
    ['a', '9'],
    ['', ''],
    ['c', '-1.5'],
  ]
  it.each([
    [0, 'ascending', 'abc'],
    [0, 'descending', 'cba'],
    [1, 'ascending', 'cab'],
    [1, 'descending', 'bac'],
    [7, 'ascending', 'bac'],
  ] as const)('by column %i, %s', (column, order, names) =>
    expect(
      sortRows(rows, { column, order })
        .map(([name]) => name)
        .join(''),
    ).toBe(names),
  )
})

describe('the files of a zip archive', () => {
  /** An archive of empty files. */
  function zip(names: readonly string[], comment = ''): Uint8Array {
    const entries = names.map((name) => {
      const entry = Buffer.alloc(46 + name.length)
      entry.writeUInt32LE(0x02014b50, 0)
      entry.writeUInt32LE(7, 24)
      entry.writeUInt16LE(name.length, 28)
      entry.write(name, 46)
      return entry
    })
    const end = Buffer.alloc(22 + comment.length)
    end.writeUInt32LE(0x06054b50, 0)
    end.write(comment, 22)
    return Buffer.concat([...entries, end])
  }
  it('have names and sizes', () =>
    expect(listZip(zip(['a.txt', 'b/c'], 'said'), 9)).toEqual([
      { name: 'a.txt', size: 7 },
      { name: 'b/c', size: 7 },
    ]))
  it('are at most so many', () => expect(listZip(zip(['a', 'b']), 1)).toHaveLength(1))
  it('are none in other bytes', () =>
    fc.assert(fc.property(fc.uint8Array({ maxLength: 80 }), (bytes) => void expect(listZip(bytes, 9)).toBeUndefined())))
})

describe('the versions of a file', () => {
  const checkpoint = (n: number, ...files: string[]) => ({ n, files })
  it('are before the turns that changed it, oldest first', () =>
    expect(listVersions([checkpoint(1, 'a'), checkpoint(2, 'b'), checkpoint(3, 'b', 'a')], 'a')).toEqual([3, 1]))
  it('are none when no turn has changed it', () => expect(listVersions([checkpoint(1, 'ab')], 'a')).toEqual([]))
})
