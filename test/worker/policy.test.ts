/**
 * Tests who may change which setting: every setting of the schema, for the tenant, a session and a request, with and
 * without the scope `approve`.
 */

import { evictDurableObject, runInDurableObject } from 'cloudflare:test'
import { beforeAll, describe, expect, it } from 'vitest'
import { findSettingClass } from '#agent/policy/settings/setting-classes.ts'
import { routes } from '#worker/app.ts'
import { objectOf } from '../durable/support/object.ts'
import { calls, model, says, until } from '../support/scripted-model.ts'
import { firstRows } from '../support/long.ts'
import { requiredBeside, settingLeaves, settingsWith } from '../support/setting-leaves.ts'
import { applyMigrations, call, type ErrorBody, newKey, newSession, newTenant, type Session } from './client.ts'
import { parameterFields } from '#worker/input/turn-options.ts'
import { thinkingFields } from '#worker/input/turn-options.ts'
import { unsupportedSchema } from '#worker/input/unsupported-fields.ts'

beforeAll(applyMigrations)

const allScopes = ['chat', 'read', 'write', 'jobs', 'approve']
const weakScopes = allScopes.filter((scope) => scope !== 'approve')

/** A value of the tenant with a tighter and a looser one of a session, for each policy setting with an order. */
const orders: Readonly<Record<string, readonly [tenant: unknown, tighter: unknown, looser: unknown]>> = {
  'approvals.mode': ['smart', 'manual', 'off'],
  'approvals.unattended': ['deny', 'deny', 'allow'],
  'approvals.rules': [[], [{ do: 'ask', tool: 'terminal' }], [{ do: 'allow', tool: 'terminal' }]],
  'delegation.paused': [true, true, false],
  'terminal.network': ['none', 'none', 'public'],
  'terminal.allowed_hosts': [['*.example.org'], ['a.example.org'], ['example.com']],
  'terminal.secrets': [['ONE_TOKEN', 'TWO_TOKEN'], ['ONE_TOKEN'], ['ONE_TOKEN', 'OTHER_TOKEN']],
  'toolsets.enabled': [['file', 'todo'], ['read_file'], ['file', 'terminal']],
  'toolsets.disabled': [['terminal'], ['terminal', 'file'], ['file']],
  'web.keyless_fallback': [false, false, true],
  // Only the tenant's own value is accepted.
  'roles.p.scopes': [['chat', 'read'], ['chat', 'read'], ['chat']],
  'roles.p.toolsets': [['file'], ['file'], ['todo']],
  'roles.p.max_risk': ['write', 'write', 'none'],
}
const orderOf = (path: string) => orders[path] ?? (path.startsWith('limits.') ? [10, 5, 20] : undefined)

/** Settings that `PATCH /api/settings` and sessions do not take (docs/settings.md#limits). */
const isTaken = (path: string, whose: 'tenant' | 'session') =>
  !/^limits\.jobs$|^auxiliary\.(?!title_generation).*\.enabled$/.test(path) &&
  (whose === 'tenant' || !path.startsWith('limits.') || /^limits\.(usd|tokens)_per_(turn|session)$/.test(path))

type Refusal = readonly [status: number, code: string | undefined, param: string | null | undefined]
const refused = ({ status, body }: { status: number; body: Partial<ErrorBody> }): Refusal =>
  status < 400 ? [200, undefined, undefined] : [status, body.error?.code, body.error?.param]
const ok: Refusal = [200, undefined, undefined]

async function setUp() {
  const { id, key } = await newTenant(allScopes)
  const weak = await newKey(id, weakScopes)
  const patch = async (by: string, settings: object) =>
    refused(await call<ErrorBody>('PATCH', '/api/settings', { key: by, body: settings }))
  const create = async (by: string, settings: object) =>
    refused(await call<ErrorBody>('POST', '/api/sessions', { key: by, body: { settings } }))
  const session = await newSession({}, key)
  const change = async (by: string, settings: object) =>
    refused(await call<ErrorBody>('PATCH', `/api/sessions/${session.id}`, { key: by, body: { settings } }))
  return { id, key, weak, patch, create, change }
}

const kindOf = (path: readonly string[]) => findSettingClass(path)?.kind
const named = settingLeaves.map(({ path, example }) => ({ path, example, name: path.join('.') }))
const isFree = ({ path }: { readonly path: readonly string[] }) => kindOf(path) === 'preference'
/** All that is policy. Preferences follow one rule. */
const leaves = [...named.filter((leaf) => !isFree(leaf)), ...firstRows(4, named.filter(isFree), 6)]

