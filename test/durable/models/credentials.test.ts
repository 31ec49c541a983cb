/** Tests the cache of tenants' keys in an isolate, and the addresses to which keys may be sent. */

import { describe, expect, it } from 'vitest'
import {
  type Credential,
  keySource,
  cachedKeys,
  openKeys,
  credentialOwner,
  sealedKeys,
  getKeyStatus,
  withCredential,
  withoutCredential,
} from '#durable/models/credentials.ts'
import { seal } from '#durable/platform/seal.ts'
import { forgetSnapshot, fetchTenantSnapshot } from '#durable/tenant/tenant-snapshot.ts'
import { Gate } from '../../support/scripted-model.ts'
import { bindings } from '../../worker/client.ts'

const none = { revision: 0, list: [] }
const stored = async (tenant: string, id: string, secret: string, provider = 'openai'): Promise<Credential> => ({
  id,
  provider,
  name: null,
  lastFour: '',
  createdAt: 0,
  sealed: await seal(bindings, secret, credentialOwner(tenant, { id, provider })),
  mark: secret,
})

describe('the keys of a tenant', () => {
  it('are opened in order and by provider', async () => {
    const list = [await stored('a', 'c1', 'one'), await stored('a', 'c2', 'two'), await stored('a', 'c3', 'x', 'xai')]
    const keys = await openKeys(bindings, { id: 'a', credentials: { revision: 3, list } })
    expect([...keys.byProvider]).toEqual([
      [
        'openai',
        [
          { id: 'c1', key: 'one' },
          { id: 'c2', key: 'two' },
        ],
      ],
      ['xai', [{ id: 'c3', key: 'x' }]],
    ])
  })

  it('do not return with a late snapshot after their deletion', async () => {
    const both = { revision: 2, list: [await stored('late', 'c1', 'one'), await stored('late', 'c2', 'two')] }
    await openKeys(bindings, { id: 'late', credentials: sealedKeys(both) })
    const left = await openKeys(bindings, { id: 'late', credentials: sealedKeys(withoutCredential(both, 'c1')) })
    expect(left.byProvider.get('openai')).toEqual([{ id: 'c2', key: 'two' }])
    expect(await openKeys(bindings, { id: 'late', credentials: sealedKeys(both) })).toBe(left)
    const nothing = await openKeys(bindings, { id: 'late', credentials: { revision: 4, list: [] } })
    expect([nothing.byProvider.size, cachedKeys('late').byProvider.size]).toEqual([0, 0])
  })

  it('are gone when the tenant was deleted and created again', async () => {
    const before = { revision: 2, list: [await stored('again', 'c1', 'one')] }
    await openKeys(bindings, { id: 'again', credentials: before })
    await openKeys(bindings, { id: 'again' })
    expect(cachedKeys('again').byProvider.size).toBe(0)
    const after = { revision: 1, list: [await stored('again', 'c1', 'two')] }
    const keys = await openKeys(bindings, { id: 'again', credentials: after })
    expect(keys.byProvider.get('openai')).toEqual([{ id: 'c1', key: 'two' }])
  })

  it.each([0, 5_001, 12_000])(
    'are loaded again when they change during a load, with %i other tenants',
    async (others) => {
      const id = `changing ${others}`
      const gate = new Gate()
      const answers = [{ model: { default: 'a/old' } }, { model: { default: 'a/new' } }]
      const snapshot = async () => {
        const settings = answers.shift()
        if (answers.length) await gate.waitUntilOpen()
        return { id, settings, limits: {}, keys: {}, windows: {} }
      }
      const env = { ...bindings, TENANT: { getByName: () => ({ snapshot }) } } as unknown as Env
      const early = fetchTenantSnapshot(env, id)
      forgetSnapshot(id)
      // So many that the map of changes is cleared.
      for (let n = 0; n < others; n++) forgetSnapshot(`other ${n}`)
      gate.open()
      expect((await early).settings).toEqual({ model: { default: 'a/old' } })
      const now = async () => (await fetchTenantSnapshot(env, id)).settings
      expect([await now(), await now()]).toEqual([{ model: { default: 'a/new' } }, { model: { default: 'a/new' } }])
    },
  )

  it('are those of the latest revision, whichever load ends first', async () => {
    const list = await Promise.all(['1', '2', '3', '4'].map((id) => stored('race', id, `key ${id}`)))
    const asked = [4, 1, 3, 2].map((n) =>
      openKeys(bindings, { id: 'race', credentials: { revision: n, list: list.slice(0, n) } }),
    )
    await Promise.all(asked)
    expect(cachedKeys('race').byProvider.get('openai')).toHaveLength(4)
  })

  it('are left out when they cannot be opened', async () => {
    const list = [await stored('other', 'c1', 'one'), await stored('shut', 'c2', 'two')]
    const keys = await openKeys(bindings, { id: 'shut', credentials: { revision: 1, list } })
    expect(keys.byProvider.get('openai')).toEqual([{ id: 'c2', key: 'two' }])
  })
})

describe('a change of the credentials', () => {
  it('raises the revision, unless nothing changes', async () => {
    const one = await stored('a', 'c1', 'one')
    const { stored: list } = withCredential(none, one)
    expect(list).toEqual({ revision: 1, list: [one] })
    expect(withCredential(list!, { ...one, id: 'c2' })).toEqual({ result: 'known' })
    expect(withCredential(list!, { ...one, id: 'c2', provider: 'xai' })).toMatchObject({ result: 'added' })
    expect(withoutCredential(list!, 'c2')).toBe(undefined)
    expect(withoutCredential(list!, 'c1')).toEqual({ revision: 2, list: [] })
  })
})

describe('a key for a custom provider', () => {
  const own = [{ id: 'c1', key: 'own' }]
  const keys = {
    revision: 1,
    byProvider: new Map([
      ['custom:mine', own],
      ['openai', own],
    ] as const),
  }
  const settings = { providers: { 'custom:mine': { base_url: 'https://llm.example.com/v1/' } } }

  it.each([
    ['custom:mine', 'https://llm.example.com/v1', own],
    ['custom:mine', 'https://llm.example.com/v1/', own],
    ['custom:mine', 'https://llm.example.com/v2', []],
    ['custom:mine', 'https://llm.example.com.evil.example/v1', []],
    ['custom:other', 'https://llm.example.com/v1', []],
    ['openai', 'https://anywhere.example.com', own],
  ])('%s at %s', (provider, address, expected) => {
    expect(keySource(keys, settings)(provider, address)).toEqual(expected)
  })

  it("is not used while the tenant's settings name no address", () => {
    expect(keySource(keys, {})('custom:mine', '')).toEqual([])
    expect(keySource(keys, {})('custom:mine', 'https://llm.example.com/v1')).toEqual([])
  })
})

describe('the status of a key', () => {
  it.each([
    [undefined, 'usable', null, null],
    [{ until: 5, dead: false }, 'usable', null, null],
    [{ until: 50, dead: false, why: 'quota' }, 'resting', 50, 'Its quota is used up.'],
    [{ until: 50, dead: false }, 'resting', 50, 'The provider refused it.'],
    [{ until: 0, dead: true, why: 'key-dead' }, 'dead', null, 'The provider says that it is not valid any more.'],
  ] as const)('%j is %s', (health, status, until, reason) => {
    expect(getKeyStatus(health, 10)).toEqual({ status, until, reason })
  })
})
