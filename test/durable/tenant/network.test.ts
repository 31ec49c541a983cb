/** Tests the ledger of a tenant's requests. */

import { runInDurableObject } from 'cloudflare:test'
import { expect, it } from 'vitest'
import type { HostUse } from '#durable/platform/guarded-fetch.ts'
import { tenantStub } from '#durable/platform/addresses.ts'
import { ownerAuthority } from '../../support/authority.ts'
import { bindings as env } from '../../worker/client.ts'
import { TenantNetwork } from '#durable/tenant/network.ts'
import { createTenantFetch } from '#durable/tenant/tenant-fetch.ts'

it('counts what a tenant sends', async () => {
  const network = tenantStub(env, 'ledger').network
  await network.record(ownerAuthority(), [
    { host: 'a.example.com', bytes: 10, isRefused: false },
    { host: 'a.example.com', bytes: 5, isRefused: false },
    { host: '10.0.0.1', bytes: 0, isRefused: true },
  ])
  expect(await network.list(ownerAuthority(), 10)).toMatchObject([
    { host: '10.0.0.1', requests: 0, refused: 1 },
    { host: 'a.example.com', requests: 2, bytes: 15, refused: 0 },
  ])
})

it('forgets the hosts that were not called for longest', async () => {
  const network = tenantStub(env, 'ledger-full').network
  const uses = Array.from({ length: 1_200 }, (_, i) => ({ host: `h${i}.example.com`, bytes: 1, isRefused: false }))
  await network.record(ownerAuthority(), uses)
  expect(await network.list(ownerAuthority(), 5_000)).toHaveLength(1_000)
})

it('reads the row of a host that it knows, however many there are', async () => {
  await runInDurableObject(tenantStub(env, 'ledger-many') as unknown as DurableObjectStub, (_object, { storage }) => {
    const read: number[] = []
    const sql = {
      exec: (query: string, ...bindings: SqlStorageValue[]) => {
        const cursor = storage.sql.exec(query, ...bindings)
        cursor.toArray()
        read.push(cursor.rowsRead)
        return cursor
      },
    } as unknown as SqlStorage
    const network = new TenantNetwork(() => true, sql)
    const useOf = (i: number) => ({ host: `h${i}.example.com`, bytes: 1, isRefused: false })
    const hosts = Array.from({ length: 1_000 }, (_, i) => useOf(i))
    network.record(ownerAuthority(), hosts)
    read.length = 0
    network.record(ownerAuthority(), [useOf(7), useOf(8)])
    expect(read.reduce((sum, rows) => sum + rows, 0)).toBeLessThan(10)
    network.record(
      ownerAuthority(),
      Array.from({ length: 1_200 }, (_, i) => useOf(2_000 + i)),
    )
    // Some of these were forgotten at once.
    for (let i = 0; i < 1_200; i += 50) network.record(ownerAuthority(), [useOf(2_000 + i)])
    expect(storage.sql.exec('SELECT count(*) AS n FROM network').one()).toEqual({ n: 1_000 })
  })
})

it('is sent in the background', async () => {
  const work: Promise<unknown>[] = []
  const guardedFetch = createTenantFetch(env, 'ledger-fetch', (sending) => work.push(sending))
  for (let i = 0; i < 3; i++) await expect(guardedFetch({ url: 'http://127.0.0.1/' })).rejects.toThrow('loopback')
  await Promise.all(work)
  expect(await tenantStub(env, 'ledger-fetch').network.list(ownerAuthority(), 10)).toMatchObject([
    { host: '127.0.0.1', refused: 3 },
  ])
})

it('is sent by each request for itself: one that ends early holds up no other', async () => {
  const sent: (readonly HostUse[])[] = []
  const record = (_authority: unknown, uses: readonly HostUse[]) => {
    sent.push(uses)
    return sent.length === 1 ? new Promise(() => undefined) : Promise.resolve()
  }
  const TENANT = { getByName: () => ({ network: { record } }) } as unknown as Env['TENANT']
  const work: Promise<unknown>[] = []
  const guardedFetch = createTenantFetch({ ...env, TENANT }, 'ledger-hangs', (sending) => work.push(sending))
  for (let i = 0; i < 3; i++) await expect(guardedFetch({ url: 'http://127.0.0.1/' })).rejects.toThrow('loopback')
  await work[2]
  expect(sent.flat()).toHaveLength(3)
})
