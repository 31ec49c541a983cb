import { expect, it } from 'vitest'
import { expandToolset, isToolsetName, toolsets } from '#tools/toolsets.ts'

it('a cycle of toolsets expands to the tools of all its members', () => {
  const expansion = { members: new Set<string>(), unknown: new Set<string>(), visited: new Set<string>() }
  const sets = { a: { includes: ['b'], tools: ['x'] }, b: { includes: ['a'], tools: ['y'] } }
  expandToolset([], 'a', expansion, sets)
  expect([...expansion.members]).toEqual(['x', 'y'])
})

const expand = (name: string) => {
  const expansion = { members: new Set<string>(), unknown: new Set<string>(), visited: new Set<string>() }
  expandToolset([], name, expansion, toolsets)
  return { members: [...expansion.members], unknown: [...expansion.unknown] }
}

it.each([
  ['web_tools', 'web'],
  ['terminal_tools', 'terminal'],
  ['file_tools', 'file'],
  ['image_tools', 'image_gen'],
  ['skills_tools', 'skills'],
  ['browser_tools', 'browser'],
])('the old name %s stands for %s', (old, name) => {
  expect(isToolsetName(old)).toBe(true)
  expect(expand(old)).toEqual(expand(name))
})

it.each(['moa_tools', 'rl_tools', 'toString', '_tools'])('the name %s stands for nothing', (name) => {
  expect(isToolsetName(name)).toBe(false)
  expect(expand(name).unknown).toEqual([name])
})
