import { expect, it } from 'vitest'
import { BoundedMap } from '#agent/core/bounded-map.ts'

it('is cleared when it is full, and only then', () => {
  const known = new BoundedMap<string, number>(2)
  known.set('a', 1).set('b', 2).set('b', 3)
  expect([...known]).toEqual([
    ['a', 1],
    ['b', 3],
  ])
  known.set('c', 4)
  expect([...known]).toEqual([['c', 4]])
})
