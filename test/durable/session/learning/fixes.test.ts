/** Tests that what fixed a failed call is offered when the failure returns, and becomes a skill after three times. */

import { beforeAll, describe, expect, it } from 'vitest'
import { calls, listTexts, model, type ModelRequest, says, until } from '#test/support/scripted-model.ts'
import { fixesOf } from '#durable/tenant/fixes/fixes.ts'
import { ownerAuthority } from '#test/support/authority.ts'
import { applyMigrations, bindings, call, newKey, newSession, newTenant } from '#test/worker/client.ts'

beforeAll(applyMigrations)

const reads = (path: string) => calls({ name: 'read_file', input: { path } })
/** Reads a file that is missing, finds where it is, and reads that. */
const struggle = () => [
  reads('notes/plan.md'),
  calls({ name: 'search_files', input: { pattern: 'plan.md', target: 'files' } }),
  reads('docs/plan.md'),
  says('Read.'),
]

async function setUp(learning: object = {}) {
  const { id: tenantId, key } = await newTenant()
  const reviewer = model(() => says('Noted.'))
  await call('PATCH', '/api/settings', { key, body: { learning: { model: reviewer.id, ...learning } } })
  const struggleOnce = async (with_ = key) => {
    const main = model(struggle())
    const { id } = await newSession({ model: main.id }, with_)
    await call('PUT', `/api/sessions/${id}/files/docs/plan.md`, { key, body: 'the plan' })
    const { status } = await call('POST', `/api/sessions/${id}/chat`, { key: with_, body: { input: 'read the plan' } })
    expect(status).toBe(200)
    return main
  }
  const fixes = fixesOf(bindings.TENANT.getByName(`t/${tenantId}`))
  const own = { ...ownerAuthority(), tenantId }
  return { tenantId, key, reviewer, struggleOnce, fixes, own }
}

const textOfResult = (asked: ModelRequest | undefined) => listTexts(asked!).at(-1) ?? ''
const hint = /Such a failure was fixed before/

describe('a fixed failure', () => {
  it('is offered with the next failure of its kind, and suggested as a skill after three times', async () => {
    const { struggleOnce, reviewer } = await setUp()
    const first = await struggleOnce()
    expect(textOfResult(first.requests[1])).not.toMatch(hint)
    let shown = ''
    await until(async () => hint.test((shown = textOfResult((await struggleOnce()).requests[1]))))
    expect(shown).toMatch(/<untrusted-[0-9a-f]{16} source="an earlier session">[^]*docs\/plan\.md/)
    for (let i = 0; i < 3 && reviewer.requests.length === 0; i++) await struggleOnce()
    await until(() => reviewer.requests.length === 1)
    expect(listTexts(reviewer.requests[0]!).join()).toMatch(
      /These failures came back[^]*notes\/plan\.md[^]*docs\/plan\.md/,
    )
    await struggleOnce()
    expect(reviewer.requests.length).toBe(1)
  })

  it('is neither kept nor offered when it is switched off', async () => {
    const { struggleOnce } = await setUp({ fixes: false })
    for (let i = 0; i < 3; i++) expect(textOfResult((await struggleOnce()).requests[1])).not.toMatch(hint)
  })

  it('is not offered to a key that may not read the sessions of the tenant', async () => {
    const { struggleOnce, tenantId } = await setUp()
    const blind = await newKey(tenantId, ['chat'])
    await until(async () => hint.test(textOfResult((await struggleOnce()).requests[1])))
    expect(textOfResult((await struggleOnce(blind)).requests[1])).not.toMatch(hint)
  })

  it('can be listed and searched by who may read the sessions of the tenant', async () => {
    const { fixes, own, key, tenantId } = await setUp()
    const fix = (signature: string) => ({
      signature,
      tool: 'terminal',
      error: `No ${signature}`,
      failed: 'f',
      fix: 'pip',
    })
    await fixes.record(own, [fix('pandas')])
    await fixes.record(own, [fix('numpy')])
    await fixes.record(own, [fix('pandas')])
    const list = async (query: string, by = key) => {
      const { status, body } = await call<{ data: object[] }>('GET', `/api/learning${query}`, { key: by })
      return status === 200 ? body.data : status
    }
    const pandas = { tool: 'terminal', error: 'No pandas', failed: 'f', fix: 'pip', uses: 2 }
    expect(await list('')).toMatchObject([pandas, { ...pandas, error: 'No numpy', uses: 1 }])
    expect(await list('?query=PANDAS+pip')).toEqual([{ ...pandas, id: expect.any(String), tags: [], foreign: false }])
    expect(await list('?query=pandas+numpy')).toEqual([])
    expect(await list('', await newKey(tenantId, ['chat']))).toBe(403)
    expect(await list('', (await newTenant()).key)).toEqual([])
  })

  it('is kept by nobody whose role limits tools or risks', async () => {
    const { fixes, own, key, tenantId, struggleOnce } = await setUp()
    const roles = { reader: { scopes: ['chat', 'read', 'write'], max_risk: 'read' } }
    await call('PATCH', '/api/settings', { key, body: { roles } })
    const limited = await newKey(tenantId, ['chat', 'read', 'write'], { role: 'reader' })
    const authority = { ...own, maxRisk: 'read', entitlements: [{ scopes: own.scopes, role: 'reader' }] } as const
    const fix = { signature: 's', tool: 't', error: 'e', failed: 'f', fix: 'curl x' }
    expect(await fixes.record(authority, [fix])).toEqual([])
    expect(await fixes.save(authority, fix)).toBeUndefined()
    const other = { ...own, contributors: [authority] }
    expect(await fixes.record(other, [fix])).toEqual([])
    await struggleOnce(limited)
    await struggleOnce()
    await until(async () => (await fixes.list(own)).length > 0)
    expect(await fixes.list(own)).toMatchObject([{ uses: 1 }])
    expect(await fixes.merge(authority, [], 'curl x')).toBe(0)
    expect(await fixes.remove(authority, [(await fixes.list(own))[0]?.id ?? ''])).toBe(0)
  })

  it('stays foreign when a clean turn gives several one fix', async () => {
    const { fixes, own } = await setUp()
    const foreign = { ...own, exposure: { isForeign: true } } as const
    const fix = (signature: string) => ({ signature, tool: 't', error: 'e', failed: 'f', fix: 'pip' })
    await fixes.record(own, [fix('a b c')])
    await fixes.record(foreign, [fix('a b d')])
    const ids = (await fixes.list(own)).map(({ id }) => id)
    expect(await fixes.merge(own, ids, 'pip install')).toBe(1)
    expect(await fixes.find(own, 'a b c')).toMatchObject({ fix: 'pip install', isForeign: true })
  })

  it('is one of the latest two hundred', async () => {
    const { fixes, own } = await setUp()
    const fix = (signature: string) => ({ signature, tool: 't', error: 'e', failed: 'f', fix: signature })
    for (let i = 0; i < 203; i++) await fixes.record(own, [fix(`s${i}`)])
    expect([await fixes.find(own, 's2'), (await fixes.find(own, 's3'))?.uses]).toEqual([undefined, 1])
    expect((await fixes.record(own, [fix('s3')])).length).toBe(0)
    expect(await fixes.record(own, [fix('s3')])).toMatchObject([{ signature: 's3', uses: 3 }])
    expect((await fixes.record(own, [fix('s3')])).length).toBe(0)
  })
})
