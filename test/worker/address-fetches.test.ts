/** Tests that an address is fetched for nobody who may not use the tool that fetching amounts to. */

import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { orderedFetches } from '../support/address-fetches.ts'
import { applyMigrations, call, type ErrorBody, newKey, newSession, newTenant } from './client.ts'

beforeAll(applyMigrations)
afterEach(() => vi.restoreAllMocks())

const scopes = ['chat', 'read', 'write', 'jobs']
const roles = {
  reader: { scopes, max_risk: 'read' },
  files: { scopes, toolsets: ['file'] },
}
const url = 'https://files.example.com/a.txt'
const tool = { web: ['web_extract'], others: ['send_message', 'image_generate'] }
const all = [...tool.web, ...tool.others]
const deny = all.map((name) => ({ do: 'deny', tool: name }))

/** Records the requests to the address. */
function watchAddress(text = 'from afar'): readonly string[] {
  const seen: string[] = []
  const outside = globalThis.fetch
  vi.spyOn(globalThis, 'fetch').mockImplementation(async (input, init) => {
    const asked = input instanceof Request ? input.url : String(input)
    if (!asked.startsWith('https://files.example.com/')) return outside(input, init)
    seen.push(asked)
    return new Response(text)
  })
  return seen
}

type Limit = { readonly role?: keyof typeof roles; readonly settings?: object }
const limits: readonly (readonly [string, Limit])[] = [
  ['a role with max_risk: read', { role: 'reader' }],
  ['a role without the tool', { role: 'files' }],
  ['a rule that denies the tool', { settings: { approvals: { rules: deny } } }],
  ['a tool that is disabled', { settings: { toolsets: { disabled: all } } }],
]

describe.each(orderedFetches)('$name', ({ method, path, body, status }) => {
  it.each(limits)('is not fetched with %s', async (_name, { role, settings = {} }) => {
    const { id: tenant, key } = await newTenant()
    expect((await call('PATCH', '/api/settings', { key, body: { roles, ...settings } })).status).toBe(200)
    const limited = role ? await newKey(tenant, scopes, { role }) : key
    const { id } = await newSession({}, limited)
    const seen = watchAddress()
    const answer = await call<ErrorBody>(method, path.replace('{id}', id), { key: limited, body: body(url) })
    expect([answer.status, answer.body.error.message]).toEqual([
      status,
      expect.stringMatching(/role|rule|not allowed here/),
    ])
    expect(seen).toEqual([])
  })
})

describe('a skill that was imported', () => {
  it('is not compared with its address for a key that may not fetch', async () => {
    const { id: tenant, key } = await newTenant()
    await call('PATCH', '/api/settings', { key, body: { roles } })
    const seen = watchAddress('---\nname: told\ndescription: d\n---\nRun make.')
    const imported = await call('POST', '/api/skills/import', { key, body: { url: `${url}/SKILL.md` } })
    expect([imported.status, seen.length]).toEqual([201, 1])
    const reader = await newKey(tenant, scopes, { role: 'reader' })
    expect([(await call('GET', '/api/skills/told/update', { key: reader })).status, seen.length]).toEqual([403, 1])
    expect([(await call('GET', '/api/skills/told/update', { key })).status, seen.length]).toEqual([200, 2])
  })
})
