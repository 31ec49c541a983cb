/**
 * Tests roles of keys, logins and people in chats: what they take away, that a change acts at once, and that nobody with
 * a role gives anybody more than it has.
 */

import { evictDurableObject, runInDurableObject } from 'cloudflare:test'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { replaceClock } from '#durable/platform/clock.ts'
import { objectOf } from '../durable/support/object.ts'
import { ownerAuthority } from '../support/authority.ts'
import { createChat, createMessage, createUpdate, postUpdate, receiveMessage } from '../support/chat.ts'
import { createSkippingClock } from '../support/clock.ts'
import { calls, Gate, model, type Reply, says, until } from '../support/scripted-model.ts'
import { applyMigrations, bindings, call, type ErrorBody, newKey, newSession, newTenant, request } from './client.ts'
import { readEvents, type Run } from './listen.ts'

beforeAll(applyMigrations)
afterEach(() => replaceClock())

const all = ['chat', 'read', 'write', 'jobs', 'approve']
type Roles = Readonly<Record<string, object | null>>

/** A tenant with roles, its free key, and keys with the roles. */
async function setUp(roles: Roles, settings: object = {}) {
  const { id, key } = await newTenant(all)
  const patch = (body: object, by = key) => call<ErrorBody>('PATCH', '/api/settings', { key: by, body })
  expect((await patch({ ...settings, roles })).status).toBe(200)
  const keyWith = (role: string, scopes: readonly string[] = all) => newKey(id, scopes, { role })
  return { id, key, patch, keyWith }
}

const refusal = ({ status, body }: { status: number; body: ErrorBody }) => [status, body.error.code, body.error.param]
const tryWith = (key: string, method = 'GET', path = '/api/settings', body?: object) =>
  call<ErrorBody>(method, path, { key, ...(body && { body }) })

/** Runs one turn with the key and returns the results of its tools. */
async function run(key: string, replies: readonly Reply[], settings: object = {}) {
  const scripted = model([...replies, says('Done.')])
  const { id } = await newSession({ model: scripted.id, settings }, key)
  const { body } = await call<Run>('POST', `/api/sessions/${id}/chat`, { key, body: { input: 'go' } })
  const results = (scripted.requests.at(-1)?.messages ?? []).filter(({ role }) => role === 'tool')
  return { id, scripted, body, results: results.map(({ content }) => String(content)) }
}

const write = { name: 'write_file', input: { path: 'a.txt', content: 'x' } }
const list = { name: 'terminal', input: { command: 'ls' } }
const push = { name: 'terminal', input: { command: 'git push origin main' } }
const toolNames = (scripted: ReturnType<typeof model>) =>
  ((scripted.requests[0]?.['tools'] ?? []) as { function: { name: string } }[]).map((tool) => tool.function.name)

