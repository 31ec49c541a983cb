/**
 * Tests walls between tenants on every route of the OpenAPI document: with every kind of id and every kind of key. The
 * answers for another tenant's id and for an unknown one are the same bytes, and no answer, log or prompt has a word of
 * another tenant.
 */

import { memoryOf } from '#durable/tenant/memory/memory.ts'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { scopes } from '#agent/core/permission/authority.ts'
import { newRunId } from '#durable/platform/ids.ts'
import { firstRows } from '../support/long.ts'
import { calls, model, says, until } from '../support/scripted-model.ts'
import { ownerAuthority } from '../support/authority.ts'
import {
  adminKey,
  applyMigrations,
  bindings,
  call,
  newKey,
  newSession,
  newTenant,
  request,
  type RequestOptions,
} from './client.ts'
import { connectApp } from './connect-app.ts'
import { fillPath, listOperations, type Operation, sample } from './document.ts'

type Ids = Readonly<Record<string, string>>
/** Ids by the kind of what they name. */
type Resources = { readonly session: string } & Ids
type Scripted = ReturnType<typeof model>
type Tenant = {
  readonly id: string
  readonly key: string
  readonly canary: string
  readonly models: readonly Scripted[]
  readonly own: Resources
  readonly deleted: Resources
}

const logged: string[] = []
let alice: Tenant
let bob: Tenant
let operations: readonly Operation[]
let keys: Readonly<Record<'none' | 'revoked' | 'suspended', string | null>>
const lacking: Record<string, string> = {}
let cases = 0

let people = 1_000
const keyIdOf = (presented: string): string => /^tal_([a-z2-7]{16})_/.exec(presented)?.[1] ?? ''

const newest = async (path: string, key: string, session: string): Promise<string> =>
  until(async () => {
    const { body } = await call<{ data: { id: string; session_id: string }[] }>('GET', path, { key })
    return body.data.find((one) => one.session_id === session)?.id
  })

