/**
 * Tests that every method of a tenant's object takes an authority and refuses that of another tenant, and that each that
 * changes something for a caller asks for its scope.
 */

import { runInDurableObject } from 'cloudflare:test'
import { RpcTarget } from 'cloudflare:workers'
import { describe, expect, it } from 'vitest'
import type { Authority, Scope } from '#agent/core/permission/authority.ts'
import { scopes } from '#agent/core/permission/authority.ts'
import { authorityHeader, encodeAuthority } from '#durable/platform/authority-header.ts'
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

const skillFile = (text: string) => ({
  path: 'SKILL.md',
  bytes: new TextEncoder().encode(`---\nname: guarded\ndescription: ${text}\n---\n\n${text}\n`),
})
const skillWrite = (text: string) =>
  ({ files: [skillFile(text)], source: 'user', mode: 'either', isCautionAccepted: false }) as const
const readSkills = async (tenant: Stub) => {
  const id = (await tenant.snapshot()).id
  return (await tenant.skills.list(ownerAuthority(id))).filter(({ source }) => source !== 'bundled')
}

type Call = (...args: readonly unknown[]) => unknown
type Stub = ReturnType<typeof bindings.TENANT.getByName>
type Change = {
  /** One of them is enough. */
  readonly scopes: readonly Scope[]
  /** Makes what is changed. */
  readonly prepare?: (tenant: Stub, own: Authority) => Promise<unknown>
  readonly make: (tenant: Stub, authority: Authority) => Promise<unknown>
  readonly refusal: unknown
  /** The changed value, as it is read back. */
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
      read: async (tenant) => (await tenant.credentials.list(ownerAuthority())).list,
    },
  ],
  [
    'secrets.put',
    {
      scopes: ['approve'],
      make: (tenant, authority) => tenant.secrets.put(authority, secret),
      refusal: 'foreign',
      read: (tenant) => tenant.secrets.list(ownerAuthority()),
    },
  ],
  [
    'skills.write',
    {
      scopes: ['write'],
      make: (tenant, authority) => tenant.skills.write(authority, skillWrite('first')),
      refusal: { kind: 'foreign' },
      read: readSkills,
    },
  ],
  [
    'skills.writeFile',
    {
      scopes: ['write'],
      prepare: (tenant, own) => tenant.skills.write(own, skillWrite('first')),
      make: (tenant, authority) =>
        tenant.skills.writeFile(authority, 'guarded', { ...skillFile('second'), isCautionAccepted: false }),
      refusal: { kind: 'foreign' },
      read: readSkills,
    },
  ],
  [
    'skills.mark',
    {
      scopes: ['write'],
      prepare: (tenant, own) => tenant.skills.write(own, skillWrite('first')),
      make: (tenant, authority) => tenant.skills.mark(authority, 'guarded', { isPinned: true }),
      refusal: undefined,
      read: readSkills,
    },
  ],
  [
    'skills.remove',
    {
      scopes: ['write'],
      prepare: (tenant, own) => tenant.skills.write(own, skillWrite('first')),
      make: (tenant, authority) => tenant.skills.remove(authority, 'guarded'),
      refusal: false,
      read: readSkills,
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
    'credentials.reseal',
    {
      scopes: ['admin'],
      prepare: (tenant, own) => tenant.credentials.add(own, credential),
      make: (tenant, authority) =>
        tenant.credentials.reseal(authority, { id: 'cred_1', before: 'sealed', sealed: 'again', mark: 'mark' }),
      refusal: false,
      read: async (tenant) => (await tenant.credentials.list(ownerAuthority())).list,
    },
  ],
  [
    'secrets.reseal',
    {
      scopes: ['admin'],
      prepare: (tenant, own) => tenant.secrets.put(own, secret),
      make: (tenant, authority) =>
        tenant.secrets.reseal(authority, { name: 'TOKEN', before: 'sealed', sealed: 'again' }),
      refusal: false,
      read: (tenant) => tenant.secrets.list(ownerAuthority()),
    },
  ],
  [
    'settings.resealHeader',
    {
      scopes: ['admin'],
      prepare: (tenant, own) =>
        tenant.settings.patch(own, {
          providers: { 'custom:a': { base_url: 'https://a.example.com', headers: { 'x-a': 'one' } } },
        }),
      make: (tenant, authority) =>
        tenant.settings.resealHeader(authority, { provider: 'custom:a', header: 'x-a', before: 'one', after: 'two' }),
      refusal: false,
      read: (tenant) => tenant.settings.get(),
    },
  ],
]

