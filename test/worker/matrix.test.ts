/**
 * Tests walls between tenants on every route of the OpenAPI document: with every kind of id and every kind of key. The
 * answers for another tenant's id and for an unknown one are the same bytes, and no answer, log or prompt has a word of
 * another tenant.
 */

import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { scopes } from '../../src/agent/model/authority.ts'
import { newRunId } from '../../src/durable/platform/ids.ts'
import { calls, model, says, until } from '../support/scripted-model.ts'
import { applyMigrations, call, newKey, newSession, newTenant, request, type RequestOptions } from './client.ts'
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

const newest = async (path: string, key: string, session: string): Promise<string> =>
  until(async () => {
    const { body } = await call<{ data: { id: string; session_id: string }[] }>('GET', path, { key })
    return body.data.find((one) => one.session_id === session)?.id
  })

/** Makes one resource of each kind, all with the canary in their names and contents. */
async function makeResources(key: string, canary: string, models: Scripted[]): Promise<Resources> {
  const scripted = (text: string) => {
    const made = model([says(text)])
    models.push(made)
    return made.id
  }
  const { id: session } = await newSession({ model: scripted(`answer ${canary}`), title: canary }, key)
  const chat = await call<{ run_id: string }>('POST', `/api/sessions/${session}/chat`, { key, body: { input: canary } })
  await request('PUT', `/api/sessions/${session}/files/a.txt`, { key, body: canary })
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
    body: { provider: 'groq', key: crypto.randomUUID(), name: canary },
  })
  const secret = { name: `S_${crypto.randomUUID().replaceAll('-', '_').toUpperCase()}`, value: crypto.randomUUID() }
  await call('POST', '/api/secrets', { key, body: secret })
  const channel = await call<{ id: string }>('POST', '/api/channels', {
    key,
    body: {
      platform: 'telegram',
      name: canary,
      secrets: { bot_token: '123456:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA', webhook_secret: crypto.randomUUID() },
    },
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
    channel: channel.body.id,
    question: await newest('/api/questions', key, asks),
    approval: await newest('/api/approvals', key, needs),
    asking: asks,
    needing: needs,
  }
}

async function makeTenant(canary: string): Promise<Tenant> {
  const { id, key } = await newTenant()
  const models: Scripted[] = []
  const [own, deleted] = [await makeResources(key, canary, models), await makeResources(key, canary, models)]
  const remove = async (path: string) => void (await call('DELETE', path, { key }))
  for (const session of [deleted.session, deleted['asking'], deleted['needing']])
    await remove(`/api/sessions/${session}`)
  await remove(`/v1/responses/${deleted['response']}`)
  await remove(`/v1/files/${deleted['file']}`)
  await remove(`/api/credentials/${deleted['credential']}`)
  await remove(`/api/secrets/${deleted['secret']}`)
  await remove(`/api/channels/${deleted['channel']}`)
  return { id, key, canary, models, own, deleted }
}

const unknown: Resources = {
  session: 'ses_00000000000000000000000000000000',
  run: newRunId('ses_00000000000000000000000000000000'),
  response: `resp_${'0'.repeat(48)}.ses_${'0'.repeat(32)}`,
  file: `file-${'0'.repeat(32)}`,
  credential: `cred_${'0'.repeat(32)}`,
  secret: 'NEVER_STORED',
  channel: `ch_${'0'.repeat(32)}`,
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
  [/^\/api\/channels\/\{/, 'channel'],
  [/^\/api\/questions\/\{/, 'question'],
  [/^\/api\/approvals\/\{/, 'approval'],
]
const kindOf = ({ path }: Operation) => kinds.find(([pattern]) => pattern.test(path))?.[1]

/** Bodies that samples of the schema cannot be. */
const bodies: Readonly<Record<string, object>> = {
  'POST /v1/runs': { input: 'x', session_id: 'never-made' },
  'PATCH /api/sessions/{id}': { title: 'x' },
  'PATCH /api/channels/{id}': { name: 'x' },
  'PATCH /api/admin/tenants/{id}': { name: 'x' },
}

function optionsFor(operation: Operation, key: string | null): RequestOptions {
  const { method, path, body } = operation
  if (method === 'GET' || method === 'DELETE') return { key }
  return { key, body: bodies[`${method} ${path}`] ?? (body ? sample(body) : 'bytes') }
}

function addressOf({ path, parameters }: Operation, resources: Ids, kind: string | undefined): string {
  const run = resources['run'] ?? 'x'
  const filled = fillPath(path, {
    id: resources[kind ?? ''] ?? 'x',
    run,
    name: resources['secret'] ?? 'x',
    n: '1',
    path: 'a.txt',
    attachment: 'msg_1.0',
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
  const revokedId = /^tal_([a-z2-7]{16})_/.exec(revoked)?.[1]
  await call('DELETE', `/api/admin/keys/${revokedId}`)
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
  it.each([
    ['none', 401],
    ['revoked', 401],
    ['suspended', 403],
  ] as const)('refuses the key "%s" with the same bytes for every id', async (name, status) => {
    for (const operation of withKey()) {
      const kind = kindOf(operation)
      const answers = []
      for (const ids of Object.values(idKinds(alice, bob)))
        answers.push(await ask(operation, addressOf(operation, ids, kind), keys[name]))
      for (const answer of answers)
        expect([nameOf(operation), answer]).toEqual([nameOf(operation), { ...answers[0], status }])
    }
  })

  it('refuses a key without its scope with the same bytes for every id', async () => {
    for (const operation of withKey()) {
      const answers = []
      for (const ids of Object.values(idKinds(alice, bob)))
        answers.push(
          await ask(operation, addressOf(operation, ids, kindOf(operation)), lacking[operation.scope ?? ''] ?? ''),
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
      for (const operation of withKey().filter((one) => kindOf(one))) {
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
