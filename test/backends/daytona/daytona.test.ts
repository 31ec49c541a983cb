import { vendorBackend } from '#backends/host/vendor-backend.ts'
import { describe, expect, it } from 'vitest'
import type { HostRecord } from '#backends/host/host-port.ts'
import type { PortableBackend } from '#backends/portable-backend.ts'
import { conforms, onOne } from '../conformance.ts'
import { playDaytona, type Vendor, vendorCases } from '../host/vendors.mjs'

const T = { timeoutMs: 10_000 }

type Rented = {
  readonly backend: PortableBackend
  readonly vendor: Vendor
  readonly again: (key?: string) => PortableBackend
}

async function rent(): Promise<Rented> {
  const vendor = await playDaytona('key')
  const kept: { memory: HostRecord } = { memory: {} }
  const again = (key = 'key') =>
    vendorBackend('daytona', {
      key,
      api: `${vendor.url}/api/x`,
      toolbox: `${vendor.url}/toolbox`,
      root: vendor.root,
      state: vendor.state,
      temporary: vendor.temporary,
      memory: { read: () => kept.memory, write: (memory) => (kept.memory = memory) },
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
conforms('daytona, played', onOneSandbox, vendorCases)

describe('a sandbox of Daytona', () => {
  it('is created once, found again, and deleted', () =>
    renting(async ({ backend, vendor, again }) => {
      await Promise.all([backend.files.stat('a'), backend.files.stat('b')])
      await again().exec('true', T)
      expect([...vendor.known.keys()]).toEqual(['box-1'])
      await again().destroy()
      expect(vendor.known.size).toBe(0)
    }))

  it('is woken when it sleeps and replaced when it is gone', () =>
    renting(async ({ backend, vendor, again }) => {
      await backend.exec('true', T)
      vendor.known.set('box-1', 'stopped')
      expect((await again().exec('echo awake', T)).stdout).toBe('awake\n')
      vendor.known.delete('box-1')
      expect((await again().exec('echo new', T)).stdout).toBe('new\n')
      expect([...vendor.known.keys()]).toEqual(['box-2'])
    }))

  it('needs the right key', () =>
    renting(async ({ again }) => {
      const wrong = again('other').exec('true', T)
      await expect(wrong).rejects.toMatchObject({
        code: 'unavailable',
        hint: expect.stringContaining('DAYTONA_API_KEY'),
      })
    }))
})
