/** Jobs that go on after a command has removed or moved the folder with their state. */

import { describe, expect, it } from 'vitest'
import { firstRows } from '../../support/long.ts'
import { scriptHosts } from './script-hosts.ts'

const T = { timeoutMs: 20_000 }

const ways = [
  ['removed', (state: string) => `rm -rf ${state}`],
  ['moved', (state: string, temporary: string) => `mv ${state} ${temporary}/state`],
] as const
const rows = ways.flatMap(([how, remove]) => scriptHosts.map(([host, open]) => [host, how, open, remove] as const))
/** Both ways, each on another host. */
const isFirst = (_: unknown, at: number) => at === 0 || at === 5

describe('a job', () => {
  it.each(firstRows(1, [...rows.filter(isFirst), ...rows.filter((row, at) => !isFirst(row, at))], 1))(
    'of %s runs on and can be killed when its record was %s',
    async (_host, _how, open, remove) => {
      const { backend, state, temporary } = open()
      const jobs = backend.jobs!
      const alive = `${temporary}/alive`
      await jobs.start('goes-on', `while :; do echo x >> ${alive}; sleep 0.05; done`, { timeoutMs: 60_000 })
      const told = await backend.exec(`${remove(state, temporary)}; ls -d ${state}`, T).then(
        ({ stderr }) => stderr,
        (error: Error) => error.message,
      )
      expect(told).not.toContain('The container was replaced while the command ran')
      await expect.poll(() => jobs.state('goes-on'), { timeout: 5000 }).toEqual({ at: 'running' })
      await jobs.kill('goes-on')
      expect(await jobs.state('goes-on')).toMatchObject({ at: 'lost' })
      const { stdout } = await backend.exec(`wc -l < ${alive}; sleep 0.3; wc -l < ${alive}`, T)
      const [before, after] = stdout.trim().split('\n')
      expect(Number(before)).toBeGreaterThan(0)
      expect(after).toBe(before)
    },
  )
})