describe('a key with a role', () => {
  it('has only the scopes that both have, and shows its role', async () => {
    const { id, keyWith } = await setUp({ reader: { scopes: ['read', 'write'] } })
    const key = await keyWith('reader', ['chat', 'read'])
    expect((await tryWith(key)).status).toBe(200)
    expect(refusal(await tryWith(key, 'PATCH', '/api/settings', {}))).toEqual([403, 'insufficient_scope', 'write'])
    expect(refusal(await tryWith(key, 'POST', '/api/sessions', {}))).toEqual([403, 'insufficient_scope', 'chat'])
    const { body } = await call<{ data: object[] }>('GET', `/api/admin/keys?tenant_id=${id}`)
    expect(body.data.map((one) => (one as { role: string }).role)).toEqual(expect.arrayContaining(['reader', null]))
    const audit = await call<{ data: { details: object }[] }>('GET', `/api/audit?kind=key.created`)
    expect(audit.body.data[0]?.details).toMatchObject({ role: 'reader', tenant: id })
  })

  it('and no scopes of its own has those of the role, without admin', async () => {
    const { id, patch } = await setUp({ chatter: { scopes: ['chat', 'read', 'admin'] } })
    const made = await call<{ key: string; scopes: string[] }>('POST', '/api/admin/keys', {
      body: { tenant_id: id, role: 'chatter' },
    })
    expect(made.body.scopes).toEqual(all)
    expect((await tryWith(made.body.key)).status).toBe(200)
    expect((await tryWith(made.body.key, 'GET', '/api/admin/tenants')).status).toBe(403)
    expect((await patch({ timezone: 'UTC' }, made.body.key)).status).toBe(403)
  })

  it.each([
    [{ role: 'unknown', scopes: ['read'] }, 400, 'role'],
    [{ role: 'constructor', scopes: ['read'] }, 400, 'role'],
    [{ role: 'No Role' }, 400, 'role'],
    [{}, 400, 'scopes'],
    [{ scopes: [] }, 400, 'scopes'],
    [{ role: 'reader', tenant_id: 'nobody' }, 404, 'tenant_id'],
  ])('is not made from %j', async (fields, status, param) => {
    const { id } = await setUp({ reader: { scopes: ['read'] } })
    const answer = await call<ErrorBody>('POST', '/api/admin/keys', { body: { tenant_id: id, ...fields } })
    expect([answer.status, answer.body.error.param]).toEqual([status, param])
  })

  it('has only the tools of the role, also in a request that names others', async () => {
    const { keyWith } = await setUp({ files: { scopes: all, toolsets: ['file'] } })
    const key = await keyWith('files')
    const { scripted } = await run(key, [])
    expect(toolNames(scripted).toSorted()).toEqual([
      'make_document',
      'patch',
      'read_file',
      'search_files',
      'write_file',
    ])
    const headers = { 'x-talaria-toolsets': 'terminal' }
    const wide = await call<ErrorBody>('POST', '/v1/chat/completions', {
      key,
      headers,
      body: { model: 'talaria', messages: [{ role: 'user', content: 'go' }] },
    })
    expect(refusal(wide)).toEqual([403, 'policy', 'X-Talaria-Toolsets'])
  })

  it('runs no call above its risk, in any mode, and nobody is asked', async () => {
    const settings = { approvals: { mode: 'off', rules: [{ do: 'allow', tool: '*' }] } }
    const { key: free, keyWith } = await setUp({ writer: { scopes: all, max_risk: 'write' } }, settings)
    const key = await keyWith('writer')
    const { id, results } = await run(key, [calls(write, list)])
    expect(results[0]).toContain('bytes_written')
    expect(JSON.parse(results[1] ?? '')).toMatchObject({
      status: 'refused',
      exit_code: -1,
      error: expect.stringContaining('the role allows calls up to the risk "write", and this has "exec"') as string,
    })
    expect((await run(free, [calls(list)])).results[0]).toContain('"exit_code":0')
    const { body } = await call<{ data: object[] }>('GET', `/api/audit?session_id=${id}`, { key: free })
    expect(body.data).toMatchObject([{ decision: 'refused', by: 'role', tool: 'terminal' }])
  })

  it('limits the turn of another key that it joins', async () => {
    const { id: tenant, key: free, keyWith } = await setUp({ reader: { scopes: all, max_risk: 'read' } })
    const gate = new Gate()
    const scripted = model([[gate, ...(says('thinking') as readonly string[])], calls(write), says('Done.')])
    const { id } = await newSession({ model: scripted.id }, free)
    const begun = await call<Run>('POST', `/api/sessions/${id}/steer`, { key: free, body: { input: 'go' } })
    await gate.waitUntilReached()
    const joining = { key: await keyWith('reader'), body: { input: 'and this', mode: 'steer' } }
    const joined = call('POST', `/api/sessions/${id}/chat`, joining)
    const countWaiting = () =>
      runInDurableObject(
        objectOf(id, tenant),
        (_object, { storage: { sql } }) => sql.exec<{ n: number }>('SELECT count(*) AS n FROM inbox').one().n,
      )
    await until(async () => (await countWaiting()) === 1)
    gate.open()
    await joined
    const { body } = await call<Run>('GET', `/api/sessions/${id}/runs/${begun.body.run_id}`, { key: free })
    expect(body.exit_reason).toBe('answered')
    const result = scripted.requests.at(-1)?.messages.findLast(({ role }) => role === 'tool')
    expect(String(result?.content)).toContain('the role allows calls up to the risk')
  })
})

