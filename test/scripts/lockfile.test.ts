/** Tests the comparison of node_modules with the lock file. */

import { describe, expect, it } from 'vitest'
import { matches } from '../../scripts/lib/lockfile.mjs'

const lock = (packages: object) => JSON.stringify({ packages })
const wanted = lock({
  '': { name: 'talaria' },
  'node_modules/a': { version: '1.0.0' },
  'node_modules/b': { version: '2.0.0', optional: true },
})

describe('node_modules', () => {
  it.each([
    [
      'is what the lock file names',
      { 'node_modules/a': { version: '1.0.0' }, 'node_modules/b': { version: '2.0.0' } },
      true,
    ],
    ['may lack what is optional', { 'node_modules/a': { version: '1.0.0' } }, true],
    ['may not lack anything else', { 'node_modules/b': { version: '2.0.0' } }, false],
    ['may not have another version', { 'node_modules/a': { version: '1.0.1' } }, false],
    [
      'may have the build for this system',
      { 'node_modules/a': { version: '1.0.0' }, 'node_modules/d': { version: '1.0.0', optional: true } },
      true,
    ],
    ['may not have more', { 'node_modules/a': { version: '1.0.0' }, 'node_modules/c': { version: '1.0.0' } }, false],
  ])('%s', (_, packages, expected) => {
    expect(matches(wanted, lock(packages))).toBe(expected)
  })

  it('is not there after an installation that was broken off', () => {
    expect(matches(wanted, undefined)).toBe(false)
  })
})
