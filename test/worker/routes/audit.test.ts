/** Tests that `/api/audit` has every change, with who made it, what changed and nothing secret. */

import { beforeAll, describe, expect, it } from 'vitest'
import { until } from '../../support/scripted-model.ts'
import { ownerAuthority } from '../../support/authority.ts'
import { applyMigrations, bindings, call, newKey, newTenant, request } from '../client.ts'

beforeAll(applyMigrations)

type Entry = {
  readonly at: string
  readonly kind: string
  readonly actor: string | null
  readonly subject: string
  readonly details?: Record<string, unknown>
  readonly changes: readonly unknown[]
}
type Page = { readonly data: readonly Entry[]; readonly next_cursor: string | null }

const list = async (key: string | undefined, query = '') =>
  (await call<Page>('GET', `/api/audit?${query}`, key === undefined ? {} : { key })).body.data

describe('changes by the operator', () => {
  it('are in the log of the tenant and in that of the operator', async () => {
    const { id, key } = await newTenant()
    const made = await call<{ id: string }>('POST', '/api/admin/keys', {
      body: { tenant_id: id, scopes: ['read'], name: 'laptop' },
    })
    await call('DELETE', `/api/admin/keys/${made.body.id}`)
    await call('DELETE', `/api/admin/keys/${made.body.id}`)
    await call('PATCH', `/api/admin/tenants/${id}`, { body: { limits: { usd_per_day: 3 }, name: 'Ada' } })
    await call('PATCH', `/api/admin/tenants/${id}`, { body: { name: 'Ada' } })
    const own = await list(key)
    expect(own.map(({ kind, actor }) => `${kind} ${actor}`)).toEqual([
      'tenant.changed key:admin',
      'key.revoked key:admin',
      'key.created key:admin',
      'key.created key:admin',
      'tenant.created key:admin',
    ])
    expect(own[0]).toMatchObject({
      subject: id,
      changes: [
        { field: 'name', before: id, after: 'Ada' },
        { field: 'limits.usd_per_day', before: null, after: 3 },
      ],
    })
    expect(own[1]).toMatchObject({ subject: made.body.id, details: { tenant: id, name: 'laptop' } })
    const operator = (await list(undefined, 'limit=50')).filter(({ details }) => details?.['tenant'] === id)
    expect(operator).toEqual(own)
  })

  it('that export or delete a tenant are in the log of the operator', async () => {
    const { id } = await newTenant()
    await (await request('GET', `/api/admin/tenants/${id}/export`)).text()
    await call('DELETE', `/api/admin/tenants/${id}`)
    await call('DELETE', `/api/admin/tenants/${id}`)
    const operator = (await list(undefined, 'limit=50')).filter(({ details }) => details?.['tenant'] === id)
    expect(operator.map(({ kind, actor }) => `${kind} ${actor}`).slice(0, 2)).toEqual([
      'tenant.deleted key:admin',
      'tenant.exported key:admin',
    ])
  })

  it('that did not take place are not in the log', async () => {
    const { id, key } = await newTenant()
    await call('POST', '/api/admin/tenants', { body: { id, name: 'taken' } })
    await call('DELETE', '/api/admin/keys/unknown')
    await call('PATCH', '/api/admin/tenants/unknown', { body: { name: 'x' } })
    expect((await list(key)).map(({ kind }) => kind)).toEqual(['key.created', 'tenant.created'])
  })

  it('fail when their entry cannot be written', async () => {
    const { id } = await newTenant()
    await bindings.DB.exec('ALTER TABLE audit RENAME TO audit_gone')
    try {
      const made = await call('POST', '/api/admin/keys', { body: { tenant_id: id, scopes: ['read'] } })
      expect(made.status).toBe(500)
    } finally {
      await bindings.DB.exec('ALTER TABLE audit_gone RENAME TO audit')
    }
    const keys = await call<{ data: readonly unknown[] }>('GET', `/api/admin/keys?tenant_id=${id}`)
    expect(keys.body.data.length).toBe(1)
  })
})

