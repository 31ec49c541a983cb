/** Tests the bridge to the simulators with a small class of our own. */

import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { startSimulator } from './simulator.ts'

const hasPython = spawnSync('python3', ['-c', 'match 1:\n case 1: pass']).status === 0

it.skipIf(!hasPython)('calls, parses calls of Python, and shows the state of each lane', async () => {
  const simulator = startSimulator(join(import.meta.dirname, 'sample'))
  try {
    for (const lane of ['a', 'b']) await simulator.open(lane, ['TicketAPI'], { TicketAPI: { counter: 4 } }, false)
    const call = await simulator.parse('a', "create_ticket('It\\'s late', priority=2)")
    expect(call).toEqual({ name: 'create_ticket', input: { title: "It's late", priority: 2 } })
    expect(await simulator.call('a', call)).toBe('{"id": 5}')
    expect(await simulator.call('a', { name: 'create_ticket', input: { title: '' } })).toContain('needs a title')
    expect(await simulator.call('a', { name: '_load_scenario', input: {} })).toContain('There is no function')
    expect(JSON.parse(await simulator.state('a'))).toMatchObject({ TicketAPI: { tickets: [{ id: 5, priority: 2 }] } })
    expect(await simulator.state('a')).not.toBe(await simulator.state('b'))
    await expect(simulator.parse('a', 'not a call')).rejects.toThrow('SyntaxError')
  } finally {
    simulator.close()
  }
})
