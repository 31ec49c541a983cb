/** Tests which rows of long tables `npm test` runs. */

import { expect, it } from 'vitest'
import { chooseRows, isInTurn } from './choose-rows.ts'

const rows = ['a', 'b', 'c', 'd', 'e', 'f']

it('has the first rows, and as many others as are wanted, each once', () => {
  for (let seed = 0; seed < 200; seed++) {
    const chosen = chooseRows(2, 2, rows, seed)
    expect(chosen.slice(0, 2)).toEqual(['a', 'b'])
    expect(new Set(chosen).size).toBe(4)
  }
})

it('chooses the same with the same seed, and every row with some seed', () => {
  const of = (seed: number) => chooseRows(1, 1, rows, seed)[1]
  expect([of(7), of(7)]).toEqual([of(7), of(7)])
  expect(new Set(Array.from({ length: 60 }, (_, seed) => of(seed)))).toEqual(new Set(rows.slice(1)))
})

it.each([
  [3, 0, ['a', 'b', 'c']],
  [6, 2, rows],
  [9, 2, rows],
])('with %d first and %d other rows', (count, others, expected) => {
  expect(chooseRows(count, others, rows, 1)).toEqual(expected)
})

it('has all rows when more are wanted than there are', () => {
  expect(chooseRows(2, 9, rows, 5).toSorted()).toEqual(rows)
})

it('gives each test its turn in eight seeds that follow each other, and an eighth of many tests with each', () => {
  const names = Array.from({ length: 400 }, (_, at) => `the ${at}th case says so`)
  for (const first of [0, 1, 999_997]) {
    const turns = [0, 1, 2, 3, 4, 5, 6, 7].map((next) => names.filter((name) => isInTurn(name, first + next)))
    expect(turns.flat().toSorted()).toEqual(names.toSorted())
    for (const chosen of turns) expect(Math.abs(chosen.length - 50)).toBeLessThan(20)
  }
})