/** Makes one resource of each kind, all with the canary in their names and contents. */
async function makeResources(
  { id, key }: Pick<Tenant, 'id' | 'key'>,
  canary: string,
  models: Scripted[],
): Promise<Resources> {
  const scripted = (text: string) => {
    const made = model([says(text)])
    models.push(made)
    return made.id
  }
  const { id: session } = await newSession({ model: scripted(`answer ${canary}`), title: canary }, key)
  const chat = await call<{ run_id: string }>('POST', `/api/sessions/${session}/chat`, { key, body: { input: canary } })
  for (const path of ['a.txt', `${canary}.txt`])
    await request('PUT', `/api/sessions/${session}/files/${path}`, { key, body: canary })
  await call('PUT', `/api/sessions/${session}/goal`, { key, body: { text: canary, state: 'draft' } })
  const response = await call<{ id: string }>('POST', '/v1/responses', {
    key,
    body: { model: scripted(canary), input: canary },
  })
  const form = new FormData()
  form.set('file', new File([canary], `${canary}.txt`))
  const encoded = new Response(form)
  const file = await call<{ id: string }>('POST', '/v1/files', {
    key,
    body: new Uint8Array(await encoded.arrayBuffer()),
    headers: { 'content-type': encoded.headers.get('content-type') ?? '' },
  })
  const credential = await call<{ id: string }>('POST', '/api/credentials', {
    key,
    body: { provider: 'anthropic', key: crypto.randomUUID(), name: canary },
  })
  const secret = { name: `S_${crypto.randomUUID().replaceAll('-', '_').toUpperCase()}`, value: crypto.randomUUID() }
  await call('POST', '/api/secrets', { key, body: secret })
  const entry = `${canary} ${crypto.randomUUID().slice(0, 8)}`
  const site = `https://${canary}.example.com`
  await call('POST', '/api/vault', {
    key,
    body: { name: entry, origins: [site], fields: { password: canary.repeat(4) } },
  })
  const skill = `skill-${crypto.randomUUID().slice(0, 8)}`
  const content = `---\nname: ${skill}\ndescription: ${canary}\n---\n\n${canary}\n`
  await call('POST', '/api/skills', { key, body: { name: skill, content } })
  await call('PUT', `/api/skills/${skill}/files/a.txt`, { key, body: canary })
  await call('PATCH', '/api/settings', { key, body: { memory: { write_approval: true } } })
  const remembered = { target: 'memory', operations: [{ action: 'add', content: `${canary} ${++people}` }] } as const
  const staged = await memoryOf(bindings.TENANT.getByName(`t/${id}`)).change(ownerAuthority(id), remembered)
  const job = await call<{ id: string }>('POST', '/api/jobs', {
    key,
    body: { name: `${canary} ${crypto.randomUUID()}`, prompt: canary, schedule: 'every 1d' },
  })
  const batch = await call<{ id: string }>('POST', '/api/batches', {
    key,
    body: { name: canary, prompts: [{ prompt: canary }] },
  })
  const channel = await call<{ id: string }>('POST', '/api/channels', {
    key,
    body: {
      platform: 'telegram',
      name: canary,
      secrets: { bot_token: '123456:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA', webhook_secret: crypto.randomUUID() },
    },
  })
  const plugin = `p-${crypto.randomUUID().slice(0, 8)}`
  const code = `export const hooks = { post_tool_call: { run: () => '${canary}' } }`
  await call('POST', '/api/plugins', { key, body: { name: plugin, code } })
  const project = await call<{ id: string }>('POST', '/api/projects', {
    key,
    body: { name: canary, instructions: canary },
  })
  await request('PUT', `/api/projects/${project.body.id}/files/a.txt`, { key, body: canary })
  const hook = await call<{ id: string }>('POST', '/api/hooks', {
    key,
    body: { url: `https://${canary}.example.com/`, events: ['subagent_stop'] },
  })
  const person = `${++people}`
  const issued = await bindings.TENANT.getByName(`t/${id}`).pairing.check(
    ownerAuthority(id),
    { platform: 'telegram', person, name: canary },
    true,
  )
  const pairing = issued.kind === 'code' ? issued.code : ''
  await call('POST', '/api/pairing/approve', { key, body: { platform: 'telegram', code: pairing } })
  const login = await call<{ id: string }>('POST', '/api/admin/logins', {
    body: { tenant_id: id, issuer: 'https://id.example.com', audience: canary, name: canary, scopes: ['read'] },
  })
  const waits = async (name: string, input: object) => {
    const asking = model([calls({ id: 'c', name, input })])
    models.push(asking)
    const waiting = await newSession({ model: asking.id }, key)
    await call('POST', '/v1/runs', { key, body: { input: canary, session_id: waiting.id } })
    return waiting.id
  }
  await call('PATCH', '/api/settings', { key, body: { approvals: { mode: 'manual' }, instructions: canary } })
  const [asks, needs] = [
    await waits('clarify', { question: canary }),
    await waits('terminal', { command: `rm -rf ${canary}` }),
  ]
  return {
    session,
    run: chat.body.run_id,
    response: response.body.id,
    file: file.body.id,
    credential: credential.body.id,
    secret: secret.name,
    job: job.body.id,
    batch: batch.body.id,
    skill,
    memory: staged.kind === 'staged' ? staged.id : '',
    channel: channel.body.id,
    plugin,
    hook: hook.body.id,
    app: (await connectApp(key, { name: canary })).id,
    project: project.body.id,
    person: `telegram:${person}`,
    login: login.body.id,
    key: keyIdOf(await newKey(id, ['read'], { name: canary })),
    tenant: id,
    path: `${canary}.txt`,
    question: await newest('/api/questions', key, asks),
    entry,
    approval: await newest('/api/approvals', key, needs),
    asking: asks,
    needing: needs,
  }
}

async function makeTenant(canary: string): Promise<Tenant> {
  const { id, key } = await newTenant()
  const models: Scripted[] = []
  const make = () => makeResources({ id, key }, canary, models)
  const [own, deleted] = [await make(), await make()]
  expect(Object.entries(own).filter(([, value]) => !value)).toEqual([])
  const remove = async (path: string) => void (await call('DELETE', path, { key }))
  for (const session of [deleted.session, deleted['asking'], deleted['needing']])
    await remove(`/api/sessions/${session}`)
  await remove(`/v1/responses/${deleted['response']}`)
  await remove(`/v1/files/${deleted['file']}`)
  await remove(`/api/credentials/${deleted['credential']}`)
  await remove(`/api/secrets/${deleted['secret']}`)
  await remove(`/api/vault/${encodeURIComponent(String(deleted['entry']))}`)
  await remove(`/api/skills/${deleted['skill']}`)
  await call('POST', `/api/memory/pending/${deleted['memory']}`, { key, body: { decision: 'reject' } })
  await remove(`/api/jobs/${deleted['job']}`)
  await remove(`/api/batches/${deleted['batch']}`)
  await remove(`/api/channels/${deleted['channel']}`)
  await remove(`/api/plugins/${deleted['plugin']}`)
  await remove(`/api/hooks/${deleted['hook']}`)
  await remove(`/api/apps/${deleted['app']}`)
  await remove(`/api/projects/${deleted['project']}`)
  await remove(`/api/pairing/${deleted['person']}`)
  await call('DELETE', `/api/admin/logins/${deleted['login']}`)
  await call('DELETE', `/api/admin/keys/${deleted['key']}`)
  return { id, key, canary, models, own, deleted: { ...deleted, tenant: await deletedTenant() } }
}

