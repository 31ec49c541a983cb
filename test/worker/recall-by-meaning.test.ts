/** Tests the search by meaning: synonyms, isolation, failures, undo, deletion, and that it costs nothing when it is off. */

import { runDurableObjectAlarm, runInDurableObject } from 'cloudflare:test'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { itInTurn } from '#test/support/long.ts'
import { replaceClock } from '#durable/platform/clock.ts'
import { forgetSnapshot } from '#durable/tenant/tenant-snapshot.ts'
import { answerRequests } from '../support/answered-requests.ts'
import { createSkippingClock } from '../support/clock.ts'
import { model, says, until } from '../support/scripted-model.ts'
import { applyMigrations, bindings, call, newSession, newTenant } from './client.ts'

beforeAll(applyMigrations)

/** Words with the same meaning share a dimension. */
const meanings = [/\b(car|automobile|vehicle)\b/i, /\b(invoice|bill)\b/i, /\b(doctor|physician)\b/i, /\b(boat|ship)\b/i]
const embedText = (text: string) => [0.01, ...meanings.map((meaning) => (meaning.test(text) ? 1 : 0))]

let requests: (readonly string[])[] = []
let respond: (texts: readonly string[]) => Response | Promise<Response>
const answerVectors = (texts: readonly string[]) =>
  Response.json({
    data: texts.map((text, index) => ({ index, embedding: embedText(text) })),
    usage: { prompt_tokens: 9, total_tokens: 9 },
  })
async function answer(request: Request): Promise<Response> {
  const { input } = await request.json<{ input: readonly string[] }>()
  requests.push(input)
  return respond(input)
}
const end = answerRequests((url, input, init) =>
  url === 'https://model.test/v1/embeddings' ? answer(new Request(input as RequestInfo, init)) : undefined,
)
afterAll(end)

let clock: ReturnType<typeof createSkippingClock>
beforeEach(() => {
  requests = []
  respond = answerVectors
  clock = createSkippingClock()
  replaceClock(clock)
})
afterEach(() => replaceClock())

type Tenant = Awaited<ReturnType<typeof newTenant>>
const stubOf = ({ id }: Tenant) => bindings.TENANT.getByName(`t/${id}`)

async function setModel(tenant: Tenant, name: string | null = 'openai/embedder'): Promise<void> {
  const body = { search: { embedding_model: name } }
  const { status } = await call('PATCH', '/api/settings', { key: tenant.key, body })
  expect(status).toBe(200)
  forgetSnapshot(tenant.id)
}

async function talk({ key }: Tenant, input: string, session?: string): Promise<string> {
  const id = session ?? (await newSession({ model: model(() => says('Noted.')).id }, key)).id
  await call('POST', `/api/sessions/${id}/chat`, { key, body: { input } })
  return id
}

async function find({ key }: Tenant, query: string): Promise<readonly string[]> {
  const { status, body } = await call<{ data: { session_id: string }[] }>('GET', `/api/search?${query}`, { key })
  expect(status).toBe(200)
  return body.data.map((hit) => hit.session_id)
}

const countRows = (tenant: Tenant) =>
  runInDurableObject(stubOf(tenant), (_object, { storage: { sql } }) => {
    const names = sql.exec<{ name: string }>("SELECT name FROM sqlite_master WHERE name GLOB 'recall_*'").toArray()
    return names.reduce((sum, { name }) => sum + Number(sql.exec(`SELECT count(*) AS n FROM ${name}`).one()['n']), 0)
  })

/** Rings the alarm of the tenant until the search answers as wanted. */
const ringUntil = (tenant: Tenant, isReached: () => Promise<boolean>) =>
  until(async () => {
    clock.pass(2_000)
    await runDurableObjectAlarm(stubOf(tenant))
    return isReached()
  })
const ringUntilFound = (tenant: Tenant, query: string, session: string) =>
  ringUntil(tenant, async () => (await find(tenant, query)).includes(session))

