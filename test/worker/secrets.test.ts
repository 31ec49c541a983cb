/** Tests secrets of tenants: who stores them, which commands get them, and that nothing shows or stores their values. */

import { runInDurableObject } from 'cloudflare:test'
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { objectOf } from '../durable/support/object.ts'
import { calls, model, says, until } from '../support/scripted-model.ts'
import { applyMigrations, bindings, call, type ErrorBody, newKey, newSession, newTenant, request } from './client.ts'

beforeAll(applyMigrations)
afterEach(() => void vi.restoreAllMocks())

type Secret = { readonly name: string; readonly last_four: string; readonly created_at: string }
type List = { readonly data: readonly Secret[]; readonly next_cursor: null }

const path = '/api/secrets'
const canary = 'Canary%value+of=commands'
const store = (key: string, name = 'DEPLOY_TOKEN', value = canary) =>
  call<Secret & ErrorBody>('POST', path, { key, body: { name, value } })
const listOf = async (key: string) => (await call<List>('GET', path, { key })).body.data
const hashOf = async (text: string) =>
  [...new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text)))]
    .map((byte) => byte.toString(16).padStart(2, '0'))
    .join('')

describe('/api/secrets', () => {
  it('answers with the last four characters and never with the value', async () => {
    const { key } = await newTenant()
    const { status, body } = await store(key)
    expect([status, body]).toEqual([
      201,
      { name: 'DEPLOY_TOKEN', last_four: 'ands', created_at: expect.stringMatching(/Z$/) },
    ])
    await store(key, 'OTHER_TOKEN')
    expect(await listOf(key)).toEqual(expect.arrayContaining([body, expect.objectContaining({ name: 'OTHER_TOKEN' })]))
    expect(JSON.stringify(await listOf(key))).not.toContain(canary)
    expect((await call('DELETE', `${path}/OTHER_TOKEN`, { key })).status).toBe(204)
    expect((await call('DELETE', `${path}/OTHER_TOKEN`, { key })).status).toBe(404)
    expect(await listOf(key)).toEqual([body])
  })

  it.each([
    ['PATH', canary, 'name'],
    ['LD_PRELOAD', canary, 'name'],
    ['BASH_ENV', canary, 'name'],
    ['lower', canary, 'name'],
    ['A'.repeat(65), canary, 'name'],
    ['A', 'short', 'value'],
    ['A', 'x'.repeat(4_097), 'value'],
    ['A', 'two\nlines-of-it', 'value'],
    ['A', ' spaces-around ', 'value'],
  ])('refuses %s with the value %j', async (name, value, param) => {
    const { key } = await newTenant()
    const { status, body } = await store(key, name, value)
    expect([status, body.error.param]).toEqual([400, param])
    expect(await listOf(key)).toEqual([])
  })

  it('stores fifty, and replaces one of the same name', async () => {
    const { key } = await newTenant()
    for (let i = 0; i < 50; i++) await store(key, `TOKEN_${i}`)
    expect((await store(key, 'ONE_MORE')).status).toBe(409)
    expect((await store(key, 'TOKEN_7', 'another-value-7777')).body.last_four).toBe('7777')
    const all = (await call<List>('GET', `${path}?limit=100`, { key })).body.data
    expect(all).toHaveLength(50)
    expect(all[0]).toMatchObject({ name: 'TOKEN_7', last_four: '7777' })
  })

  it('needs approve to write and read to list, and reaches no other tenant', async () => {
    const { id, key } = await newTenant()
    const other = await newTenant()
    const writer = await newKey(id, ['chat', 'write', 'jobs'])
    const reader = await newKey(id, ['read'])
    expect((await store(writer)).status).toBe(403)
    await store(key)
    expect((await call('DELETE', `${path}/DEPLOY_TOKEN`, { key: writer })).status).toBe(403)
    expect((await call('GET', path, { key: writer })).status).toBe(403)
    expect(await listOf(reader)).toHaveLength(1)
    expect(await listOf(other.key)).toEqual([])
    const foreign = await call('DELETE', `${path}/DEPLOY_TOKEN`, { key: other.key })
    const unknown = await call('DELETE', `${path}/NO_SUCH_TOKEN`, { key: other.key })
    expect([foreign.status, foreign.body]).toEqual([404, unknown.body])
  })

  it('writes to the audit log who stored and deleted what', async () => {
    const { key } = await newTenant()
    await store(key)
    await call('DELETE', `${path}/DEPLOY_TOKEN`, { key })
    type Entry = { kind: string; subject: string; actor: string; details: object }
    const entries = await until(async () => {
      const { data } = (await call<{ data: Entry[] }>('GET', '/api/audit?kind=secret', { key })).body
      return data.length === 2 ? data : undefined
    })
    expect(entries).toMatchObject([
      { kind: 'secret.removed', subject: 'DEPLOY_TOKEN', actor: expect.stringMatching(/^key:/) },
      { kind: 'secret.added', subject: 'DEPLOY_TOKEN', details: { last_four: 'ands', replaced: false } },
    ])
    expect(JSON.stringify(entries)).not.toContain(canary)
  })
})

const digest = 'printf %s "$DEPLOY_TOKEN" | sha256sum'
const shell = (command: string, more: object = {}) => calls({ name: 'terminal', input: { command, ...more } })