/** The id of a tenant that does not exist any more. */
async function deletedTenant(): Promise<string> {
  const { id } = await newTenant()
  await call('DELETE', `/api/admin/tenants/${id}`)
  await bindings.DB.prepare('DELETE FROM tenant WHERE id = ?').bind(id).run()
  return id
}

const unknown: Resources = {
  session: 'ses_00000000000000000000000000000000',
  run: newRunId('ses_00000000000000000000000000000000'),
  response: `resp_${'0'.repeat(48)}.ses_${'0'.repeat(32)}`,
  file: `file-${'0'.repeat(32)}`,
  credential: `cred_${'0'.repeat(32)}`,
  secret: 'NEVER_STORED',
  entry: 'never-stored',
  job: '0'.repeat(12),
  batch: `batch_${'0'.repeat(32)}`,
  skill: 'never-stored',
  memory: `mem_${'0'.repeat(32)}`,
  channel: `ch_${'0'.repeat(32)}`,
  plugin: 'never-made',
  hook: `hook_${'0'.repeat(32)}`,
  app: `app_${'0'.repeat(32)}`,
  project: `proj_${'0'.repeat(32)}`,
  person: 'telegram:0',
  login: `login_${'0'.repeat(32)}`,
  key: 'a'.repeat(16),
  tenant: 'never-made',
  path: 'never-made.txt',
  question: 'ses_00000000000000000000000000000000.run_0.1.c',
  approval: 'ses_00000000000000000000000000000000.run_0.1.c',
}
const malformed: Resources = Object.fromEntries(
  Object.keys(unknown).map((kind) => [kind, '%00..\u{1F600} x']),
) as Resources

