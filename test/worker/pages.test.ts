/** Tests the pages of lists: each item comes once, whatever is added or removed in between. */

import { beforeAll, describe, expect, it } from 'vitest'
import * as fc from 'fast-check'
import { pageByKey, pageByPosition } from '#worker/input/page.ts'
import { type Answer, applyMigrations, call, type ErrorBody, newKey, newSession, newTenant, request } from './client.ts'

beforeAll(applyMigrations)

type List = { readonly data: readonly { readonly id?: string; readonly name?: string }[]; next_cursor: string | null }
type Item = { readonly id: string; readonly at: number }

const keyOf = ({ at, id }: Item) => [at, id] as const

type Following = {
  readonly key?: string
  /** Runs after each page. */
  readonly between?: () => Promise<void>
  /** Ends before the last page. */
  readonly isEnough?: (found: List['data']) => boolean
}

/** Follows the cursors of a list. */
async function follow(path: string, { key, between, isEnough }: Following = {}): Promise<List['data']> {
  const found: List['data'][number][] = []
  let cursor: string | null = ''
  while (cursor !== null) {
    const query: string = cursor && `&cursor=${encodeURIComponent(cursor)}`
    const { status, body }: Answer<List> = await call<List>(
      'GET',
      `${path}limit=2${query}`,
      key === undefined ? {} : { key },
    )
    expect(status).toBe(200)
    expect(body.data.length).toBeLessThanOrEqual(2)
    found.push(...body.data)
    cursor = isEnough?.(found) ? null : body.next_cursor
    await between?.()
  }
  return found
}

describe('pages by key', () => {
  it('hold each item that was there all the time exactly once', () => {
    const items = fc.uniqueArray(fc.record({ id: fc.string(), at: fc.nat(5) }), { selector: ({ id }) => id })
    fc.assert(
      fc.property(items, items, fc.integer({ min: 1, max: 4 }), (stays, comes, limit) => {
        const [others, seen] = [comes.filter(({ id }) => stays.every((one) => one.id !== id)), new Array<Item>()]
        for (let cursor: string | null | undefined, n = 0; cursor !== null; n++) {
          const list = n % 2 ? stays : [...stays, ...others]
          const page = pageByKey(list, { limit, cursor }, keyOf)
          seen.push(...page.data)
          cursor = page.next_cursor
        }
        const ids = seen.map(({ id }) => id).filter((id) => stays.some((one) => one.id === id))
        expect(ids.toSorted()).toEqual(stays.map(({ id }) => id).toSorted())
      }),
    )
  })

  it('refuse a cursor that this API did not issue', () => {
    for (const cursor of ['x', btoa('[1]'), btoa('[1,2]'), btoa('null'), '%', 'é'])
      expect(() => pageByKey([], { limit: 1, cursor }, keyOf)).toThrow('next_cursor')
    expect(() => pageByPosition([], { limit: 1, cursor: btoa('-1') })).toThrow('next_cursor')
  })
})

describe('lists of the API', () => {
  it('page through keys, also when one is added in between', async () => {
    const { id } = await newTenant()
    for (const name of ['a', 'b', 'c', 'd']) await newKey(id, ['read'], { name })
    const between = async () => void (await newKey(id, ['read']))
    const found = await follow(`/api/admin/keys?tenant_id=${id}&`, { between })
    expect(found.flatMap(({ name }) => name ?? []).toSorted()).toEqual(['a', 'b', 'c', 'd'])
  })

  it('page through tenants and credentials', async () => {
    const { key } = await newTenant()
    for (const secret of ['one', 'two', 'three'])
      await call('POST', '/api/credentials', { key, body: { provider: 'openai', key: secret, name: secret } })
    expect((await follow('/api/credentials?', { key })).map(({ name }) => name)).toEqual(['three', 'two', 'one'])
    // Newest first, and other files of this isolate have made hundreds.
    const own = [await newTenant(), await newTenant(), await newTenant()].map(({ id }) => id)
    const isEnough = (found: List['data']) => own.every((id) => found.some((one) => one.id === id))
    const tenants = (await follow('/api/admin/tenants?', { isEnough })).map(({ id }) => id)
    expect(tenants).toEqual(expect.arrayContaining(own))
    expect(new Set(tenants).size).toBe(tenants.length)
  })

  it('page through the files of a directory', async () => {
    const { id } = await newSession()
    for (const name of ['a', 'b', 'c']) await request('PUT', `/api/sessions/${id}/files/d/${name}`, { body: name })
    expect((await follow(`/api/sessions/${id}/files/d?`)).map(({ name }) => name)).toEqual(['a', 'b', 'c'])
  })

  it.each([
    'approvals',
    'questions',
    'pairing',
    'credentials',
    'secrets',
    'vault',
    'browser/profiles',
    'settings/models',
    'search?q=x',
    'sessions',
    'audit',
  ])('refuse a foreign cursor: /api/%s', async (path) => {
    const { status, body } = await call<ErrorBody>('GET', `/api/${path}${path.includes('?') ? '&' : '?'}cursor=!`)
    expect([status, body.error.param]).toEqual([400, 'cursor'])
  })
})
