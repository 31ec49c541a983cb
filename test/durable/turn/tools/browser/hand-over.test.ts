/** Tests the vault, the hand-over to a person and the profiles of a session's browser, with a scripted browser. */

import { runInDurableObject } from 'cloudflare:test'
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { BrowserAction } from '#agent/core/browser/browser.ts'
import { findLeaseProblem } from '#durable/turn/tools/browser/hand-over.ts'
import { deployment } from '#test/support/deployment.ts'
import { calls, model, type Reply, says, type ScriptedCall, until } from '#test/support/scripted-model.ts'
import { applyMigrations, call, type ErrorBody, newSession, newTenant } from '#test/worker/client.ts'
import { listMessages } from '#test/worker/listen.ts'
import { objectOf } from '#test/durable/support/object.ts'
import { ScriptedBrowser } from './scripted-browser.ts'

let browser: ScriptedBrowser
let key: string
let tenant: string

beforeAll(applyMigrations)
beforeEach(async () => {
  browser = new ScriptedBrowser()
  deployment.browser = browser as unknown as NonNullable<typeof deployment.browser>
  const made = await newTenant()
  key = made.key
  tenant = made.id
})
afterEach(() => void delete deployment.browser)

const origin = 'https://shop.example.com'
const navigate: ScriptedCall = { name: 'browser_navigate', input: { url: `${origin}/` } }
const fillAt = (site: string): ScriptedCall => ({
  name: 'browser_fill',
  input: { entry: 'shop', origin: site, fields: [{ ref: 'e3', field: 'username' }] },
})
const username = 'ann.arbor@example.com'
const entry = { name: 'shop', origins: [origin], fields: { username, password: 'Sommer-Regen-2026!' } }
const store = (more: object = {}) => call<ErrorBody>('POST', '/api/vault', { key, body: { ...entry, ...more } })

type Result = Readonly<Record<string, unknown>>
const results = async (id: string): Promise<readonly Result[]> =>
  (await listMessages<{ readonly role: string; readonly content: unknown }>(id, key))
    .filter(({ role }) => role === 'tool')
    .map(({ content }) => JSON.parse(String(content)) as Result)

async function start(steps: readonly ScriptedCall[], settings: object = {}) {
  const replies: Reply[] = [...steps.map((one) => calls(one)), says('Done.')]
  const { id } = await newSession({ model: model(replies).id, settings }, key)
  const run = call<{ status: string }>('POST', `/api/sessions/${id}/chat`, { key, body: { input: 'go on' } })
  return { id, run }
}

type Waiting = { readonly id: string } & Result
const waiting = (path: string) =>
  until(async () => (await call<{ data: readonly Waiting[] }>('GET', path, { key })).body.data[0])
const answer = (path: string, body: object) => call('POST', path, { key, body })

describe('the vault', () => {
  it.each([
    ['a path', { origins: [`${origin}/login`] }, 'origins.0'],
    ['no encryption', { origins: ['http://shop.example.com'] }, 'origins.0'],
    ['a site that is none of its own', { unasked_origins: ['https://a.example.com'] }, 'unasked_origins'],
    ['a short password', { fields: { password: 'short' } }, 'fields.password'],
    ['no secret for codes', { fields: { totp: 'not base 32!' } }, 'fields.totp'],
    ['no fields', { fields: {} }, 'fields'],
  ])('refuses an entry with %s', async (_, more, param) => {
    const { status, body } = await store(more)
    expect([status, body.error.param]).toEqual([400, param])
  })

  it('lists names and never values, changes sites, and deletes', async () => {
    expect((await store()).status).toBe(201)
    const sites = { origins: [origin, 'https://www.example.com'], unasked_origins: [origin] }
    expect((await call('PATCH', '/api/vault/shop', { key, body: sites })).body).toMatchObject(sites)
    const { body } = await call('GET', '/api/vault', { key })
    expect(body).toMatchObject({ data: [{ name: 'shop', fields: ['username', 'password'], ...sites }] })
    expect(JSON.stringify(body)).not.toMatch(/ann\.arbor|Sommer/)
    expect((await call('DELETE', '/api/vault/shop', { key })).status).toBe(204)
    expect((await call('DELETE', '/api/vault/shop', { key })).status).toBe(404)
  })

  it('asks before each fill, also where approvals are off, and hides what the browser got', async () => {
    await store()
    await call('PATCH', '/api/settings', { key, body: { approvals: { mode: 'off' } } })
    const { id, run } = await start([navigate, fillAt(origin), fillAt(origin)])
    for (const [decision, done] of [
      ['once', 2],
      ['deny', 3],
    ] as const) {
      const approval = await waiting('/api/approvals')
      expect(approval).toMatchObject({ tool: 'browser_fill', reasons: [`it fills in "shop" at ${origin}`] })
      expect(approval['choices']).toEqual(['once', 'deny'])
      await answer(`/api/approvals/${approval.id}`, { decision })
      await until(async () => (await results(id)).length >= done || undefined)
    }
    await run
    expect((await results(id)).slice(1)).toMatchObject([
      { success: true, filled: ['username'] },
      { status: 'denied', error: expect.any(String) },
    ])
    expect(browser.given.filter((text) => text.includes(username))).toHaveLength(1)
    expect(JSON.stringify(await results(id))).not.toContain(username)
  })

  it('asks nobody where the entry needs no word, and does nothing for another site', async () => {
    await store({ unasked_origins: [origin] })
    const allowed = await start([navigate, fillAt(origin)])
    await allowed.run
    expect((await results(allowed.id)).at(-1)).toMatchObject({ success: true, entry: 'shop' })
    const refused = await start([navigate, fillAt('https://evil.example')])
    const approval = await waiting('/api/approvals')
    await answer(`/api/approvals/${approval.id}`, { decision: 'once' })
    await until(async () => (await results(refused.id)).length >= 2 || undefined)
    expect((await results(refused.id)).at(-1)?.['error']).toContain('not for https://evil.example')
  })
})

