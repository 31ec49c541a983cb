import { expect, it } from 'vitest'
import { expandToolset } from '#tools/toolsets.ts'

it('a cycle of toolsets expands to the tools of all its members', () => {
  const expansion = { members: new Set<string>(), unknown: new Set<string>(), visited: new Set<string>() }
  const sets = { a: { includes: ['b'], tools: ['x'] }, b: { includes: ['a'], tools: ['y'] } }
  expandToolset([], 'a', expansion, sets)
  expect([...expansion.members]).toEqual(['x', 'y'])
})
