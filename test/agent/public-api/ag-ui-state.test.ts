/** Tests changes of a shared state: those that JSON Patch allows, and hostile ones. */

import { expect, it } from 'vitest'
import { SharedState } from '#agent/public-api/ag-ui-state.ts'

const start = { items: ['a', 'b'], user: { name: 'Ada' }, 'a/b': 1 }
const change = (...patch: readonly object[]) => {
  const state = new SharedState(start)
  return { ...state.change({ patch }), value: state.value }
}

it.each([
  [
    { op: 'add', path: '/items/1', value: 'x' },
    { ...start, items: ['a', 'x', 'b'] },
  ],
  [
    { op: 'add', path: '/items/-', value: 'c' },
    { ...start, items: ['a', 'b', 'c'] },
  ],
  [
    { op: 'remove', path: '/items/0' },
    { ...start, items: ['b'] },
  ],
  [
    { op: 'replace', path: '/user/name', value: null },
    { ...start, user: { name: null } },
  ],
  [
    { op: 'replace', path: '/a~1b', value: 2 },
    { ...start, 'a/b': 2 },
  ],
  [{ op: 'replace', path: '', value: { new: true } }, { new: true }],
])('applies %j', (operation, value) => {
  expect(change(operation)).toEqual({ delta: [operation], value })
})

it.each([
  [{ op: 'add', path: '/__proto__/polluted', value: true }],
  [{ op: 'add', path: '/user/constructor', value: 1 }],
  [{ op: 'replace', path: '/missing', value: 1 }],
  [{ op: 'remove', path: '/items/2' }],
  [{ op: 'add', path: '/items/01', value: 1 }],
  [{ op: 'add', path: '/items/-1', value: 1 }],
  [{ op: 'add', path: '/items/4000000000', value: 1 }],
  [{ op: 'add', path: '/user/name/x', value: 1 }],
  [{ op: 'add', path: '/toString/x', value: 1 }],
  [{ op: 'remove', path: '' }],
  [{ op: 'move', path: '/user', from: '/items' }],
  [{ op: 'add', path: '/x' }],
  [{ op: 'add', path: 'x', value: 1 }],
  [{ op: 'add', path: '/a'.repeat(50), value: 1 }],
  [{ op: 'add', path: '/x', value: 'y'.repeat(100_001) }],
])('refuses %j, and changes nothing', (operation) => {
  const good = { op: 'replace', path: '/user', value: 1 }
  expect(change(good, operation)).toEqual({ error: expect.any(String), value: start })
})

it.each([[undefined], [[]], ['x'], [Array.from({ length: 101 }, () => ({ op: 'remove', path: '/user' }))]])(
  'refuses the patch %j',
  (patch) => expect(new SharedState(start).change({ patch })).toEqual({ error: expect.any(String) }),
)