describe('a setting', () => {
  it('of the tenant is changed with the scope approve when it is policy, else without', async () => {
    const { key, weak, patch } = await setUp()
    for (const { path, name, example } of leaves.filter((leaf) => isTaken(leaf.name, 'tenant'))) {
      const beside = requiredBeside(path)
      if (Object.keys(beside).length) await patch(key, beside)
      const policy: Refusal = [403, 'policy', name]
      const value = settingsWith(path, orderOf(name)?.[1] ?? (example === 'virtual' ? 'http' : example))
      const isPreference = kindOf(path) === 'preference'
      const isPolicy = !isPreference && name !== 'providers.custom:x.base_url'
      expect([name, await patch(weak, value)]).toEqual([name, isPolicy ? policy : ok])
      // A change that needs no scope is not repeated with it: this is the longest test of its folder.
      expect([name, isPreference ? ok : await patch(key, value)]).toEqual([name, ok])
      // Removing it loosens or tightens: both are changes.
      const removed = settingsWith(path.slice(0, 1), null)
      expect([name, (await patch(weak, removed))[0]]).toEqual([name, isPreference ? 200 : 403])
      expect(isPreference ? ok : await patch(key, removed)).toEqual(ok)
    }
  })

  it('of a session is only tightened, and without an order needs the scope approve', async () => {
    const { key, weak, patch, create, change } = await setUp()
    /** Creates and changes a session with and without the scope. What needs no scope is not asked for again with it. */
    const askAll = async (settings: object, isPreference: boolean) => {
      const answers = { weak: [await create(weak, settings), await change(weak, settings)] }
      const strong = isPreference ? [ok, ok] : [await create(key, settings), await change(key, settings)]
      return { ...answers, strong }
    }
    for (const { path, name, example } of leaves.filter((leaf) => isTaken(leaf.name, 'session'))) {
      const [tenant, tighter, looser] = orderOf(name) ?? [
        undefined,
        undefined,
        example === 'virtual' ? 'http' : example,
      ]
      if (tenant !== undefined) await patch(key, merge(requiredBeside(path), settingsWith(path, tenant)))
      const settingsOf = (value: unknown) => merge(requiredBeside(path), settingsWith(path, value))
      const refusal: Refusal = [403, 'policy', path[0] === 'providers' ? 'providers.custom:x.base_url' : name]
      const kind = kindOf(path)
      const isPreference = kind === 'preference'
      expect([name, await askAll(settingsOf(looser), isPreference)]).toEqual([
        name,
        {
          weak: Array(2).fill(isPreference ? ok : refusal),
          strong: Array(2).fill(kind === 'ordered' ? refusal : ok),
        },
      ])
      const accepted = { weak: [ok, ok], strong: [ok, ok] }
      const tight = tighter === undefined ? accepted : await askAll(settingsOf(tighter), isPreference)
      expect([name, tight]).toEqual([name, accepted])
      if (tenant !== undefined) await patch(key, settingsWith(path.slice(0, 1), null))
      await change(key, settingsWith(path.slice(0, 1), null))
    }
  })

  /** Fields of requests by the setting that they override. Null: the field is no setting. */
  const fields: Readonly<Record<string, string | null>> = {
    input: null,
    attachments: null,
    // Only when the request is answered.
    wait: null,
    mode: 'busy_input_mode',
    model: 'model.default',
    provider: 'model.default',
    model_options: null,
    temperature: 'model.temperature',
    max_tokens: 'model.max_tokens',
    reasoning_effort: 'model.reasoning_effort',
    instructions: 'instructions',
    max_turns: 'agent.max_turns',
    // They change one model call.
    ...Object.fromEntries(
      Object.keys({ ...parameterFields, ...thinkingFields, ...unsupportedSchema }).map((name) => [name, null]),
    ),
  }

  it('of a request is a preference: no field reaches policy', () => {
    const bodies = routes.filter(({ path }) => /^\/api\/sessions\/:id\/(chat|chat\/stream|steer|retry)$/.test(path))
    expect(bodies).toHaveLength(4)
    for (const { body } of bodies)
      for (const field of Object.keys((body as unknown as { shape: object }).shape)) {
        const setting = fields[field]
        const kind = typeof setting === 'string' ? kindOf(setting.split('.')) : setting
        expect([field, ['preference', null].includes(kind ?? null) && setting !== undefined]).toEqual([field, true])
      }
  })
})

