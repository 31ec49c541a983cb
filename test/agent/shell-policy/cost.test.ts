/**
 * Tests that no command line takes long to judge. The work is counted, because times differ between machines: tests of
 * regular expressions, and entries written to maps. On an idle machine `maxWork` takes less than 20 ms.
 */

import { afterEach, expect, it, vi } from 'vitest'
import { judgeCommand } from '#agent/shell-policy/judge-command.ts'
import benign from './benign.json'
import { hostileLines } from './hostile-lines.ts'

const host = { cwd: '/workspace', workspace: '/workspace', isSandboxed: true }
const maxWork = 100_000

afterEach(() => vi.restoreAllMocks())

function countWork(command: string): number {
  let work = 0
  const { test } = RegExp.prototype
  const { set } = Map.prototype
  const spies = [
    vi.spyOn(RegExp.prototype, 'test').mockImplementation(function (this: RegExp, text: string) {
      work++
      return test.call(this, text)
    }),
    vi.spyOn(Map.prototype, 'set').mockImplementation(function (this: Map<unknown, unknown>, key, value) {
      work++
      return set.call(this, key, value)
    }),
  ]
  judgeCommand(command, host)
  for (const spy of spies) spy.mockRestore()
  return work
}

it.each(Object.entries(hostileLines))('%s', (_, command) => expect(countWork(command)).toBeLessThan(maxWork))

it('ordinary commands cost a tenth of it at most', () => {
  const costs = benign.map(countWork)
  expect(Math.min(...costs)).toBeGreaterThan(0)
  expect(Math.max(...costs)).toBeLessThan(maxWork / 10)
})