describe('a change of a role', () => {
  /** As another isolate does it: the caches of this one keep what they have. */
  const changeElsewhere = (id: string, roles: Roles) =>
    bindings.TENANT.getByName(`t/${id}`).settings.patch(ownerAuthority(id), { roles })

  it('acts on requests within two seconds, and a deleted role leaves nothing', async () => {
    const clock = createSkippingClock()
    replaceClock(clock)
    const { id, keyWith } = await setUp({ r: { scopes: ['read'] } })
    const key = await keyWith('r')
    expect((await tryWith(key)).status).toBe(200)
    await changeElsewhere(id, { r: null })
    clock.pass(2_000)
    const { status, body } = await tryWith(key)
    expect([status, body.error.code, body.error.message]).toEqual([
      403,
      'insufficient_scope',
      'The role "r" of this key does not exist any more, so it may do nothing.',
    ])
    await changeElsewhere(id, { r: { scopes: ['chat'] } })
    clock.pass(2_000)
    expect(refusal(await tryWith(key))).toEqual([403, 'insufficient_scope', 'read'])
  })

  it('limits a turn that runs, and its deletion ends the turn', async () => {
    const clock = createSkippingClock()
    replaceClock(clock)
    const { id, key: free, keyWith } = await setUp({ r: { scopes: all, max_risk: 'exec' } })
    const [first, second] = [new Gate(), new Gate()]
    const scripted = model([
      [first, ...(calls(list) as readonly string[])],
      [second, ...(calls(write) as readonly string[])],
    ])
    const session = await newSession({ model: scripted.id }, free)
    const begun = await call<Run>('POST', `/api/sessions/${session.id}/steer`, {
      key: await keyWith('r'),
      body: { input: 'go' },
    })
    await first.waitUntilReached()
    await changeElsewhere(id, { r: { scopes: all, max_risk: 'write' } })
    clock.pass(2_000)
    first.open()
    await second.waitUntilReached()
    expect(String(scripted.requests[1]?.messages.at(-1)?.content)).toContain('the role allows calls up to the risk')
    await changeElsewhere(id, { r: null })
    clock.pass(2_000)
    second.open()
    const path = `/api/sessions/${session.id}/runs/${begun.body.run_id}`
    const ended = await until(async () => {
      const { body } = await call<Run>('GET', path, { key: free })
      return body.exit_reason && body
    })
    expect(ended).toMatchObject({ status: 'cancelled', exit_reason: 'role_changed' })
    expect((await call('GET', `/api/sessions/${session.id}/files/a.txt`, { key: free })).status).toBe(404)
  })

  it('ends streams and sockets of its keys, also of a session that hibernates', async () => {
    const { id, key: free, keyWith } = await setUp({ r: { scopes: ['read'] } })
    const key = await keyWith('r')
    const session = await newSession({}, free)
    const listener = readEvents(await request('GET', `/api/sessions/${session.id}/events`, { key }))
    await until(() => listener.frames.length)
    const other = readEvents(await request('GET', `/api/sessions/${session.id}/events`, { key: free }))
    await until(() => other.frames.length)
    const { webSocket } = await request('GET', `/api/sessions/${session.id}/events`, {
      key,
      headers: { upgrade: 'websocket' },
    })
    const closed: { code?: number; reason?: string } = {}
    webSocket?.addEventListener('close', ({ code, reason }) => void Object.assign(closed, { code, reason }))
    webSocket?.accept()
    await evictDurableObject(objectOf(session.id, id))
    await call('PATCH', '/api/settings', { key: free, body: { roles: { r: { scopes: ['chat'] } } } })
    await listener.waitForClose()
    expect(listener.frames.at(-1)).toContain('insufficient_scope')
    expect(await until(() => closed.code && closed)).toEqual({ code: 4403, reason: 'role-changed' })
    expect(other.isClosed).toBe(false)
    other.close()
  })
})

