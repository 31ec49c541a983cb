import { vendorBackend } from '#backends/host/vendor-backend.ts'
import { describe, expect, it } from 'vitest'
import type { HostRecord } from '#backends/host/host-port.ts'
import type { PortableBackend } from '#backends/portable-backend.ts'
import { readCommandLog } from '#backends/vercel/follow.ts'
import type { VercelOptions } from '#backends/vercel/vercel.ts'
import { conforms, onOne } from '../conformance.ts'
import { playVercel, type VercelVendor, vendorCases } from '../host/vendors.mjs'

const T = { timeoutMs: 10_000 }

type Rented = {
  readonly backend: PortableBackend
  readonly vendor: VercelVendor
  readonly again: (more?: Partial<VercelOptions>) => PortableBackend
}

async function rent(): Promise<Rented> {
  const vendor = await playVercel('key')
  const kept: { memory: HostRecord } = { memory: {} }
  const again = (more: Partial<VercelOptions> = {}) =>
    vendorBackend('vercel', {
      key: 'key',
      team: 'team',
      project: 'project',
      api: vendor.url,
      root: vendor.root,
      state: vendor.state,
      temporary: vendor.temporary,
      memory: { read: () => kept.memory, write: (memory) => (kept.memory = memory) },
      ...more,
    })
  return { backend: again(), vendor, again }
}

async function renting(work: (rented: Rented) => Promise<void>) {
  const rented = await rent()
  await work(rented).finally(rented.vendor.stop)
}

const onOneSandbox = onOne(async () => {
  const { backend, vendor } = await rent()
  return { backend, close: vendor.stop }
})
conforms('vercel, played', onOneSandbox, vendorCases)

describe('a sandbox of Vercel', () => {
  it('is created once, found again by its name, and deleted', () =>
    renting(async ({ backend, vendor, again }) => {
      await Promise.all([backend.files.stat('a'), backend.files.stat('b')])
      await again().exec('true', T)
      expect([...vendor.known.keys()]).toEqual([expect.stringMatching(/^talaria-/)])
      await again().destroy()
      expect(vendor.known.size).toBe(0)
    }))

  it('continues in a new session when one has ended', () =>
    renting(async ({ backend, vendor, again }) => {
      await backend.exec('echo kept > a', T)
      const [name = ''] = vendor.known.keys()
      vendor.known.set(name, { id: 'ended', status: 'stopped' })
      // Who takes it for awake is told, and looks the next time.
      await expect(backend.exec('true', T)).rejects.toMatchObject({ code: 'unavailable' })
      expect((await backend.exec('cat a', T)).stdout).toBe('kept\n')
      expect((await again().exec('echo awake', T)).stdout).toBe('awake\n')
      expect(vendor.created).toHaveLength(1)
    }))

  it('is extended before a command', () =>
    renting(async ({ backend, vendor }) => {
      await backend.exec('true', T)
      expect(vendor.prolonged).toHaveLength(1)
      expect(vendor.prolonged[0]).toBeGreaterThan(9 * 60_000)
    }))

  it('has no network when it is turned off', () =>
    renting(async ({ again, vendor }) => {
      const closed = again({ network: 'none' })
      await closed.exec('true', T)
      expect(vendor.created).toMatchObject([{ networkPolicy: { mode: 'deny-all' }, projectId: 'project' }])
      expect(closed.capabilities.network).toBe('none')
    }))

  it('needs the right key', () =>
    renting(async ({ again }) => {
      await expect(again({ key: 'other' }).exec('true', T)).rejects.toMatchObject({
        code: 'unavailable',
        hint: expect.stringContaining('VERCEL_TOKEN'),
      })
    }))
})

describe('the lines of a command', () => {
  const line = (value: object) => `${JSON.stringify(value)}\n`

  it('have no exit code when they are incomplete', async () => {
    const begun = line({ command: { exitCode: null } }) + line({ stream: 'stdout', data: 'so far' })
    expect(await readCommandLog(new Response(begun))).toEqual({ code: null, output: 'so far' })
  })

  it.each([
    ['are cut in the middle', '{"stream":"std'],
    ['say that they broke off', line({ stream: 'error', data: { code: 'sandbox_stopped', message: 'Stopped.' } })],
  ])('leave the outcome unknown when they %s', async (_, text) => {
    await expect(readCommandLog(new Response(text))).rejects.toMatchObject({
      message: expect.stringContaining('unknown whether the command ran'),
    })
  })
})