const merge = (below: object, above: object): object => {
  const merged = { ...below } as Record<string, unknown>
  for (const [name, value] of Object.entries(above)) {
    const old = merged[name]
    const isDeep = typeof value === 'object' && value !== null && !Array.isArray(value)
    merged[name] = isDeep ? merge((old as object | undefined) ?? {}, value as object) : value
  }
  return merged
}

describe('approvals', () => {
  const push = calls({ id: 'c1', name: 'terminal', input: { command: 'git push origin main' } })
  const pendingOf = async (key: string, id: string) =>
    (await call<{ data: { id: string; session_id: string }[] }>('GET', '/api/approvals', { key })).body.data.find(
      (one) => one.session_id === id,
    )

  it('are not switched off by a key with the scope chat that creates a session', async () => {
    const { weak, create, change } = await setUp()
    const off = { approvals: { mode: 'off' } }
    expect(await create(weak, off)).toEqual([403, 'policy', 'approvals.mode'])
    expect(await change(weak, off)).toEqual([403, 'policy', 'approvals.mode'])
  })

  /** A session as it was stored before there was a check. */
  async function newLooseSession(settings: object) {
    const { id: tenant, key, weak, patch } = await setUp()
    await patch(key, { approvals: { mode: 'manual' } })
    const scripted = model([push, push])
    const { id } = await newSession({ model: scripted.id }, key)
    await runInDurableObject(objectOf(id, tenant), async (_object, { storage: { sql } }) => {
      const { entries } = sql.exec<{ entries: string }>('SELECT entries FROM step WHERE n = 0').one()
      const { isPolicyChecked: _, ...meta } = JSON.parse(entries) as Record<string, unknown>
      sql.exec('UPDATE step SET entries = ? WHERE n = 0', JSON.stringify({ ...meta, settings }))
    })
    await evictDurableObject(objectOf(id, tenant))
    return { tenant, id, key, weak }
  }

  it('hold in a session whose stored settings are loose, and in its fork', async () => {
    const { id, key, weak } = await newLooseSession({ approvals: { mode: 'off', rules: [{ do: 'allow', tool: '*' }] } })
    const fork = await call<Session>('POST', `/api/sessions/${id}/fork`, { key: weak, body: {} })
    for (const session of [id, fork.body.id]) {
      await call('POST', `/api/sessions/${session}/steer`, { key: weak, body: { input: 'push' } })
      expect(await until(() => pendingOf(key, session))).toBeDefined()
    }
  })

  it('hold in an imported session, whatever settings its file names', async () => {
    const { weak } = await setUp()
    const body = { session: { title: 'x', settings: { approvals: { mode: 'off' } } }, messages: [] }
    const imported = await call<Session>('POST', '/api/sessions/import', { key: weak, body })
    expect([imported.status, imported.body.settings]).toEqual([201, {}])
  })
})

describe('session_search', () => {
  it('of a key without the scope read reaches no other session', async () => {
    const { key, weak, id: tenant } = await setUp()
    const chatOnly = await newKey(tenant, ['chat'])
    const elsewhere = model([says('albatross')])
    const other = await newSession({ model: elsewhere.id }, key)
    await call('POST', `/api/sessions/${other.id}/chat`, { key, body: { input: 'albatross of the owner' } })
    const find = async () => (await call<{ data: object[] }>('GET', '/api/search?q=albatross', { key })).body.data[0]
    await until(find)
    const ask = async (by: string, input: object) => {
      const scripted = model([calls({ id: 's1', name: 'session_search', input }), says('Done.')])
      const session = await newSession({ model: scripted.id }, by)
      await call('POST', `/api/sessions/${session.id}/chat`, { key: by, body: { input: 'look' } })
      return String(scripted.requests[1]?.messages.at(-1)?.content)
    }
    for (const input of [{ query: 'albatross' }, { limit: 10 }, { session_id: other.id }]) {
      const answer = await ask(chatOnly, input)
      expect(answer).not.toContain('of the owner')
      expect(answer).toMatch(/Only this conversation can be read|No session/)
      expect(await ask(weak, input)).toContain(input.query ? 'of the owner' : other.id)
    }
  })
})
