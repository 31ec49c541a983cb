/** Tests model facts from public catalogs, and context windows learned from the errors of providers. */

import { env } from 'cloudflare:workers'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type Catalog, lookUpModel, emptyCatalog } from '#agent/providers/catalog/model-lookup.ts'
import { createModelCatalog } from '#db/model-catalog.ts'
import { loadCatalog } from '#durable/models/catalog.ts'
import { fails, model, says } from '../../support/scripted-model.ts'
import { bindings, call, applyMigrations, newSession, newTenant } from '../../worker/client.ts'

beforeAll(applyMigrations)

type Answer = () => Response
const origin = 'https://catalog.test'
const pages = new Map<string, Answer>()
let fetched: string[] = []
const outside = globalThis.fetch.bind(globalThis)
globalThis.fetch = async (input: RequestInfo | URL, init?: RequestInit) => {
  const url = input instanceof Request ? input.url : String(input)
  if (!url.startsWith(origin)) return outside(input, init)
  fetched.push(url.slice(origin.length))
  return pages.get(url.slice(origin.length))?.() ?? new Response('not here', { status: 404 })
}

const models = '/router/models'
const list = '/api.json'
const deployment = (more: Readonly<Record<string, string>> = {}): Env => {
  const variables = { OPENROUTER_BASE_URL: `${origin}/router`, MODEL_CATALOG_URL: origin + list, ...more }
  return { ...(env as unknown as Env), ...variables }
}
const day = 86_400_000
const answered =
  (document: unknown): Answer =>
  () =>
    Response.json(document)

const live = {
  data: [{ id: 'new/model', context_length: 100_000, pricing: { prompt: '0.000001', completion: '0.000002' } }],
}
const listed = {
  openai: { models: { 'gpt-5': { limit: { context: 500_000, output: 9 }, cost: { input: 1, output: 2 } } } },
  openrouter: { models: { 'new/model': { limit: { context: 7, output: 8 } } } },
  deepseek: { models: { 'deepseek-v4': { limit: { context: 5 } } } },
}

beforeEach(async () => {
  fetched = []
  pages.clear()
  await bindings.DB.prepare('DELETE FROM catalog').run()
})

describe('the public catalogs', () => {
  it('are fetched once a day for all isolates', async () => {
    pages.set(models, answered(live)).set(list, answered(listed))
    const first = await loadCatalog(deployment(), 1_000)
    expect(fetched.toSorted()).toEqual([list, models])
    expect(lookUpModel({ provider: 'openrouter', model: 'new/model', catalog: first })).toMatchObject({
      contextWindow: 100_000,
      maxOutput: 8,
      source: 'provider',
      prices: { input: 1, output: 2 },
    })
    expect(lookUpModel({ provider: 'openai', model: 'gpt-5', catalog: first })).toMatchObject({
      contextWindow: 500_000,
    })
    expect(await loadCatalog(deployment(), day)).toEqual(first)
    expect(fetched).toHaveLength(2)
    pages.set(models, answered({ data: [{ id: 'new/model', context_length: 200_000 }] }))
    const later = await loadCatalog(deployment(), day + 1_001)
    expect(fetched).toHaveLength(4)
    expect(lookUpModel({ provider: 'openrouter', model: 'new/model', catalog: later })).toMatchObject({
      contextWindow: 200_000,
    })
  })

  it('are fetched only for providers in use', async () => {
    pages.set(list, answered(listed))
    const names = async () => (await createModelCatalog(bindings.DB).list()).map(({ name }) => name).toSorted()
    await loadCatalog(deployment({ OPENROUTER_API_KEY: '' }), 1)
    expect(fetched).toEqual([list])
    expect(await names()).toEqual(['models.dev:openai'])
  })

  it('are fetched at once for a provider that a tenant has a new key for', async () => {
    pages.set(list, answered(listed))
    const load = (now: number, ...paid: string[]) =>
      loadCatalog(deployment({ OPENROUTER_API_KEY: '' }), now, new Set(paid))
    const windowOf = (catalog: Catalog | undefined) =>
      lookUpModel({ provider: 'deepseek', model: 'deepseek-v4', catalog }).contextWindow
    expect(windowOf(await load(1))).not.toBe(5)
    expect(windowOf(await load(2, 'deepseek'))).toBe(5)
    // A provider without a catalog is not fetched again and again.
    await load(3, 'deepseek', 'xai')
    await load(4, 'deepseek', 'xai')
    expect(fetched).toEqual([list, list, list])
    expect(windowOf(await load(5, 'deepseek', 'xai'))).toBe(5)
  })

  it('are fetched by one of several concurrent requests', async () => {
    pages.set(models, answered(live)).set(list, answered(listed))
    await Promise.all(Array.from({ length: 5 }, () => loadCatalog(deployment(), 5)))
    expect(fetched.toSorted()).toEqual([list, models])
  })

  it.each<readonly [string, Answer]>([
    ['is down', () => new Response('no', { status: 503 })],
    ['sends something else', () => new Response('<html>')],
    ['sends another document', answered([1, 2])],
    [
      'cannot be reached',
      () => {
        throw new TypeError('network connection lost')
      },
    ],
  ])('stay unchanged when one %s', async (_case, broken) => {
    pages.set(models, answered(live)).set(list, answered(listed))
    const first = await loadCatalog(deployment(), 1)
    pages.set(models, broken).set(list, broken)
    const second = await loadCatalog(deployment(), day + 2)
    expect(second).toEqual(first)
    // The next fetch is a day later.
    await loadCatalog(deployment(), day + 3)
    expect(fetched).toHaveLength(4)
  })

  it('are not read when they are too large', async () => {
    const megabyte = new Uint8Array(1024 * 1024).fill(32)
    let sent = 0
    const endless = () =>
      new Response(
        new ReadableStream({
          pull: (controller) => {
            sent++
            controller.enqueue(megabyte)
          },
        }),
      )
    pages.set(list, endless)
    expect(await loadCatalog(deployment({ OPENROUTER_API_KEY: '' }), 1)).toEqual(emptyCatalog)
    expect(sent).toBeLessThan(30)
  })

  it('are not fetched when they are turned off or no provider is in use', async () => {
    expect(await loadCatalog(deployment({ MODEL_CATALOG_URL: 'off' }), 1)).toBe(undefined)
    expect(await loadCatalog(deployment({ OPENROUTER_API_KEY: '', OPENAI_API_KEY: '' }), 1)).toBe(undefined)
    expect(fetched).toEqual([])
  })
})

