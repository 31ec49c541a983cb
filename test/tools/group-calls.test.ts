/** Tests which calls of a batch run concurrently. */

import { describe, expect, it } from 'vitest'
import type { ToolCall } from '#agent/core/turn.ts'
import { concurrentCalls } from '#tools/dispatch.ts'
import readFile from '#tools/file/read-file.tool.ts'
import writeFile from '#tools/file/write-file.tool.ts'
import terminal from '#tools/terminal/terminal.tool.ts'
import { groupCalls } from '#tools/group-calls.ts'
import { memoryBackend } from './support/memory-backend.ts'

type Planned = Extract<ToolCall, { state: 'planned' }>
const call = (name: string, input: object, n: number): Planned => ({
  id: `${name}-${n}`,
  name,
  input,
  effect: 'pure',
  state: 'planned',
})
const read = (path: string, n = 0) => call('read_file', { path }, n)
const write = (path: string, n = 0) => call('write_file', { path, content: 'x' }, n)

const toolbox = new Map([readFile, writeFile, terminal].map((tool) => [tool.name, tool]))
const services = { backend: memoryBackend() }
/** Returns the sizes of the groups of a batch, in order. */
function groupsOf(calls: readonly Planned[]): number[] {
  const sizes: number[] = []
  for (let left = calls; left.length; left = left.slice(sizes.at(-1)))
    sizes.push(concurrentCalls(left, { toolbox, services }).length)
  return sizes
}

describe('a batch', () => {
  it.each([
    ['of reads and a write of what was read', [read('a'), read('b'), read('c'), write('a')], [3, 1]],
    ['of two writers of one file under different spellings', [write('a.txt'), write('./x/../a.txt')], [1, 1]],
    [
      'of two writers of one file, once from the root',
      [write('a.txt'), write(`${services.backend.resolve('a.txt')}`)],
      [1, 1],
    ],
    ['of two writers of different files', [write('a.txt'), write('b.txt')], [2]],
    [
      'with a command between reads',
      [read('a'), call('terminal', { command: 'x' }, 0), read('b'), read('c')],
      [1, 1, 2],
    ],
    ['of twenty reads', Array.from({ length: 20 }, (_, n) => read(`f${n}`)), [8, 8, 4]],
  ] as const)('%s runs in groups of %j', (_name, calls, sizes) => {
    expect(groupsOf(calls)).toEqual(sizes)
  })

  it('keeps its order: no call moves past one that must run alone', () => {
    const touched = (name: string) => (name === '!' ? 'alone' : [name])
    expect(groupCalls(['a', 'b', '!', 'c', 'c', 'd'], touched, 8)).toEqual([['a', 'b'], ['!'], ['c'], ['c', 'd']])
  })
})