describe.each(changes)('%s', (_name, { scopes: needed, prepare, make, refusal, read }) => {
  const isOperators = needed.includes('admin')

  it('changes nothing for another tenant, or without the scope', async () => {
    const id = `guarded-${++names}`
    const tenant = bindings.TENANT.getByName(`t/${id}`)
    await prepare?.(tenant, ownerAuthority(id))
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
      await prepare?.(tenant, ownerAuthority(id))
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
    const found = await tenant.pairing.check(ownerAuthority(), { platform: 'telegram', person: '7', name: 'Ann' }, true)
    const code = found.kind === 'code' ? found.code : ''
    for (const authority of [ownerAuthority('another'), { ...own, scopes: ['chat', 'read'] as const }]) {
      expect(await tenant.pairing.approve(authority, 'telegram', code)).toEqual({ kind: 'wrong' })
      expect(await tenant.pairing.remove(authority, 'telegram', '7')).toBe(false)
    }
    expect(await tenant.pairing.approve(own, 'telegram', code)).toMatchObject({ kind: 'approved', person: '7' })
    expect(await tenant.pairing.remove(own, 'telegram', '7')).toBe(true)
  })
})

it('a key is revoked by the operator, by a key of its tenant that may write, and by nobody else', async () => {
  const id = `guarded-${++names}`
  const { access } = bindings.TENANT.getByName(`t/${id}`)
  const weak = scopes.filter((scope) => scope !== 'write')
  for (const authority of [ownerAuthority('another'), { ...ownerAuthority(id), scopes: weak }])
    expect(await access.revokeKey(authority, 'key_1')).toBe(false)
  expect((await access.get()).revokedKeys).toEqual([])
  expect(await access.revokeKey({ ...ownerAuthority(id), scopes: ['write'] }, 'key_1')).toBe(true)
  expect(await access.revokeKey(ownerAuthority(), 'key_2')).toBe(true)
})

it('the events of a tenant are served to readers of it alone', async () => {
  const id = `guarded-${++names}`
  const tenant = bindings.TENANT.getByName(`t/${id}`)
  const statusFor = async (authority: Authority) => {
    const headers = { upgrade: 'websocket', [authorityHeader]: encodeAuthority(authority) }
    const { status, webSocket } = await tenant.fetch('https://object/', { headers })
    webSocket?.accept()
    webSocket?.close()
    return status
  }
  expect(await statusFor(ownerAuthority('another'))).toBe(404)
  expect(await statusFor({ ...ownerAuthority(id), scopes: ['chat'] })).toBe(404)
  expect(await statusFor(ownerAuthority(id))).toBe(101)
})

