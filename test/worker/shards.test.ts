/** Tests the administration of databases of histories in a deployment without them, and lists that the database pages. */

import { beforeAll, describe, expect, it } from 'vitest'
import { describe as describeSize, maxDatabaseBytes } from '#db/shards/measure-databases.ts'
import { applyMigrations, call, type ErrorBody } from './client.ts'

beforeAll(applyMigrations)

type Listed = { readonly data: readonly { readonly id: string }[]; readonly next_cursor: string | null }

async function listAll(path: string): Promise<readonly string[]> {
  const ids: string[] = []
  for (let cursor = ''; ;) {
    const page = (await call<Listed>('GET', `${path}${path.includes('?') ? '&' : '?'}limit=2${cursor}`)).body
    ids.push(...page.data.map(({ id }) => id))
    if (page.next_cursor === null) return ids
    cursor = `&cursor=${page.next_cursor}`
  }
}

describe('databases of histories', () => {
  it('are DB alone, with its size and its tenants', async () => {
    const { body } = await call<{ data: readonly object[] }>('GET', '/api/admin/shards')
    expect(body.data).toEqual([
      {
        name: 'DB',
        bytes: expect.any(Number) as number,
        max_bytes: maxDatabaseBytes,
        tenants: expect.any(Number) as number,
      },
    ])
  })

  it('are named by what is missing when a tenant shall be moved', async () => {
    const move = (id: string) =>
      call<ErrorBody>('POST', `/api/admin/tenants/${id}/history`, { body: { database: 'HISTORY_1' } })
    const refused = await move('default')
    expect([refused.status, refused.body.error.message]).toEqual([501, 'The deployment has no HISTORY_1.'])
    expect((await move('nobody')).status).toBe(404)
    const invalid = await call('POST', '/api/admin/tenants/default/history', {
      body: { database: 'BLOBS; DROP TABLE' },
    })
    expect(invalid.status).toBe(400)
  })

  it('are shown by health, with what to do when they are nearly full', async () => {
    const { body } = await call<{ databases: Record<string, string> }>('GET', '/health/detailed')
    // It has what the files before have written.
    expect(body.databases).toEqual({ DB: expect.stringMatching(/^[0-9] % of 10 GB$/) })
    expect([describeSize(0), describeSize(4e6)]).toEqual(['0 % of 10 GB', '0 % of 10 GB'])
    expect(describeSize(6.9e9)).toBe('69 % of 10 GB')
    expect(describeSize(7e9)).toMatch(/^70 % of 10 GB: nearly full/)
  })
})

describe('lists of the operator', () => {
  it('have every tenant once, newest first', async () => {
    const made: string[] = []
    for (const id of ['page-a', 'page-b', 'page-c', 'page-d', 'page-e']) {
      await call('POST', '/api/admin/tenants', { body: { id, name: id } })
      made.unshift(id)
    }
    const ids = await listAll('/api/admin/tenants')
    expect(new Set(ids).size).toBe(ids.length)
    expect(ids.filter((id) => id.startsWith('page-')).toSorted()).toEqual(made.toSorted())
  })

  it('have every key of a tenant that is not revoked', async () => {
    await call('POST', '/api/admin/tenants', { body: { id: 'keyed', name: 'keyed' } })
    const keys: string[] = []
    for (let n = 0; n < 5; n++) {
      const made = await call<{ id: string }>('POST', '/api/admin/keys', {
        body: { tenant_id: 'keyed', scopes: ['read'] },
      })
      keys.push(made.body.id)
    }
    await call('DELETE', `/api/admin/keys/${keys[2] ?? ''}`)
    const left = keys.filter((_, n) => n !== 2)
    expect((await listAll('/api/admin/keys?tenant_id=keyed')).toSorted()).toEqual(left.toSorted())
  })
})
