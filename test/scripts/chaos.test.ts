/** Tests the parts of `npm run chaos`, which runs all tests that take turns in `npm test`. */

import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { root } from '../../scripts/lib/root.mjs'

const script = join(root, 'scripts/chaos.mjs')

const listParts = (): ReadonlyMap<string, readonly string[]> => {
  const [, ...lines] = execFileSync(process.execPath, [script, '--list', '--seed', '1'], { encoding: 'utf8' })
    .trim()
    .split('\n')
  return new Map(
    lines.map((line) => [line.slice(0, line.indexOf(': ')), line.slice(line.indexOf(': ') + 2).split(' ')]),
  )
}

it('names files that exist, in each of its parts', () => {
  const parts = listParts()
  expect(parts.size).toBeGreaterThan(15)
  for (const [name, args] of parts)
    for (const path of args.filter((arg) => arg.startsWith('test/')))
      expect(existsSync(join(root, path)), `${name}: ${path}`).toBe(true)
})

it('runs every file with tests that take turns', () => {
  const run = [...listParts().values()].flat()
  const inTurn = readdirSync(join(root, 'test'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.test.ts'))
    .map((name) => `test/${name.replaceAll('\\', '/')}`)
    .filter((path) => readFileSync(join(root, path), 'utf8').match(/^\s*itInTurn[.(]/m))
  expect(inTurn.length).toBeGreaterThan(50)
  expect(inTurn.filter((path) => !run.some((each) => path === each || path.startsWith(`${each}/`)))).toEqual([])
})

it('says which parts there are when one is asked for that is none', () => {
  const { status, stderr } = spawnSync(process.execPath, [script, '--only', 'storms'], { encoding: 'utf8' })
  expect(status).toBe(1)
  expect(stderr).toContain('There is no part "storms". The parts: simulations,')
})