describe('every method', () => {
  /** They take no authority. */
  const exceptions: Readonly<Record<string, string>> = {
    'access.get': 'a part of the snapshot',
    'access.watchers': 'the object itself reads whom it has to tell',
    'credentials.sealed': 'a part of the snapshot',
    'keyHealth.list': 'a part of the snapshot',
    'limits.get': 'a part of the snapshot',
    'secrets.sealed': 'a part of the snapshot',
    'settings.get': 'a part of the snapshot',
    'windows.list': 'a part of the snapshot',
    // Webhooks and wake-ups have a tenant before they have an authority. The secrets in it are sealed.
    snapshot: 'is read by the id of the tenant',
    alarm: 'of the runtime',
    // The work that is due is done anyway.
    wake: 'of the alarm',
    wakeAt: 'of the alarm',
    fetch: 'the authority is in a header, as tested above',
    webSocketMessage: 'of the runtime',
    webSocketClose: 'of the runtime',
  }
  const namesOf = (target: object) => Object.getOwnPropertyNames(target).filter((name) => name !== 'constructor')
  const isMethod = (target: object, name: string) =>
    typeof Object.getOwnPropertyDescriptor(target, name)?.value === 'function'

  /** `part.method`, and the methods of the object itself; read from the classes, so that a new one is covered. */
  function listMethods(object: object): readonly string[] {
    const product = Object.getPrototypeOf(Object.getPrototypeOf(object)) as object
    const own = namesOf(product).filter((name) => isMethod(product, name) && name !== 'armAlarm')
    const parts = namesOf(product).flatMap((part) => {
      const target = (object as Record<string, unknown>)[part]
      if (!(target instanceof RpcTarget)) return []
      const type = Object.getPrototypeOf(target) as object
      return namesOf(type).flatMap((method) => (isMethod(type, method) ? [`${part}.${method}`] : []))
    })
    return [...own, ...parts]
  }
  const isException = (name: string) => name in exceptions || (name.split('.')[1] ?? '') in exceptions

  const dumpAll = (tenant: Stub) =>
    runInDurableObject(tenant, (_object, { storage: { sql } }) =>
      sql
        .exec<{ name: string }>("SELECT name FROM sqlite_master WHERE type = 'table' AND substr(name, 1, 1) <> '_'")
        .toArray()
        .map(
          ({ name }) => [name, name.startsWith('sqlite') ? [] : sql.exec(`SELECT * FROM ${name}`).toArray()] as const,
        )
        .filter(([, rows]) => rows.length),
    )
  /** Without the audit entries that wait for D1: they leave between two looks. */
  const dump = async (tenant: Stub) => (await dumpAll(tenant)).filter(([name]) => name !== 'audit_outbox')
  const waitingAudit = async (tenant: Stub) =>
    (await dumpAll(tenant)).find(([name]) => name === 'audit_outbox')?.[1] ?? []

  const refusals: readonly unknown[] = [undefined, false, 'foreign', { kind: 'foreign' }, { kind: 'wrong' }, 'thrown']

  it('refuses an authority of another tenant, and stores nothing', async () => {
    const id = `guarded-${++names}`
    const tenant = bindings.TENANT.getByName(`t/${id}`)
    await tenant.credentials.add(ownerAuthority(id), credential)
    await tenant.secrets.put(ownerAuthority(id), secret)
    const methods = await runInDurableObject(tenant, listMethods)
    expect(methods.length).toBeGreaterThan(50)
    const [before, audited] = [await dump(tenant), await waitingAudit(tenant)]
    for (const name of methods.filter((one) => !isException(one))) {
      const [first = '', second] = name.split('.')
      const object = tenant as unknown as Record<string, Call & Record<string, Call>>
      const call = async () => (second === undefined ? object[first] : object[first]?.[second])?.(...given)
      const given = [ownerAuthority('another'), {}, {}, { tokens: 1, usd: 1 }]
      const answer = await call().catch((error: unknown) =>
        String(error).includes('The call is not for this tenant.') ? 'thrown' : error,
      )
      expect(refusals, `${name} answers ${JSON.stringify(answer)}`).toContainEqual(answer)
    }
    expect(await dump(tenant)).toEqual(before)
    expect(audited).toEqual(expect.arrayContaining(await waitingAudit(tenant)))
  })

  it('without an authority is listed with a reason', async () => {
    const methods = await runInDurableObject(bindings.TENANT.getByName('t/default'), listMethods)
    const unused = Object.keys(exceptions).filter(
      (name) => !methods.some((one) => one === name || one.endsWith(`.${name}`)),
    )
    expect(unused).toEqual([])
  })
})
