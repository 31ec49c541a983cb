import { expect, it } from 'vitest'
import { BoundedMap } from '#agent/core/bounded-map.ts'

it('drops the oldest entry when it is full, and only then', () => {
  const known = new BoundedMap<string, number>(2)
  known.set('a', 1).set('b', 2)
  expect([...known]).toEqual([
    ['a', 1],
    ['b', 2],
  ])
  known.set('c', 3)
  expect([...known]).toEqual([
    ['b', 2],
    ['c', 3],
  ])
})

it('drops nothing for a key that it has, which becomes the newest', () => {
  const known = new BoundedMap<string, number>(2)
  known.set('a', 1).set('b', 2).set('a', 3)
  expect([...known]).toEqual([
    ['b', 2],
    ['a', 3],
  ])
  known.set('c', 4)
  expect([...known.keys()]).toEqual(['a', 'c'])
})
