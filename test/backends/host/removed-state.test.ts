/** Jobs that go on after a command has removed or moved the folder with their state. */

import { afterEach, describe, expect, it } from 'vitest'
import type { ExecutionBackend } from '#agent/core/backend.ts'
import { hostBackend } from '#backends/host/host-backend.ts'
import type { HostRecord } from '#backends/host/host-port.ts'
import { stateBeside } from '#backends/host/scripts.ts'
import { openContainer } from '../cloudflare/open-container.ts'
import { createLocalHost } from './local-host.mjs'

const T = { timeoutMs: 20_000 }
const drops: (() => void)[] = []
afterEach(() => drops.splice(0).forEach((drop) => drop()))

type Opened = { readonly backend: ExecutionBackend; readonly state: string; readonly temporary: string }

function openScriptHost(): Opened {
  const host = createLocalHost()
  drops.push(host.drop)
  let record: HostRecord = {}
  const backend = hostBackend({
    ...host,
    kind: 'daytona',
    network: 'full',
    languages: ['bash'],
    describe: 'A local host for tests.',
    memory: { read: () => record, write: (next) => void (record = next) },
  })
  return { backend, state: host.state ?? stateBeside(host.root), temporary: host.temporary }
}

function openBox(api: 'sdk' | 'native'): Opened {
  const { backend, engine } = openContainer(api, undefined, { retryMs: 20 })
  drops.push(() => engine.drop())
  return { backend, state: stateBeside(engine.root), temporary: engine.temporary }
}

describe.each([
  ['a script host', openScriptHost],
  ['the SDK', () => openBox('sdk')],
  ['the native API', () => openBox('native')],
] as const)('a job of %s', (_, open) => {
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