describe('a caller with a role', () => {
  it('changes no roles, and no approvals when its risk is limited', async () => {
    const { keyWith } = await setUp({ boss: { scopes: all }, limited: { scopes: all, max_risk: 'write' } })
    const [boss, limited] = [await keyWith('boss'), await keyWith('limited')]
    const patch = async (key: string, body: object) => refusal(await tryWith(key, 'PATCH', '/api/settings', body))
    const wider = { roles: { boss: { scopes: [...all, 'admin'] } } }
    expect(await patch(boss, wider)).toEqual([403, 'policy', 'roles.boss.scopes'])
    expect(await patch(boss, { roles: null })).toEqual([403, 'policy', 'roles.boss.scopes'])
    expect(await patch(boss, { roles: { own: { scopes: all } } })).toEqual([403, 'policy', 'roles.own.scopes'])
    expect(await patch(limited, { approvals: { mode: 'off' } })).toEqual([403, 'policy', 'approvals.mode'])
    const free = { approvals: { mode: 'off' }, timezone: 'UTC' }
    expect((await tryWith(boss, 'PATCH', '/api/settings', free)).status).toBe(200)
    expect((await tryWith(limited, 'PATCH', '/api/settings', { toolsets: { disabled: ['web'] } })).status).toBe(200)
  })

  it('allows only calls within its risk, and may deny all', async () => {
    const { key: free, keyWith } = await setUp(
      { approver: { scopes: all, max_risk: 'write' } },
      { approvals: { mode: 'manual' } },
    )
    const key = await keyWith('approver')
    const scripted = model([calls(push), calls(push), says('Done.')])
    const { id } = await newSession({ model: scripted.id }, free)
    const begun = await call<Run>('POST', `/api/sessions/${id}/steer`, { key: free, body: { input: 'go' } })
    type Pending = { id: string; choices: string[] }
    const asked = await until(
      async () => (await call<{ data: Pending[] }>('GET', '/api/approvals', { key })).body.data[0],
    )
    expect(asked.choices).toEqual(['deny'])
    for (const decision of ['once', 'session', 'always'])
      expect(refusal(await tryWith(key, 'POST', `/api/approvals/${asked.id}`, { decision }))).toEqual([
        403,
        'policy',
        'decision',
      ])
    const { body } = await call<{ approvals: { rules?: object[] } }>('GET', '/api/settings', { key: free })
    expect(body.approvals.rules).toBe(undefined)
    const denied = await tryWith(key, 'POST', `/v1/runs/${begun.body.run_id}/approval`, { decision: 'deny' })
    expect(denied.status).toBe(200)
  })

  it('makes no keys and logins with more than it has', async () => {
    const { id } = await setUp({
      reader: { scopes: ['read'], max_risk: 'read' },
      writer: { scopes: ['read', 'write'] },
    })
    const operators = `ops${id}`
    await call('PATCH', '/api/settings', {
      body: { roles: { [operators]: { scopes: ['admin', 'read'], max_risk: 'read' } } },
    })
    const key = await newKey('default', ['admin', 'read'], { role: operators })
    const make = (fields: object) => tryWith(key, 'POST', '/api/admin/keys', { tenant_id: id, ...fields })
    expect(refusal(await make({ scopes: ['read'] }))).toEqual([403, 'policy', 'scopes'])
    expect(refusal(await make({ role: 'writer' }))).toEqual([403, 'policy', 'role'])
    expect((await make({ role: 'reader' })).status).toBe(201)
    const rule = { issuer: 'https://id.example.com', audience: 'x' }
    const login = (fields: object) => tryWith(key, 'POST', '/api/admin/logins', { tenant_id: id, ...rule, ...fields })
    expect(refusal(await login({ scopes: ['read'] }))).toEqual([403, 'policy', 'scopes'])
    expect((await login({ role: 'unknown' })).status).toBe(400)
    const made = await call<{ id: string; role: string }>('POST', '/api/admin/logins', {
      key,
      body: { tenant_id: id, ...rule, role: 'reader' },
    })
    expect([made.status, made.body.role]).toEqual([201, 'reader'])
    await call('DELETE', `/api/admin/logins/${made.body.id}`)
    const audit = await call<{ data: object[] }>('GET', '/api/audit?kind=login')
    expect(audit.body.data.slice(0, 2)).toMatchObject([
      { kind: 'login.deleted', subject: made.body.id },
      { kind: 'login.created', subject: made.body.id, details: { role: 'reader', tenant: id } },
    ])
    await call('PATCH', '/api/settings', { body: { roles: { [operators]: null } } })
  })

  it('lets nobody into a channel who would have more than it has', async () => {
    const { key: free, keyWith } = await setUp({
      limited: { scopes: ['read', 'write', 'chat'], max_risk: 'read' },
      guest: { scopes: ['chat'], max_risk: 'none' },
    })
    const key = await keyWith('limited')
    const secrets = { bot_token: '123456:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA' }
    const create = (by: string, settings: object) =>
      call<{ id: string } & ErrorBody>('POST', '/api/channels', {
        key: by,
        body: { platform: 'telegram', secrets, settings },
      })
    expect(refusal(await create(key, {}))).toEqual([403, 'policy', 'settings.role'])
    expect(refusal(await create(free, { role: 'unknown' }))).toEqual([400, 'invalid_request', 'settings.role'])
    const own = await create(key, { role: 'guest' })
    expect(own.status).toBe(201)
    const change = (id: string, body: object) => tryWith(key, 'PATCH', `/api/channels/${id}`, body)
    expect((await change(own.body.id, { settings: { allow_users: ['7'] } })).status).toBe(200)
    expect(refusal(await change(own.body.id, { settings: { role: null } }))).toEqual([403, 'policy', 'settings.role'])
    const wide = await create(free, { admins: ['7'] })
    expect((await change(wide.body.id, { settings: { streaming: true } })).status).toBe(200)
    expect(refusal(await change(wide.body.id, { settings: { allow_users: ['7'] } }))).toEqual([
      403,
      'policy',
      'settings.role',
    ])
    expect(refusal(await change(wide.body.id, { secrets }))).toEqual([403, 'policy', 'settings.role'])
    const pairing = { platform: 'telegram', code: 'ABCDEFGH' }
    expect(refusal(await tryWith(key, 'POST', '/api/pairing/approve', pairing))).toEqual([403, 'policy', 'platform'])
  })
})

