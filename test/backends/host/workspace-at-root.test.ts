/** A workspace in the root directory, as containers have it: the folder above it has no name. */

import { afterEach, describe, expect, it } from 'vitest'
import { hostBackend } from '#backends/host/host-backend.ts'
import type { HostRecord } from '#backends/host/host-port.ts'
import { hasBubblewrap } from '../../sandbox/bubblewrap.mjs'
import { createLocalHost } from './local-host.mjs'

const T = { timeoutMs: 20_000 }

const drops: (() => void)[] = []
afterEach(() => drops.splice(0).forEach((drop) => drop()))

function open() {
  const host = createLocalHost({ isAtRoot: true })
  drops.push(host.drop)
  let record: HostRecord = {}
  return hostBackend({
    ...host,
    kind: 'daytona',
    network: 'full',
    languages: ['bash'],
    describe: 'A container for tests.',
    memory: { read: () => record, write: (next) => void (record = next) },
  })
}

describe.skipIf(!hasBubblewrap)('a workspace in the root directory (needs bubblewrap)', () => {
  it('is created by the first command, and has its files', async () => {
    const backend = open()
    expect(await backend.exec('pwd; echo one > a', T)).toMatchObject({ exitCode: 0, stdout: '/workspace\n' })
    expect(await backend.exec('cat a', T)).toMatchObject({ exitCode: 0, stdout: 'one\n' })
    await backend.files.write('b/c', new TextEncoder().encode('two'))
    expect(new TextDecoder().decode(await backend.files.read('b/c'))).toBe('two')
  })

  it('is created again when a command has removed it, and moved back when it was moved', async () => {
    const backend = open()
    await backend.exec('echo one > a', T)
    await backend.exec('mv /workspace /elsewhere', T)
    expect(await backend.exec('cat /workspace/a', T)).toMatchObject({ stdout: 'one\n' })
    await backend.exec('rm -rf /workspace', T)
    expect(await backend.exec('ls -A /workspace', T)).toMatchObject({ exitCode: 0, stdout: '' })
  })

  it('has background jobs', async () => {
    const jobs = open().jobs!
    await jobs.start('job', 'echo began; exit 3', { timeoutMs: 20_000 })
    await expect.poll(() => jobs.state('job'), { timeout: 10_000 }).toMatchObject({ at: 'exited', exitCode: 3 })
  })
})
