/** Tests which name is suggested for a misspelled one. */

import { expect, it } from 'vitest'
import { findNearestName } from '#agent/policy/slash-command/nearest-name.ts'

const names = ['help', 'new', 'stop', 'steer', 'status', 'retry', 'undo', 'compress', 'background', 'heartbeat', 'loop']

it.each([
  ['hlep', 'help'],
  ['halp', 'help'],
  ['stat', 'status'],
  ['compres', 'compress'],
  ['hartbeat', 'heartbeat'],
  ['backgroundd', 'background'],
  ['ndo', 'undo'],
  ['zzz', undefined],
  ['deploy', undefined],
  ['s', undefined],
])('suggests for %j: %j', (name, nearest) => {
  expect(findNearestName(name, names)).toBe(nearest)
})