describe('the secrets of a channel with admins', () => {
  it('are changed with the scope approve only: who knows them can act as an admin', async () => {
    const { id, key } = await setUp({})
    const weak = await newKey(id, ['read', 'write'])
    const secrets = { bot_token: '123456:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA' }
    const create = (settings: object) =>
      call<{ id: string }>('POST', '/api/channels', { key, body: { platform: 'telegram', secrets, settings } })
    const [plain, withAdmins] = [await create({}), await create({ admins: ['7'] })]
    const change = (channel: string, by: string) => tryWith(by, 'PATCH', `/api/channels/${channel}`, { secrets })
    expect((await change(plain.body.id, weak)).status).toBe(200)
    expect(refusal(await change(withAdmins.body.id, weak))).toEqual([403, 'policy', 'secrets'])
    expect((await change(withAdmins.body.id, key)).status).toBe(200)
  })
})

describe('people of a channel with a role', () => {
  it('have its tools and risk, admins have their own, and a deleted role is silence', async () => {
    const { key, patch } = await setUp({ guest: { scopes: ['chat'], max_risk: 'read' } })
    const chat = await createChat(
      [calls(write), says('guest'), calls(write), says('admin')],
      { role: 'guest', admins: ['12'] },
      key,
    )
    await receiveMessage(chat, 'go')
    await until(() => chat.scripted.requests.length === 2)
    expect(String(chat.scripted.requests[1]?.messages.at(-1)?.content)).toContain('the role allows calls up to')
    const bert = { chat: { id: 12, type: 'private' }, from: { id: 12, is_bot: false, first_name: 'Bert' } }
    await receiveMessage(chat, 'go', bert)
    await until(() => chat.scripted.requests.length === 4)
    expect(String(chat.scripted.requests[3]?.messages.at(-1)?.content)).toContain('bytes_written')
    await patch({ roles: { guest: null } })
    expect((await postUpdate(chat, createUpdate({ message: createMessage('again') }))).status).toBe(200)
    expect(chat.scripted.requests).toHaveLength(4)
  })
})

describe('settings', () => {
  it.each([
    [{ r: { scopes: ['read'], toolsets: ['nonsense'] } }, 'roles.r.toolsets'],
    [{ r: { toolsets: ['file'] } }, 'roles.r.scopes'],
    [{ r: { scopes: ['everything'] } }, 'roles.r.scopes.0'],
    [{ r: { scopes: [], max_risk: 'enormous' } }, 'roles.r.max_risk'],
    [{ 'Not a name': { scopes: [] } }, 'roles.Not a name'],
  ])('refuse the roles %j', async (roles, param) => {
    const { key } = await newTenant(all)
    const { status, body } = await tryWith(key, 'PATCH', '/api/settings', { roles })
    expect([status, body.error.param]).toEqual([400, param])
  })
})
