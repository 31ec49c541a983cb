import { vendorBackend } from '#backends/host/vendor-backend.ts'
import { describe, expect, it } from 'vitest'
import { encodeEnvelope, decodeEnvelopes } from '#backends/e2b/envelopes.ts'
import type { HostRecord } from '#backends/host/host-port.ts'
import type { PortableBackend } from '#backends/portable-backend.ts'
import { conforms, onOne } from '../conformance.ts'
import { playE2b, type Vendor, vendorCases } from '../host/vendors.mjs'

const T = { timeoutMs: 10_000 }

type Rented = {
  readonly backend: PortableBackend
  readonly vendor: Vendor
  readonly again: (key?: string) => PortableBackend
}

async function rent(): Promise<Rented> {
  const vendor = await playE2b('key')
  const kept: { memory: HostRecord } = { memory: {} }
  const again = (key = 'key') =>
    vendorBackend('e2b', {
      key,
      api: `${vendor.url}/api/x`,
      envd: `${vendor.url}/envd/{id}`,
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
conforms('e2b, played', onOneSandbox, vendorCases)

describe('a sandbox of E2B', () => {
  it('is created once, found again, replaced when it is gone, and deleted', () =>
    renting(async ({ backend, vendor, again }) => {
      await backend.exec('true', T)
      await again().exec('true', T)
      expect([...vendor.known.keys()]).toEqual(['box1'])
      vendor.known.clear()
      expect((await again().exec('echo new', T)).stdout).toBe('new\n')
      await again().destroy()
      expect(vendor.known.size).toBe(0)
    }))

  it('needs the right key', () =>
    renting(async ({ again }) => {
      const wrong = again('other').exec('true', T)
      await expect(wrong).rejects.toMatchObject({ code: 'unavailable', hint: expect.stringContaining('E2B_API_KEY') })
    }))
})

describe('envelopes', () => {
  const streamOf = (bytes: Uint8Array, size: number) =>
    new ReadableStream<Uint8Array>({
      start(controller) {
        for (let from = 0; from < bytes.length; from += size) controller.enqueue(bytes.slice(from, from + size))
        controller.close()
      },
    })
  const all = async (stream: ReadableStream<Uint8Array>) => {
    const found = []
    for await (const each of decodeEnvelopes(stream)) found.push(each)
    return found
  }
  const last = encodeEnvelope({})
  last[0] = 2
  const whole = new Uint8Array([...encodeEnvelope({ a: 'ü' }), ...last])

  it.each([1, 3, 1000])('are decoded in chunks of %i', async (size) => {
    expect(await all(streamOf(whole, size))).toEqual([
      { isEnd: false, message: { a: 'ü' } },
      { isEnd: true, message: {} },
    ])
  })

  it('that are incomplete are an error', async () => {
    await expect(all(streamOf(whole.slice(0, -2), 100))).rejects.toThrow('broke off')
  })
})