describe('an unknown context window', () => {
  const say = (id: string, input: string, key: string) =>
    call('POST', `/api/sessions/${id}/chat`, { body: { input }, key })
  type Known = { readonly data: readonly { id: string; context_window: number; source: string }[] }
  it('is learned from the provider for the tenant alone', async () => {
    const one = await newTenant()
    const other = await newTenant()
    const words = "This model's maximum context length is 98304 tokens."
    const scripted = model([says('first'), fails(400, words), says('a summary'), says('second')])
    const { id } = await newSession({ model: scripted.id }, one.key)
    await say(id, 'one '.repeat(400), one.key)
    await say(id, 'two', one.key)
    const settings = { body: { models: { [scripted.id]: { images: false } } } }
    const windowFor = async ({ id: tenant, key }: { id: string; key: string }) => {
      await call('PATCH', '/api/settings', { ...settings, key })
      const kept = (await bindings.TENANT.getByName(`t/${tenant}`).snapshot()).windows
      const known = (await call<Known>('GET', '/api/settings/models', { key })).body.data
      return [kept[scripted.id], known.find((each) => each.id === scripted.id)?.context_window]
    }
    expect(await windowFor(one)).toEqual([98_304, 98_304])
    expect(await windowFor(other)).toEqual([undefined, 256_000])
  })

  it('is used for later calls: a conversation that is too long is compressed before it is sent', async () => {
    const tenant = await newTenant()
    const scripted = model(({ tools }, nth) => {
      if (nth === 0) return fails(400, 'maximum context length is 20000 tokens')
      return says(tools ? 'fine' : 'what was said before')
    })
    const { id } = await newSession({ model: scripted.id }, tenant.key)
    await say(id, 'one', tenant.key)
    for (const word of ['two', 'three', 'four']) await say(id, `${word} `.repeat(6_000), tenant.key)
    const asked = scripted.requests.slice(1)
    expect(asked.some(({ tools }) => !tools)).toBe(true)
    expect(JSON.stringify(asked.at(-1)?.messages)).toContain('what was said before')
  })

  it('is not learned when a catalog states it', async () => {
    const tenant = await newTenant()
    const scripted = model([fails(400, 'maximum context length is 70000 tokens')])
    const settings = { models: { [scripted.id]: { context_window: 200_000 } } }
    const { id } = await newSession({ model: scripted.id, settings }, tenant.key)
    await say(id, 'hello', tenant.key)
    expect((await bindings.TENANT.getByName(`t/${tenant.id}`).snapshot()).windows).toEqual({})
  })
})
