/** Jobs that go on after a command has removed or moved the folder with their state. */

import { describe, expect, it } from 'vitest'
import { scriptHosts } from './script-hosts.ts'

const T = { timeoutMs: 20_000 }

describe.each(scriptHosts)('a job of %s', (_, open) => {
  it.each([
    ['removed', (state: string) => `rm -rf ${state}`],
    ['moved', (state: string, temporary: string) => `mv ${state} ${temporary}/state`],
  ])('runs on and can be killed when its record was %s', async (_how, remove) => {
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
  })
})