describe('the hand-over', () => {
  const handOff: ScriptedCall = { name: 'request_handoff', input: { reason: 'Sign in to the shop' } }
  const look = (id: string) => call<Result>('GET', `/api/sessions/${id}/browser`, { key })
  const use = (id: string, body: object) => call<Result>('POST', `/api/sessions/${id}/browser/input`, { key, body })

  it('gives a person the browser until they answer, over a crash, and keeps what they type', async () => {
    const { id } = await start([navigate, handOff, { name: 'browser_snapshot', input: {} }])
    const question = await waiting('/api/questions')
    expect(question).toMatchObject({ message: 'Sign in to the shop', mode: 'url' })
    expect(question['url']).toContain(`#/browser/${id}`)
    expect((await look(id)).body).toMatchObject({
      open: true,
      reason: 'Sign in to the shop',
      handed_over_until: expect.stringMatching(/Z$/),
    })
    // The request that waits for the run holds the object, so that it is killed and not evicted.
    await runInDurableObject(objectOf(id, tenant), (_object, state) => state.abort('killed')).catch(() => undefined)
    expect((await use(id, { type: 'text', text: 'my-own-password' })).body).toMatchObject({ width: 1280, height: 800 })
    expect(browser.commands).toContain('Input.insertText')
    const kept = await runInDurableObject(objectOf(id, tenant), (_object, { storage: { sql } }) =>
      JSON.stringify(sql.exec('SELECT body FROM browser').toArray()),
    )
    expect(kept).not.toContain('my-own-password')
    browser.heading = 'Hello my-own-password'
    expect((await answer(`/api/questions/${question.id}`, { action: 'accept' })).status).toBe(200)
    await until(async () => (await results(id)).length >= 3 || undefined)
    const [, taken, shown] = await results(id)
    expect(taken).toMatchObject({ success: true, person_is_done: true })
    expect(shown?.['snapshot']).toContain('Hello ***')
    expect((await look(id)).body).toMatchObject({ handed_over_until: null })
    expect((await use(id, { type: 'key', key: 'Tab' })).status).toBe(409)
    expect((await call('GET', `/api/sessions/${id}/browser/screen`, { key })).status).toBe(200)
  })

  it('ends when the person gives the browser back', async () => {
    const { id } = await start([navigate, handOff])
    const question = await waiting('/api/questions')
    expect((await call('DELETE', `/api/sessions/${id}/browser/lease`, { key })).status).toBe(204)
    expect((await call('DELETE', `/api/sessions/${id}/browser/lease`, { key })).status).toBe(404)
    await answer(`/api/questions/${question.id}`, { action: 'decline' })
    await until(async () => (await results(id)).length >= 2 || undefined)
    expect((await results(id)).at(-1)).toMatchObject({ person_is_done: false })
  })

  const lent = { lease: { until: Date.now() + 60_000, reason: '' } }
  const over = { lease: { until: Date.now() - 1, reason: '' } }
  const snapshot: BrowserAction = { kind: 'snapshot', isFull: false }
  const input: BrowserAction = { kind: 'input', input: { type: 'key', key: 'Tab' } }
  it.each([
    ['a tool', lent, snapshot, /A person has the browser/],
    ['a tool', over, snapshot, /^none$/],
    ['a tool', lent, { kind: 'takeBack', isDone: true }, /^none$/],
    ['a tool', lent, input, /Only a person/],
    ['a tool', {}, { kind: 'screen' }, /Only a person/],
    ['a person', lent, input, /^none$/],
    ['a person', over, input, /The agent has the browser/],
    ['a person', {}, { kind: 'screen' }, /^none$/],
  ] as const)('tells %s whether it may act: %j %j', (who, state, action, problem) => {
    expect(findLeaseProblem(state, action, who === 'a person') ?? 'none').toMatch(problem)
  })
})

it('keeps the cookies of a profile, sealed, for the next browser that has it', async () => {
  const settings = { browser: { profile: 'work' } }
  const first = await start([navigate], settings)
  await first.run
  expect(browser.cookies).toEqual([])
  await call('DELETE', `/api/sessions/${first.id}`, { key })
  const listed = () => call<{ data: readonly Result[] }>('GET', '/api/browser/profiles', { key })
  expect((await listed()).body.data).toMatchObject([{ name: 'work', saved_at: expect.stringMatching(/Z$/) }])
  await (
    await start([navigate], settings)
  ).run
  expect(browser.cookies).toEqual([
    { name: 'login', value: 'a-cookie-of-the-shop', domain: 'shop.example.com', path: '/' },
  ])
  expect((await call('DELETE', '/api/browser/profiles/work', { key })).status).toBe(204)
  expect((await listed()).body.data).toEqual([])
})

it('has several pages, each with a number', async () => {
  const tabs = (input: object): ScriptedCall => ({ name: 'browser_tabs', input })
  const { id, run } = await start([
    navigate,
    tabs({ action: 'open', url: `${origin}/second` }),
    tabs({ action: 'list' }),
    tabs({ action: 'close', page: 2 }),
    tabs({ action: 'close', page: 1 }),
    tabs({ action: 'switch' }),
  ])
  await run
  expect((await results(id)).slice(1)).toMatchObject([
    { page: 2, url: `${origin}/second`, success: true },
    { pages: [{ page: 1 }, { page: 2, in_use: true }] },
    { closed: 2, page: 1, pages: 1 },
    { error: expect.stringContaining('only page') },
    { error: expect.stringContaining('by its number') },
  ])
})
