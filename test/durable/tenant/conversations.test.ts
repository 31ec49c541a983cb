/** Tests the continuations of conversations: their order, their number and their age. */

import { runInDurableObject } from 'cloudflare:test'
import { afterEach, expect, it } from 'vitest'
import { clock, replaceClock } from '#durable/platform/clock.ts'
import { bindings } from '../../worker/client.ts'
import { ownerAuthority } from '../../support/authority.ts'

afterEach(() => replaceClock())

const dayMs = 24 * 3_600_000
const continuation = (n: number) => ({ sessionId: `s${n}`, runId: `r${n}`, segment: 0 })
const authority = ownerAuthority()

it('finds the newest continuations of a hash, forgets old ones, and keeps what an expired session has left', async () => {
  const tenant = bindings.TENANT.getByName('t/default')
  const start = clock.now()
  for (let n = 0; n < 10; n++) {
    const now = start + n
    replaceClock({ ...clock, now: () => now })
    await tenant.conversations.record(authority, 'h', continuation(n))
    await tenant.conversations.record(authority, 'h', continuation(n))
  }
  const found = await tenant.conversations.find(authority, 'h')
  expect(found.map(({ sessionId }) => sessionId)).toEqual(['s9', 's8', 's7', 's6', 's5', 's4', 's3', 's2'])
  expect(await tenant.conversations.find(authority, 'other')).toEqual([])
  await tenant.conversations.retire(authority, continuation(9), { said: ['x'], state: 'y' })
  expect((await tenant.conversations.find(authority, 'h'))[0]).toMatchObject({ retired: { said: ['x'], state: 'y' } })
  replaceClock({ ...clock, now: () => start + 91 * dayMs })
  expect(await tenant.conversations.find(authority, 'h')).toEqual([])
})

it('answers only its own tenant', async () => {
  const foreign = { ...authority, tenantId: 'acme', scopes: [] }
  const refused = runInDurableObject(bindings.TENANT.getByName('t/default'), (object) => {
    expect(() => object.conversations.find(foreign, 'h')).toThrow('not for this tenant')
    expect(() => object.conversations.record(foreign, 'h', continuation(1))).toThrow('not for this tenant')
  })
  await refused
})
