/** Tests the data keys of tenants: created once, wrapped again with a new key of the deployment, and rotated. */

import { expect, it } from 'vitest'
import { unseal } from '#durable/platform/seal.ts'
import { rotateDataKey, sealForTenant } from '#durable/tenant/secrets/tenant-seal.ts'
import { tenantStub } from '#durable/platform/addresses.ts'
import { ownerAuthority } from '#test/support/authority.ts'
import { bindings } from '#test/worker/client.ts'

const newKey = btoa(String.fromCharCode(...new Uint8Array(32).fill(3)))
const owner = (tenant: string) => ({ tenant, kind: 'test', id: 'one' })
const versionOf = (sealed: string) => sealed.split('.').slice(0, 2).join('.')

it('a tenant gets one data key, also for concurrent requests', async () => {
  const sealed = await Promise.all(['a', 'b', 'c'].map((text) => sealForTenant(bindings, text, owner('keys-once'))))
  expect(new Set(sealed.map((text) => text.split('.').slice(0, 3).join('.'))).size).toBe(1)
})

it('a rotated data key seals new values, and the old ones still open', async () => {
  const before = await sealForTenant(bindings, 'before', owner('keys-rotated'))
  await rotateDataKey(bindings, 'keys-rotated')
  const after = await sealForTenant(bindings, 'after', owner('keys-rotated'))
  expect([versionOf(before), versionOf(after)]).toEqual(['v2.1', 'v2.2'])
  expect(await unseal(bindings, before, owner('keys-rotated'))).toEqual({ kind: 'opened', secret: 'before' })
  expect(await unseal(bindings, after, owner('keys-rotated'))).toEqual({ kind: 'opened', secret: 'after' })
})

it('the data key is wrapped again when it is used after ENCRYPTION_KEY has changed', async () => {
  const before = await sealForTenant(bindings, 'before', owner('keys-wrapped'))
  const changed = { ...bindings, ENCRYPTION_KEY: newKey, ENCRYPTION_KEY_PREVIOUS: bindings.ENCRYPTION_KEY ?? '' }
  const after = await sealForTenant(changed, 'after', owner('keys-wrapped'))
  expect(await unseal(changed, before, owner('keys-wrapped'))).toEqual({ kind: 'opened', secret: 'before' })
  expect(await unseal({ ENCRYPTION_KEY: newKey }, after, owner('keys-wrapped'))).toMatchObject({ secret: 'after' })
  expect((await tenantStub(bindings, 'keys-wrapped').dataKeys.get(ownerAuthority()))?.version).toBe(1)
})

it('a value cannot be opened for another tenant', async () => {
  const sealed = await sealForTenant(bindings, 'mine', owner('keys-mine'))
  expect(await unseal(bindings, sealed, owner('keys-yours'))).toMatchObject({ kind: 'unreadable' })
})