/** The kind of resource that `id` names, by the beginning of the path. */
const kinds: readonly (readonly [RegExp, string])[] = [
  [/^\/api\/sessions\/\{/, 'session'],
  [/^\/v1\/runs\/\{/, 'run'],
  [/^\/v1\/responses\/\{/, 'response'],
  [/^\/v1\/files\/\{/, 'file'],
  [/^\/api\/credentials\/\{/, 'credential'],
  [/^\/api\/secrets\/\{/, 'secret'],
  [/^\/api\/vault\/\{/, 'entry'],
  [/^\/api\/skills\/\{/, 'skill'],
  [/^\/api\/memory\/pending\/\{/, 'memory'],
  [/^\/api\/jobs\/\{/, 'job'],
  [/^\/api\/batches\/\{/, 'batch'],
  [/^\/api\/channels\/\{/, 'channel'],
  [/^\/api\/hooks\/\{/, 'hook'],
  [/^\/api\/apps\/\{/, 'app'],
  [/^\/api\/projects\/\{/, 'project'],
  [/^\/api\/plugins\/\{/, 'plugin'],
  [/^\/api\/pairing\/\{/, 'person'],
  [/^\/api\/admin\/tenants\/\{/, 'tenant'],
  [/^\/api\/admin\/keys\/\{/, 'key'],
  [/^\/api\/admin\/logins\/\{/, 'login'],
  [/^\/api\/questions\/\{/, 'question'],
  [/^\/api\/approvals\/\{/, 'approval'],
]
const kindOf = ({ path }: Operation) => kinds.find(([pattern]) => pattern.test(path))?.[1]

/** Bodies that samples of the schema cannot be. */
const bodies: Readonly<Record<string, object>> = {
  'POST /api/questions/{id}': { answer: 'x' },
  'POST /api/vault': { name: 'x', origins: ['https://x.example.com'], fields: { username: 'x' } },
  'PATCH /api/vault/{entry}': { origins: ['https://x.example.com'], unasked_origins: [] },
  'POST /v1/runs': { input: 'x', session_id: 'never-made' },
  'PATCH /api/sessions/{id}': { title: 'x' },
  'POST /api/jobs': { prompt: 'x', schedule: 'every 1d' },
  'PATCH /api/jobs/{id}': { repeat: 2 },
  'PATCH /api/channels/{id}': { name: 'x' },
  'PATCH /api/skills/{name}': { pinned: true },
  'POST /api/skills/{name}/publish': { repository: 'acme/skills' },
  'PATCH /api/projects/{id}': { name: 'x' },
  'POST /api/projects': { name: 'x' },
  'PATCH /api/admin/tenants/{id}': { name: 'x' },
  'POST /api/admin/tenants/{id}/history': { database: 'HISTORY_1' },
}

function optionsFor(operation: Operation, key: string | null): RequestOptions {
  const { method, path, body } = operation
  if (method === 'GET' || method === 'DELETE') return { key }
  return { key, body: bodies[`${method} ${path}`] ?? (body ? sample(body) : 'bytes') }
}

/** `inside`: ids of what belongs to the resource. */
function addressOf(
  { path, parameters }: Operation,
  resources: Ids,
  kind: string | undefined,
  inside: Ids = { ...resources, path: 'a.txt' },
): string {
  const run = inside['run'] ?? 'x'
  const filled = fillPath(path, {
    id: resources[kind ?? ''] ?? 'x',
    run,
    name: resources[kind === 'skill' || kind === 'plugin' ? kind : 'secret'] ?? 'x',
    n: inside['n'] ?? '1',
    delivery: 'x',
    entry: resources['entry'] ?? 'x',
    share: 'share_x',
    path: inside['path'] ?? 'x',
    attachment: inside['attachment'] ?? 'msg_1.0',
  })
  const query = parameters.flatMap((one) => (one.in === 'query' && one.required ? [`${one.name}=canary`] : []))
  return query.length ? `${filled}?${query.join('&')}` : filled
}

const volatile = new Set(['date', 'retry-after'])

/** The answer without what names the time. A stream is only begun. */
async function ask(operation: Operation, address: string, key: string | null) {
  cases++
  const response = await request(operation.method, address, optionsFor(operation, key))
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream')
  const text = isStream ? '' : await response.text()
  if (isStream) await response.body?.cancel()
  const headers = [...response.headers].filter(([name]) => !volatile.has(name)).toSorted()
  return { status: response.status, headers: JSON.stringify(headers), text }
}

const withKey = () => operations.filter(({ scope }) => scope !== null)
const isAdmin = ({ path }: Operation) => path.startsWith('/api/admin/')
/** Inside of a session these are numbers that each session may have. */
const absentInside = { n: '999', attachment: 'msg_999.0' }

type Reference = { readonly query?: string; readonly body?: object; readonly headers?: Record<string, string> }
/** Requests that name something by its id elsewhere than in the path. */
const references: readonly (readonly [string, (ids: Resources) => Reference])[] = [
  ['GET /api/audit', ({ session }) => ({ query: `session_id=${session}` })],
  ['GET /api/audit', ({ key = '' }) => ({ query: `actor=key:${key}` })],
  ['POST /v1/responses', ({ response }) => ({ body: { input: 'x', previous_response_id: response } })],
  [
    'POST /v1/responses',
    ({ file }) => ({ body: { input: [{ role: 'user', content: [{ type: 'input_file', file_id: file }] }] } }),
  ],
  [
    'POST /v1/chat/completions',
    ({ file }) => ({ body: { messages: [{ role: 'user', content: [{ type: 'file', file: { file_id: file } }] }] } }),
  ],
  [
    'POST /v1/runs',
    ({ file }) => ({ body: { input: [{ role: 'user', content: [{ type: 'input_file', file_id: file }] }] } }),
  ],
]
const nameOf = ({ method, path }: Operation) => `${method} ${path}`

beforeAll(async () => {
  await applyMigrations()
  for (const level of ['debug', 'info', 'log', 'warn', 'error'] as const)
    vi.spyOn(console, level).mockImplementation((...parts: unknown[]) => void logged.push(parts.map(String).join(' ')))
  operations = await listOperations()
  alice = await makeTenant('canaryalice')
  bob = await makeTenant('canarybob')
  for (const scope of scopes)
    lacking[scope] = await newKey(
      alice.id,
      scopes.filter((one) => one !== scope),
    )
  const [revoked, suspended] = [await newKey(alice.id, scopes), await newTenant()]
  await call('DELETE', `/api/admin/keys/${keyIdOf(revoked)}`)
  await call('PATCH', `/api/admin/tenants/${suspended.id}`, { body: { status: 'suspended' } })
  keys = { none: null, revoked, suspended: suspended.key }
})
afterAll(() => vi.restoreAllMocks())

/** Every kind of id, as the tenant `self` sees it beside the tenant `other`. */
const idKinds = (self: Tenant, other: Tenant): Readonly<Record<string, Resources>> => ({
  own: self.own,
  other: other.own,
  unknown,
  deleted: self.deleted,
  malformed,
})

describe('every route of the document', () => {
  // Every route refuses a key at the same place: one key tries all of them, and each other one those of a seed.
  it.each([
    ['none', 401, 1],
    ['revoked', 401, 3],
    ['suspended', 403, 3],
  ] as const)('refuses the key "%s" with the same bytes for every id', async (name, status, part) => {
    for (const operation of firstRows(0, withKey(), Math.ceil(withKey().length / part))) {
      const kind = kindOf(operation)
      const answers = await Promise.all(
        Object.values(idKinds(alice, bob)).map((ids) => ask(operation, addressOf(operation, ids, kind), keys[name])),
      )
      for (const answer of answers)
        expect([nameOf(operation), answer]).toEqual([nameOf(operation), { ...answers[0], status }])
    }
  })

  it('refuses a key without its scope with the same bytes for every id', async () => {
    for (const operation of withKey()) {
      const key = lacking[operation.scope ?? ''] ?? ''
      const answers = await Promise.all(
        Object.values(idKinds(alice, bob)).map((ids) =>
          ask(operation, addressOf(operation, ids, kindOf(operation)), key),
        ),
      )
      for (const answer of answers)
        expect([nameOf(operation), answer]).toEqual([nameOf(operation), { ...answers[0], status: 403 }])
    }
  })

  it('answers for ids of another tenant, deleted and malformed ones as for unknown ones', async () => {
    for (const [self, other] of [
      [alice, bob],
      [bob, alice],
    ] as const)
      for (const operation of withKey().filter((one) => kindOf(one) && !isAdmin(one))) {
        const kind = kindOf(operation)
        const answerFor = (ids: Ids) => ask(operation, addressOf(operation, ids, kind), self.key)
        const [theirs, none] = [await answerFor(other.own), await answerFor(unknown)]
        const [deleted, bad] = [await answerFor(self.deleted), await answerFor(malformed)]
        expect([nameOf(operation), none.status]).toEqual([nameOf(operation), 404])
        expect([nameOf(operation), theirs]).toEqual([nameOf(operation), none])
        expect([nameOf(operation), deleted]).toEqual([nameOf(operation), none])
        expect([nameOf(operation), bad.status, bad.text]).toEqual([nameOf(operation), 404, none.text])
      }
  })

  it('of the operator answers a key of a tenant with the same bytes for every id', async () => {
    for (const operation of withKey().filter(isAdmin)) {
      const kind = kindOf(operation)
      const answers = await Promise.all(
        Object.values(idKinds(alice, bob)).map((ids) => ask(operation, addressOf(operation, ids, kind), alice.key)),
      )
      for (const answer of answers)
        expect([nameOf(operation), answer]).toEqual([nameOf(operation), { ...answers[0], status: 403 }])
    }
  })

  it('of the operator answers the operator for deleted and malformed ids as for unknown ones', async () => {
    for (const operation of withKey().filter((one) => isAdmin(one) && kindOf(one))) {
      const kind = kindOf(operation)
      const answerFor = (ids: Ids) => ask(operation, addressOf(operation, ids, kind), adminKey)
      const none = await answerFor(unknown)
      expect([nameOf(operation), none.status]).toEqual([nameOf(operation), 404])
      expect([nameOf(operation), await answerFor(alice.deleted)]).toEqual([nameOf(operation), none])
      const bad = await answerFor(malformed)
      expect([nameOf(operation), bad.status, bad.text]).toEqual([nameOf(operation), 404, none.text])
    }
  })

  it('answers for what a session of another tenant has as for what no session has', async () => {
    // Writing a file makes it, whatever its name is elsewhere.
    const inner = withKey().filter(
      ({ method, path }) => method !== 'PUT' && /^\/api\/sessions\/\{id\}\/.*\{/.test(path),
    )
    expect(inner.length).toBeGreaterThanOrEqual(5)
    for (const [self, other] of [
      [alice, bob],
      [bob, alice],
    ] as const)
      for (const operation of inner) {
        const answerFor = (ids: Ids) =>
          ask(operation, addressOf(operation, { ...ids, session: self.own.session }, 'session', ids), self.key)
        const none = await answerFor({ ...unknown, ...absentInside })
        expect([nameOf(operation), none.status]).toEqual([nameOf(operation), 404])
        for (const ids of [other.own, other.deleted])
          expect([nameOf(operation), await answerFor({ ...ids, ...absentInside })]).toEqual([nameOf(operation), none])
        expect((await answerFor({ ...malformed, n: 'x', attachment: '\u{1F600}' })).status).toBeLessThan(500)
      }
  })

  it.each(references)('%s answers for ids of another tenant as for unknown ones', async (name, refer) => {
    const [method = '', path = ''] = name.split(' ')
    const answerFor = async (self: Tenant, ids: Resources) => {
      cases++
      const { query, body, headers } = refer(ids)
      const response = await request(method, query ? `${path}?${query}` : path, {
        key: self.key,
        ...(body && { body }),
        ...(headers && { headers }),
      })
      return { status: response.status, text: await response.text() }
    }
    for (const [self, other] of [
      [alice, bob],
      [bob, alice],
    ] as const) {
      const none = await answerFor(self, unknown)
      const withoutIds = ({ status, text }: typeof none, ids: Resources) => {
        const named = Object.values(ids).filter((id) => id.length > 12)
        // The id of a response ends with that of its session.
        named.sort((one, next) => next.length - one.length)
        return { status, text: named.reduce((left, id) => left.replaceAll(id, 'ID'), text) }
      }
      expect(none.status, none.text).not.toBe(500)
      for (const ids of [other.own, other.deleted])
        expect(withoutIds(await answerFor(self, ids), ids)).toEqual(withoutIds(none, unknown))
    }
  })

  it('shows pages of the own lists only, also with a cursor of another tenant', async () => {
    const lists = withKey().filter(
      (one) =>
        one.method === 'GET' &&
        !isAdmin(one) &&
        !one.path.includes('{path}') &&
        one.parameters.some(({ name }) => name === 'cursor'),
    )
    expect(lists.length).toBeGreaterThan(8)
    for (const operation of lists) {
      const kind = kindOf(operation)
      const pageOf = (tenant: Tenant, query: string) => {
        const address = addressOf(operation, tenant.own, kind)
        return ask(operation, `${address}${address.includes('?') ? '&' : '?'}${query}`, tenant.key)
      }
      const { next_cursor: cursor } = JSON.parse((await pageOf(bob, 'limit=1')).text) as { next_cursor?: string | null }
      if (!cursor) continue
      const page = await pageOf(alice, `limit=100&cursor=${encodeURIComponent(cursor)}`)
      expect([nameOf(operation), page.status < 500, page.text.includes(bob.canary)]).toEqual([
        nameOf(operation),
        true,
        false,
      ])
    }
  })

  it('shows the owner what is theirs, and nobody else a word of it', async () => {
    const seen = { own: 0, foreign: [] as string[] }
    for (const [self, other] of [
      [alice, bob],
      [bob, alice],
    ] as const)
      for (const operation of withKey().filter(({ method }) => method === 'GET')) {
        const kind = kindOf(operation)
        const own = await ask(operation, addressOf(operation, self.own, kind), self.key)
        const theirs = kind ? await ask(operation, addressOf(operation, other.own, kind), self.key) : own
        if (own.text.includes(self.canary)) seen.own++
        const all = [own, theirs].map(({ text, headers }) => text + headers).join('')
        if (all.includes(other.canary)) seen.foreign.push(nameOf(operation))
      }
    expect(seen.foreign).toEqual([])
    expect(seen.own).toBeGreaterThan(20)
  })

  it('leaves no word of a tenant in a log or in a prompt of another', () => {
    expect(logged.filter((line) => /canary(?:alice|bob)/.test(line))).toEqual([])
    for (const [self, other] of [
      [alice, bob],
      [bob, alice],
    ] as const) {
      const prompts = self.models.map(({ requests }) => JSON.stringify(requests)).join('\n')
      expect(prompts).toContain(self.canary)
      expect(prompts).not.toContain(other.canary)
    }
  })

  it('was asked in at least 1,500 ways', () => {
    expect(cases).toBeGreaterThanOrEqual(1_500)
  })
})