describe('changes of channels', () => {
  it('name the key, the changed fields, and no secret', async () => {
    const { id, key } = await newTenant()
    const writer = await newKey(id, ['write', 'read'])
    const secrets = { bot_token: `123456:${'A'.repeat(35)}`, webhook_secret: 's'.repeat(40) }
    const made = await call<{ id: string }>('POST', '/api/channels', {
      key: writer,
      body: { platform: 'telegram', name: 'Ours', secrets },
    })
    expect(made.status).toBe(201)
    const path = `/api/channels/${made.body.id}`
    await call('PATCH', path, { key: writer, body: { name: 'Theirs', secrets: { webhook_secret: 't'.repeat(40) } } })
    await call('POST', `${path}/pause`, { key: writer })
    await call('DELETE', path, { key: writer })
    const entries = await list(key, 'kind=channel')
    expect(entries.map(({ kind }) => kind)).toEqual([
      'channel.deleted',
      'channel.changed',
      'channel.changed',
      'channel.created',
    ])
    expect(new Set(entries.map(({ actor, subject }) => `${actor} ${subject}`)).size).toBe(1)
    expect(entries[0]?.actor).toMatch(/^key:[a-z2-7]{16}$/)
    expect(entries[1]?.changes).toEqual([{ field: 'status', before: 'active', after: 'paused' }])
    expect(entries[2]).toMatchObject({
      details: { secrets: true },
      changes: [{ field: 'name', before: 'Ours', after: 'Theirs' }],
    })
    expect(JSON.stringify(entries)).not.toMatch(/AAAA|ssss|tttt/)
  })
})

describe('changes in the tenant', () => {
  it('of credentials and people in chats, exports and deletions are in the log', async () => {
    const { id, key } = await newTenant()
    const secret = 'sk-proj-0123456789abcdefghijklmnop'
    const added = await call<{ id: string }>('POST', '/api/credentials', {
      key,
      body: { provider: 'openai', key: secret },
    })
    await call('DELETE', `/api/credentials/${added.body.id}`, { key })
    const { pairing } = bindings.TENANT.getByName(`t/${id}`)
    const issued = await pairing.check(ownerAuthority(), { platform: 'telegram', person: '7', name: 'Ada' }, true)
    const code = issued.kind === 'code' ? issued.code : ''
    await call('POST', '/api/pairing/approve', { key, body: { platform: 'telegram', code } })
    await call('DELETE', '/api/pairing/telegram:7', { key })
    const session = await call<{ id: string }>('POST', '/api/sessions', { key, body: {} })
    const path = `/api/sessions/${session.body.id}`
    await (await request('GET', `${path}/export?format=md`, { key })).text()
    await call('DELETE', path, { key })
    await call('DELETE', path, { key })
    await call('PATCH', '/api/settings', { key, body: { approvals: { mode: 'manual' }, timezone: 'Europe/Berlin' } })
    await call('PATCH', '/api/settings', { key, body: { approvals: { mode: 'manual' } } })
    const expected = [
      ['settings.changed', id],
      ['session.deleted', session.body.id],
      ['session.exported', session.body.id],
      ['pairing.removed', 'telegram:7'],
      ['pairing.approved', 'telegram:7'],
      ['credential.removed', added.body.id],
      ['credential.added', added.body.id],
      ['key.created', expect.any(String)],
      ['tenant.created', id],
    ]
    const entries = await until(async () => {
      const all = await list(key)
      return all.length >= expected.length ? all : undefined
    })
    expect(entries.map(({ kind, subject }) => [kind, subject])).toEqual(expected)
    expect(entries.slice(0, 7).every(({ actor }) => actor?.startsWith('key:') && actor !== 'key:admin')).toBe(true)
    expect(entries[0]?.changes).toEqual([
      { field: 'approvals', before: null, after: { mode: 'manual' } },
      { field: 'timezone', before: null, after: 'Europe/Berlin' },
    ])
    expect(JSON.stringify(entries)).not.toContain(secret)
    expect(JSON.stringify(entries)).not.toContain(code)
  })
})

describe('the list', () => {
  it('has pages and filters, and refuses others', async () => {
    const { key } = await newTenant()
    for (const [query, kinds] of [
      ['limit=1', ['key.created']],
      ['kind=tenant', ['tenant.created']],
      ['actor=key:admin&kind=key.created', ['key.created']],
      ['actor=key:other', []],
      ['from=2999-01-01T00:00:00Z', []],
      ['to=2999-01-01T00:00:00%2B02:00', ['key.created', 'tenant.created']],
    ] as const)
      expect(
        (await list(key, query)).map(({ kind }) => kind),
        query,
      ).toEqual(kinds)
    const first = await call<Page>('GET', '/api/audit?limit=1', { key })
    const second = await call<Page>('GET', `/api/audit?limit=1&cursor=${first.body.next_cursor}`, { key })
    expect([...first.body.data, ...second.body.data].map(({ kind }) => kind)).toEqual(['key.created', 'tenant.created'])
    for (const query of ['kind=nothing', 'from=yesterday', 'cursor=1', 'actor='])
      expect((await call('GET', `/api/audit?${query}`, { key })).status, query).toBe(400)
  })
})
