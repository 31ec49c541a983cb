/** Tests the prediction of a rollback. */

import { expect, it } from 'vitest'
import { type Checkpoint, predictRollback } from '../../web/model/rollback.ts'

const checkpoint = (n: number, files: readonly string[], count = files.length): Checkpoint => ({
  n,
  at: '2026-01-01T00:00:00Z',
  name: null,
  files,
  count,
})
const changed = {
  files: [
    { path: 'a.txt', added: 1, removed: 2 },
    { path: 'mine.txt', added: 3, removed: 0 },
  ],
  binary: ['b.png'],
  left_out: ['huge.bin'],
}

it('restores the files of the undone turns, and keeps those that only people have changed', () => {
  const all = [checkpoint(1, ['a.txt']), checkpoint(2, ['b.png']), checkpoint(3, ['mine.txt'])]
  expect(predictRollback(2, all, changed)).toEqual({
    restored: ['a.txt +1 −2', 'b.png'],
    kept: ['mine.txt'],
    unkept: ['huge.bin'],
  })
  expect(predictRollback(1, all, changed).kept).toEqual(['mine.txt', 'b.png'])
})

it('names no file as kept when the list of a turn is cut', () => {
  expect(predictRollback(1, [checkpoint(1, ['a.txt'], 2)], changed).kept).toEqual([])
})
