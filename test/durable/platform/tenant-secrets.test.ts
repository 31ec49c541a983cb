/** Tests that the secrets of a tenant open for it alone, in their latest revision, and stay masked afterwards. */

import { describe, expect, it } from 'vitest'
import { redactorFor } from '#durable/platform/redaction.ts'
import { seal } from '#durable/platform/seal.ts'
import { openSecrets, secretOwner } from '#durable/platform/tenant-secrets.ts'
import { bindings } from '../../worker/client.ts'

const sealed = async (tenant: string, name: string, value: string) => ({
  name,
  sealed: await seal(bindings, value, secretOwner(tenant, name)),
})

describe('opened secrets', () => {
  it('are those of the latest revision, whichever snapshot arrives last', async () => {
    const [old, young] = [
      await sealed('one', 'TOKEN', 'old-value-0001'),
      await sealed('one', 'TOKEN', 'new-value-0002'),
    ]
    const open = (revision: number, list: readonly (typeof old)[]) =>
      openSecrets(bindings, { id: 'one', secrets: { revision, list } })
    expect([...(await open(1, [old]))]).toEqual([['TOKEN', 'old-value-0001']])
    expect([...(await open(2, [young]))]).toEqual([['TOKEN', 'new-value-0002']])
    expect([...(await open(1, [old]))]).toEqual([['TOKEN', 'new-value-0002']])
    expect([...(await open(3, []))]).toEqual([])
    // A command that got an earlier value may still print it.
    expect(redactorFor(bindings, 'one').redact('old-value-0001 new-value-0002')).toBe('*** ***')
    expect(redactorFor(bindings, 'two').redact('old-value-0001')).toBe('old-value-0001')
  })

  it('of another tenant or under another name cannot be opened', async () => {
    const mine = await sealed('mine', 'TOKEN', 'some-value-0001')
    const list = [mine, { ...mine, name: 'OTHER' }]
    expect([...(await openSecrets(bindings, { id: 'mine', secrets: { revision: 1, list } }))]).toEqual([
      ['TOKEN', 'some-value-0001'],
    ])
    expect([...(await openSecrets(bindings, { id: 'yours', secrets: { revision: 1, list } }))]).toEqual([])
    expect([...(await openSecrets(bindings, { id: 'mine' }))]).toEqual([])
  })
})
