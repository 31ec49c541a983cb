/** Tests that every method of a tenant's object that changes something for a caller asks for its tenant and scope. */

import { describe, expect, it } from 'vitest'
import type { Authority, Scope } from '../../../src/agent/model/authority.ts'
import { scopes } from '../../../src/agent/model/authority.ts'
import { ownerAuthority } from '../../support/authority.ts'
import { bindings } from '../../worker/client.ts'

let names = 0
const credential = {
  id: 'cred_1',
  provider: 'openai',
  name: null,
  lastFour: '',
  createdAt: 1,
  sealed: 'sealed',
  mark: 'mark',
}
const secret = { name: 'TOKEN', lastFour: '', createdAt: 1, sealed: 'sealed' }

type Stub = ReturnType<typeof bindings.TENANT.getByName>
type Change = {
  /** One of them is enough. */
  readonly scopes: readonly Scope[]
  readonly make: (tenant: Stub, authority: Authority) => Promise<unknown>
  readonly refusal: unknown
  /** What was changed, as it is read back. */
  readonly read: (tenant: Stub) => Promise<unknown>
}

const changes: readonly [string, Change][] = [
  [
    'settings.patch',
    {
      scopes: ['write', 'approve'],
      make: (tenant, authority) => tenant.settings.patch(authority, { timezone: 'Europe/Berlin' }),
      refusal: { kind: 'foreign' },
      read: (tenant) => tenant.settings.get(),
    },
  ],
  [
    'credentials.add',
    {
      scopes: ['write'],
      make: (tenant, authority) => tenant.credentials.add(authority, credential),
      refusal: 'foreign',
      read: async (tenant) => (await tenant.credentials.list()).list,
    },
  ],
  [
    'secrets.put',
    {
      scopes: ['approve'],
      make: (tenant, authority) => tenant.secrets.put(authority, secret),
      refusal: 'foreign',
      read: (tenant) => tenant.secrets.list(),
    },
  ],
  [
    'limits.set',
    {
      scopes: ['admin'],
      make: (tenant, authority) => tenant.limits.set(authority, { jobs: 3 }),
      refusal: false,
      read: (tenant) => tenant.limits.get(),
    },
  ],
  [
    'access.setStatus',
    {
      scopes: ['admin'],
      make: (tenant, authority) => tenant.access.setStatus(authority, 'suspended'),
      refusal: false,
      read: (tenant) => tenant.access.get(),
    },
  ],
  [
    'access.revokeKey',
    {
      scopes: ['admin'],
      make: (tenant, authority) => tenant.access.revokeKey(authority, 'key_1'),
      refusal: false,
      read: (tenant) => tenant.access.get(),
    },
  ],
]

describe.each(changes)('%s', (_name, { scopes: needed, make, refusal, read }) => {
  const isOperators = needed.includes('admin')

  it('changes nothing for another tenant, or without the scope', async () => {
    const id = `guarded-${++names}`
    const tenant = bindings.TENANT.getByName(`t/${id}`)
    const before = await read(tenant)
    const weak = scopes.filter((scope) => !needed.includes(scope))
    const callers: readonly Authority[] = [
      ownerAuthority('another'),
      { ...ownerAuthority(id), scopes: weak },
      { ...ownerAuthority(), scopes: weak },
      // A key of a tenant that has the scope of the operator by mistake is not the operator.
      ...(isOperators ? [ownerAuthority(id)] : [ownerAuthority()]),
    ]
    for (const authority of callers) expect(await make(tenant, authority)).toEqual(refusal)
    expect(await read(tenant)).toEqual(before)
  })

  it('changes it for who may', async () => {
    for (const scope of needed) {
      const id = `guarded-${++names}`
      const tenant = bindings.TENANT.getByName(`t/${id}`)
      const before = await read(tenant)
      const answer = await make(tenant, { ...ownerAuthority(isOperators ? 'default' : id), scopes: [scope] })
      expect(answer).not.toEqual(refusal)
      expect(await read(tenant)).not.toEqual(before)
    }
  })
})

describe('a removal', () => {
  it('of a credential or secret is refused as for an unknown one', async () => {
    const id = `guarded-${++names}`
    const tenant = bindings.TENANT.getByName(`t/${id}`)
    const own = ownerAuthority(id)
    await tenant.credentials.add(own, credential)
    await tenant.secrets.put(own, secret)
    for (const authority of [ownerAuthority('another'), { ...own, scopes: ['chat', 'read'] as const }]) {
      expect(await tenant.credentials.remove(authority, credential.id)).toBe(false)
      expect(await tenant.secrets.remove(authority, secret.name)).toBe(false)
    }
    expect(await tenant.credentials.remove(own, credential.id)).toBe(true)
    expect(await tenant.secrets.remove(own, secret.name)).toBe(true)
  })

  it('or an approval of a person counts for the own tenant only', async () => {
    const id = `guarded-${++names}`
    const tenant = bindings.TENANT.getByName(`t/${id}`)
    const own = ownerAuthority(id)
    const found = await tenant.pairing.check({ platform: 'telegram', person: '7', name: 'Ann' }, true)
    const code = found.kind === 'code' ? found.code : ''
    for (const authority of [ownerAuthority('another'), { ...own, scopes: ['chat', 'read'] as const }]) {
      expect(await tenant.pairing.approve(authority, 'telegram', code)).toEqual({ kind: 'wrong' })
      expect(await tenant.pairing.remove(authority, 'telegram', '7')).toBe(false)
    }
    expect(await tenant.pairing.approve(own, 'telegram', code)).toMatchObject({ kind: 'approved', person: '7' })
    expect(await tenant.pairing.remove(own, 'telegram', '7')).toBe(true)
  })
})
