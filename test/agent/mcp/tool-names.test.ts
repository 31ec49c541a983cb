/** Tests the names of tools and the filters of servers. */

import { describe, expect, it } from 'vitest'
import { maxNameChars, nameTools, passesFilter } from '../../../src/agent/mcp/tool-names.ts'

describe('nameTools', () => {
  it('keeps hyphens and replaces what a name may not have', () => {
    expect([...nameTools('my-wiki', ['read-page', 'a.b/c', 'grün']).values()].toSorted()).toEqual([
      'mcp__my-wiki__a_b_c',
      'mcp__my-wiki__gr_n',
      'mcp__my-wiki__read-page',
    ])
  })

  it('gives colliding and overlong names digits, so that each is distinct and stays the same', () => {
    const tools = ['a.b', 'a_b', 'a/b', `${'x'.repeat(80)}1`, `${'x'.repeat(80)}2`]
    const names = nameTools('s', tools)
    expect(new Set(names.values()).size).toBe(tools.length)
    for (const name of names.values()) {
      expect(name.length).toBeLessThanOrEqual(maxNameChars)
      expect(name).toMatch(/^[A-Za-z0-9_-]+$/)
    }
    expect(names.get('a.b')).toBe('mcp__s__a_b')
    expect(names.get('a_b')).toMatch(/^mcp__s__a_b_[0-9a-f]{6}$/)
    expect(nameTools('s', tools.toReversed())).toEqual(names)
  })
})

it.each([
  [{}, 'any', true],
  [{ exclude: ['delete_*'] }, 'delete_page', false],
  [{ exclude: ['delete_*'] }, 'read_page', true],
  [{ include: ['read_*'] }, 'delete_page', false],
  [{ include: ['delete_page'], exclude: ['delete_*'] }, 'delete_page', true],
])('the filter %j with %s: %s', (filter, tool, passes) => {
  expect(passesFilter(tool, filter)).toBe(passes)
})