describe('the search by meaning', () => {
  it('finds old and new sessions without a common word, and only those of the tenant', async () => {
    const [one, other] = [await newTenant(), await newTenant()]
    const old = await talk(one, 'I sold my automobile yesterday')
    const foreign = await talk(other, 'My automobile is red')
    await setModel(one)
    await setModel(other)
    await ringUntilFound(one, 'q=vehicle', old)
    await ringUntilFound(other, 'q=vehicle', foreign)
    const fresh = await talk(one, 'The physician called me')
    await talk(one, 'Nothing of interest')
    await ringUntilFound(one, 'q=doctor', fresh)
    expect(await find(one, 'q=vehicle')).toEqual([old])
    expect(await find(other, 'q=vehicle')).toEqual([foreign])
    expect(await find(other, 'q=doctor')).toEqual([])
  })

  it('joins what was found by words, and keeps to filters, demands and orders', async () => {
    const tenant = await newTenant()
    await setModel(tenant)
    const [worded, meant] = [await talk(tenant, 'The invoice is due'), await talk(tenant, 'Pay the bill on Monday')]
    await ringUntilFound(tenant, 'q=invoice', meant)
    expect((await find(tenant, 'q=invoice')).toSorted()).toEqual([worded, meant].toSorted())
    expect(await find(tenant, `q=invoice&session=${worded}`)).toEqual([worded])
    expect(await find(tenant, 'q=invoice&source=telegram')).toEqual([])
    expect(await find(tenant, 'q=invoice&after=2099')).toEqual([])
    expect(await find(tenant, 'q=invoice&sort=newest')).toEqual([worded])
    expect(await find(tenant, `q=${encodeURIComponent('"invoice"')}`)).toEqual([worded])
    expect(await find(tenant, `q=${encodeURIComponent('invoice -bill')}`)).toEqual([worded])
  })

  itInTurn('is part of the usage', async () => {
    const tenant = await newTenant()
    const session = await talk(tenant, 'My ship has sailed')
    await setModel(tenant)
    await ringUntilFound(tenant, 'q=boat', session)
    // Times of the test's clock lie ahead of the days that the report sums.
    const readInput = async () => {
      const { body } = await call<{ data: { key: string; input: number }[] }>('GET', '/api/usage?group=model', tenant)
      return body.data.find(({ key }) => key === 'openai/embedder')?.input ?? 0
    }
    expect(await until(async () => (await readInput()) >= 18)).toBe(true)
  })

  it('costs nothing when it is off, and leaves nothing when it is turned off', async () => {
    const tenant = await newTenant()
    const session = await talk(tenant, 'The automobile is new')
    expect(await find(tenant, 'q=vehicle')).toEqual([])
    await runDurableObjectAlarm(stubOf(tenant))
    expect([requests, await countRows(tenant)]).toEqual([[], 0])
    await setModel(tenant)
    await ringUntilFound(tenant, 'q=vehicle', session)
    await setModel(tenant, null)
    await ringUntil(tenant, async () => (await countRows(tenant)) === 0)
    requests = []
    expect(await find(tenant, 'q=vehicle')).toEqual([])
    expect(requests).toEqual([])
  })

  itInTurn('leaves the words when the model fails or hangs', async () => {
    const tenant = await newTenant()
    await setModel(tenant)
    const session = await talk(tenant, 'The automobile is old')
    await ringUntilFound(tenant, 'q=vehicle', session)
    respond = () => Response.json({ error: { message: 'broken' } }, { status: 400 })
    expect(await find(tenant, 'q=automobile')).toEqual([session])
    replaceClock()
    respond = () => new Promise<Response>(() => undefined)
    const started = Date.now()
    expect(await find(tenant, 'q=automobile+old')).toEqual([session])
    expect(Date.now() - started).toBeLessThan(4_000)
  })

  it('forgets what was undone or deleted', async () => {
    const tenant = await newTenant()
    const { key } = tenant
    await setModel(tenant)
    const deleted = await talk(tenant, 'The automobile is blue')
    const undone = await talk(tenant, 'The invoice is late')
    await talk(tenant, 'The ship is late', undone)
    await ringUntilFound(tenant, 'q=vehicle', deleted)
    await ringUntilFound(tenant, 'q=boat', undone)
    const rows = await countRows(tenant)
    await call('DELETE', `/api/sessions/${deleted}`, { key })
    await call('POST', `/api/sessions/${undone}/undo`, { key, body: {} })
    await until(async () => (await find(tenant, 'q=boat')).length === 0)
    expect(await find(tenant, 'q=vehicle')).toEqual([])
    await ringUntil(tenant, async () => (await countRows(tenant)) < rows)
    expect(await find(tenant, 'q=bill')).toEqual([undone])
  })
})
