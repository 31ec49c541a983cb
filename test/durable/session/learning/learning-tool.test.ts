/** Tests the tool `learning` and the routes beside it: what they keep, merge and offer, and who may. */

import { beforeAll, describe, expect, it } from 'vitest'
import { calls, listTexts, model, says } from '#test/support/scripted-model.ts'
import { fixesOf } from '#durable/tenant/fixes/fixes.ts'
import { withMarks } from '#agent/core/permission/authority.ts'
import { ownerAuthority } from '#test/support/authority.ts'
import { applyMigrations, bindings, call, newKey, newSession, newTenant } from '#test/worker/client.ts'

beforeAll(applyMigrations)

type Listed = { readonly data: readonly { id: string; error: string; fix: string; uses: number; tags: string[] }[] }

async function setUp(scopes?: readonly string[]) {
  const { id: tenantId, key: owner } = await newTenant()
  await call('PATCH', '/api/settings', { key: owner, body: { approvals: { mode: 'off' } } })
  const key = scopes ? await newKey(tenantId, [...scopes]) : owner
  /** The results of these calls, in one session. */
  const use = async (...inputs: readonly object[]) => {
    const scripted = model([...inputs.map((input) => calls({ name: 'learning', input })), says('Done.')])
    const { id } = await newSession({ model: scripted.id }, key)
    await call('POST', `/api/sessions/${id}/chat`, { key, body: { input: 'go' } })
    const results = scripted.requests.slice(1).map((asked) => listTexts(asked).at(-1) ?? '')
    return { id, results }
  }
  const list = async (query = '') => (await call<Listed>('GET', `/api/learning${query}`, { key: owner })).body.data
  const change = (body: object, by = owner) =>
    call<{ id: string | null; changed: number }>('POST', '/api/learning', { key: by, body })
  return { tenantId, owner, key, use, list, change }
}

const make = { tool: 'terminal', failed: 'make all', error: 'bash: make: command not found', fix: 'npm run build' }

describe('the tool learning', () => {
  it('saves what the next session of its kind of failure is offered, and finds it by words and tags', async () => {
    const { use, list, owner } = await setUp()
    const { results } = await use(
      { action: 'save', ...make, tags: ['Build', 'ci'] },
      { action: 'search', query: 'NPM make' },
      { action: 'list', tags: ['other'] },
      { action: 'tags' },
      { action: 'save', error: 'no fix' },
    )
    expect(results[0]).toContain('"success":true')
    expect(results[1]).toMatch(/npm run build[^]*"tags":\["build","ci"\][^]*"count":1/)
    expect(results[2]).toContain('"count":0')
    expect(results[3]).toContain('{"build":1,"ci":1}')
    expect(results[4]).toContain('needs error and fix')
    expect(await list('?tag=build')).toMatchObject([{ fix: make.fix, uses: 1, tags: ['build', 'ci'] }])

    const other = model([calls({ name: 'terminal', input: { command: 'make test' } }), says('Done.')])
    const { id } = await newSession({ model: other.id }, owner)
    await call('POST', `/api/sessions/${id}/chat`, { key: owner, body: { input: 'test it' } })
    const seen = listTexts(other.requests[1]!).at(-1) ?? ''
    expect(seen).toMatch(/command not found[^]*was fixed before[^]*npm run build/)
  })

  it('makes one of failures that are alike or named, which answers for all of them', async () => {
    const { use, list, change } = await setUp()
    const error = (what: string) => `could not connect to the database at startup of service ${what}`
    const both = ['one', 'two'].map((what) => ({
      action: 'save',
      tool: 'terminal',
      error: error(what),
      fix: what,
      tags: [what],
    }))
    const elsewhere = { action: 'save', tool: 'patch', error: error('one'), fix: 'three' }
    const { results } = await use(...both, elsewhere, { action: 'consolidate' })
    expect(results[3]).toContain('"merged":1')
    expect(await list()).toMatchObject([
      { fix: 'three', uses: 1, tags: [] },
      { fix: 'two', uses: 2, tags: ['one', 'two'] },
    ])
    // The failure that is gone is counted where it went.
    await use(both[0]!)
    expect(await list()).toMatchObject([{ fix: 'one', uses: 3 }, { fix: 'three' }])
    const ids = (await list()).map(({ id }) => id)
    expect((await change({ action: 'consolidate', ids, fix: 'start it first' })).body.changed).toBe(1)
    expect(await list()).toMatchObject([{ fix: 'start it first', uses: 4 }])
    expect((await change({ action: 'tag', ids: [ids[0]], tags: ['db'] })).body.changed).toBe(1)
    expect((await list('?tag=db')).length).toBe(1)
    expect((await change({ action: 'delete', ids: [ids[0]] })).body.changed).toBe(1)
    expect(await list()).toEqual([])
  })

  it('switches learning off and on in its session alone', async () => {
    const { use, list, owner } = await setUp()
    const { results, id } = await use({ action: 'off' }, { action: 'save', ...make })
    expect(results[1]).toContain('Learning is off')
    const of = async (session: string) =>
      (await call<{ settings: { learning?: object } }>('GET', `/api/sessions/${session}`, { key: owner })).body.settings
    expect((await of(id)).learning).toEqual({ fixes: false, review: false })
    const again = await use({ action: 'off' }, { action: 'on' }, { action: 'save', ...make })
    expect(again.results[2]).toContain('"success":true')
    expect((await list()).length).toBe(1)
  })

  it('keeps nothing of a turn that has read what strangers wrote, nor secrets, nor for keys without the scope', async () => {
    const { use, list, change, tenantId } = await setUp()
    const token = `ghp_${'a1B2'.repeat(9)}`
    const own = await use(
      { action: 'save', ...make, fix: `use ${token}` },
      { action: 'list' },
      { action: 'save', ...make },
    )
    expect(own.results[2]).toContain('"success":true')
    const stored = (await list()).map(({ fix, uses }) => [fix.includes(token), uses])
    expect(stored).toEqual([[false, 2]])
    // One of a turn that had read pages: whoever lists it holds what strangers wrote.
    const stranger = withMarks({ ...ownerAuthority(), tenantId }, { isForeign: true })
    const fixes = fixesOf(bindings.TENANT.getByName(`t/${tenantId}`))
    await fixes.record(stranger, [{ signature: 's', tool: 'patch', error: 'e', failed: 'f', fix: 'foreign text' }])
    const led = await use({ action: 'search', query: 'foreign' }, { action: 'save', ...make })
    expect(led.results[0]).toMatch(/<untrusted-[^]*foreign text/)
    expect(led.results[1]).toContain('what others wrote')
    const reader = await newKey(tenantId, ['chat', 'read'])
    expect((await change({ action: 'save', ...make }, reader)).status).toBe(403)
    const blind = await setUp(['chat'])
    expect((await blind.use({ action: 'list' })).results[0]).toContain('no tool named learning')
    const narrow = await setUp(['chat', 'read'])
    expect((await narrow.use({ action: 'save', ...make })).results[0]).toContain('scope write')
  })
})