/** Runs commands that use and print the secret. Returns the results of their calls. */
async function runCommands(key: string, settings: object = {}) {
  const scripted = model([
    shell(digest),
    shell('echo "it is $DEPLOY_TOKEN"; printf %s "$DEPLOY_TOKEN" | base64; export COPY="a $DEPLOY_TOKEN"; export D=1'),
    shell('echo "copy ${COPY:-none} ${D:-none}"; echo "$DEPLOY_TOKEN" > kept.txt'),
    calls({ name: 'read_file', input: { path: 'kept.txt' } }),
    calls({
      name: 'execute_code',
      input: { code: `console.log(JSON.stringify(await terminal({ command: ${JSON.stringify(digest)} })))` },
    }),
    shell(`${digest}; echo "$DEPLOY_TOKEN"`, { background: true, notify_on_complete: true }),
    says('Done.'),
    says('It ended.'),
  ])
  const session = await newSession({ model: scripted.id, settings }, key)
  const stream = await request('POST', `/api/sessions/${session.id}/chat/stream`, {
    key,
    body: { input: 'Deploy it.' },
  })
  const events = await stream.text()
  expect(events).toContain('tool.complete')
  // The notice about the background command has begun a turn.
  await until(() => scripted.requests.length >= 8)
  const messages = await until(async () => {
    const { body } = await call<{ data: { role: string; content: string | null }[] }>(
      'GET',
      `/api/sessions/${session.id}/messages`,
      { key },
    )
    return body.data.some(({ content }) => content?.includes('It ended.')) ? body.data : undefined
  })
  const results = messages.filter(({ role }) => role === 'tool').map(({ content }) => content ?? '')
  const notice = messages.findLast(({ role }) => role === 'user')?.content ?? ''
  return { session: session.id, events, scripted, results, notice, messages }
}

async function grantedTenant() {
  const tenant = await newTenant()
  await store(tenant.key)
  const body = { terminal: { secrets: ['DEPLOY_TOKEN'] }, approvals: { mode: 'off' } }
  expect((await call('PATCH', '/api/settings', { key: tenant.key, body })).status).toBe(200)
  return tenant
}

const forms = [canary, btoa(canary).slice(0, -4), encodeURIComponent(canary), JSON.stringify(canary).slice(1, -1)]
const formsIn = (text: string) => forms.filter((form) => text.includes(form))

/** All rows of the session that stay after the turn, except the contents of files and the output of jobs. */
const stepsOf = (session: string, tenant: string) =>
  runInDurableObject(objectOf(session, tenant), async (_object, { storage: { sql } }) =>
    JSON.stringify(sql.exec('SELECT * FROM step').toArray()),
  )

it('commands get a granted secret, and no result, event, row, log or prompt shows it', async () => {
  const logged: string[] = []
  for (const level of ['debug', 'info', 'log', 'warn', 'error'] as const)
    vi.spyOn(console, level).mockImplementation((...parts: unknown[]) => void logged.push(parts.map(String).join(' ')))
  const { id, key } = await grantedTenant()
  const { session, events, scripted, results, notice, messages } = await runCommands(key)
  const hash = await hashOf(canary)
  expect([results[0], results[4], notice].filter((text) => text?.includes(hash))).toHaveLength(3)
  expect(results[1]).toContain('it is ***')
  expect(results[2]).toContain('copy none 1')
  expect(results[3]).toContain('***')
  expect(notice).toContain('***')
  const exported = await (await request('GET', `/api/sessions/${session}/export?format=json`, { key })).text()
  const database: string[] = []
  for (const table of ['session', 'page', 'audit'])
    database.push(JSON.stringify((await bindings.DB.prepare(`SELECT * FROM ${table}`).all()).results))
  const shown = { events, messages, prompts: scripted.requestTexts, exported, logged, database }
  for (const [where, value] of Object.entries({ ...shown, steps: await stepsOf(session, id) }))
    expect([where, formsIn(typeof value === 'string' ? value : JSON.stringify(value))]).toEqual([where, []])
  expect(scripted.requestTexts[0]).toContain('masked in output: DEPLOY_TOKEN')
})

it('a session that narrows the grant, a tenant without one, and another tenant have nothing', async () => {
  const empty = await hashOf('')
  const granted = await grantedTenant()
  const [ungranted, other] = [await newTenant(), await newTenant()]
  await store(ungranted.key)
  for (const { key } of [ungranted, other])
    await call('PATCH', '/api/settings', { key, body: { approvals: { mode: 'off' } } })
  await call('PATCH', '/api/settings', { key: other.key, body: { terminal: { secrets: ['DEPLOY_TOKEN'] } } })
  const runs = [
    await runCommands(granted.key, { terminal: { secrets: [] } }),
    await runCommands(ungranted.key),
    await runCommands(other.key),
  ]
  for (const { results, notice, scripted } of runs) {
    expect([results[0], results[4], notice].filter((text) => text?.includes(empty))).toHaveLength(3)
    expect(results[1]).not.toContain('***')
    expect(scripted.requestTexts.join('')).not.toContain('masked in output')
  }
})

it('the next turn has a replaced value, and nothing of a deleted secret', async () => {
  const { key } = await grantedTenant()
  const scripted = model([shell(digest), says('1'), shell(digest), says('2'), shell(digest), says('3')])
  const { id } = await newSession({ model: scripted.id }, key)
  const ask = () => call('POST', `/api/sessions/${id}/chat`, { key, body: { input: 'Go.' } })
  await ask()
  await store(key, 'DEPLOY_TOKEN', 'another-value-0002')
  await ask()
  await call('DELETE', `${path}/DEPLOY_TOKEN`, { key })
  await ask()
  const results = scripted.requests
    .at(-1)!
    .messages.filter(({ role }) => role === 'tool')
    .map(({ content }) => content)
  for (const [at, value] of [canary, 'another-value-0002', ''].entries())
    expect(JSON.stringify(results[at])).toContain(await hashOf(value))
})
