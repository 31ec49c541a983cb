/** Tests a memory service from the API to the model: the service is a stand-in at its documented address. */

import { evictDurableObject, runInDurableObject } from 'cloudflare:test'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { fenceUntrusted } from '#agent/untrusted/fence.ts'
import { FakeMem0, mem0Key } from '../support/mem0.ts'
import { model, type Reply, says, until } from '../support/scripted-model.ts'
import { objectOf } from '../durable/support/object.ts'
import { applyMigrations, call, newKey, newSession, newTenant, request } from './client.ts'

let service: FakeMem0
const before = globalThis.fetch

beforeAll(async () => {
  await applyMigrations()
  globalThis.fetch = (input: RequestInfo | URL, init?: RequestInit) => {
    const url = input instanceof Request ? input.url : String(input)
    return url.startsWith('https://api.mem0.ai/')
      ? service.respond(new Request(input as RequestInfo, init))
      : before(input, init)
  }
})
beforeEach(() => void (service = new FakeMem0()))
afterAll(() => void (globalThis.fetch = before))

async function newRememberingTenant() {
  const { id, key } = await newTenant()
  await call('POST', '/api/credentials', { key, body: { provider: 'mem0', key: mem0Key } })
  await call('PATCH', '/api/settings', { key, body: { memory: { provider: 'mem0' } } })
  return { id, key }
}

async function start(key: string, replies: readonly Reply[]) {
  const scripted = model(replies)
  const { id } = await newSession({ model: scripted.id }, key)
  const chat = (input: string, sender = key) =>
    call<{ output: string }>('POST', `/api/sessions/${id}/chat`, { key: sender, body: { input } })
  const lastUser = () =>
    String(scripted.requests.at(-1)?.messages.findLast(({ role }) => role === 'user')?.content ?? '')
  return { id, chat, scripted, lastUser }
}

const metadataOf = (sql: SqlStorage): string =>
  sql.exec<{ entries: string }>('SELECT entries FROM step WHERE n = 0').one().entries

const userIdOf = async (): Promise<string> =>
  until(() => service.received.find(({ path }) => path.endsWith('/add/'))?.body['user_id'] as string | undefined)

describe('a memory service', () => {
  it('gets answered turns in the background, and gives its memories to the model alone', async () => {
    const { key } = await newRememberingTenant()
    const first = await start(key, [says('Nice.')])
    await first.chat('I play cricket.')
    const userId = await userIdOf()
    expect(userId).toMatch(/^talaria_[0-9a-f]{40}$/)
    service.memories.push({ userId, text: 'Plays cricket.' })
    const second = await start(key, [says('Cricket.'), says('Still.')])
    await second.chat('What do I play?')
    expect(second.lastUser()).toMatch(
      /^What do I play\?\n\n<untrusted-[0-9a-f]{16} source="memory of mem0">\n[^\n]+\n- Plays cricket\.\n<\/untrusted-[0-9a-f]{16}>$/,
    )
    const shown = await request('GET', `/api/sessions/${second.id}/messages`, { key })
    const exported = await request('GET', `/api/sessions/${second.id}/export?format=json`, { key })
    for (const text of [await shown.text(), await exported.text()]) {
      expect(text).toContain('What do I play?')
      expect(text).not.toMatch(/Plays cricket|untrusted-/)
    }
    // Later requests repeat the same bytes, so that the provider's cache holds.
    const sent = second.lastUser()
    await second.chat('Sure?')
    const users = second.scripted.requests.at(-1)?.messages.filter(({ role }) => role === 'user')
    expect(users?.[0]?.content).toBe(sent)
  })

  it('is not asked for those who reach no memory, and not without a key', async () => {
    const { id, key } = await newRememberingTenant()
    const session = await start(key, [says('One.'), says('Two.')])
    await session.chat('Hello.', await newKey(id, ['chat']))
    const keyless = await newTenant()
    await call('PATCH', '/api/settings', { key: keyless.key, body: { memory: { provider: 'mem0' } } })
    await (await start(keyless.key, [says('Three.')])).chat('Hello.')
    expect(service.received).toEqual([])
  })

  it('is asked after a turn for the next one of the same person, which does not wait', async () => {
    const { id, key } = await newRememberingTenant()
    await call('PATCH', '/api/settings', { key, body: { memory: { prefetch: true } } })
    const {
      id: session,
      chat,
      lastUser,
    } = await start(key, [says('Nice.'), says('Two.'), says('Three.'), says('Four.')])
    const searches = () => service.received.filter(({ path }) => path.endsWith('/search/')).length
    const searched = (count: number) => until(() => searches() >= count)
    await chat('I play cricket.')
    service.memories.push({ userId: await userIdOf(), text: 'Plays cricket.' })
    await searched(1)
    await chat('What next?')
    await searched(2)
    // Stored behind the search.
    await until(async () => {
      await chat('And now?')
      return lastUser().includes('- Plays cricket.')
    })
    // What was found for somebody else is not given to this person.
    const object = objectOf(session, id)
    const held = `"prefetched":{"owner":"keys"`
    await until(() => runInDurableObject(object, (_one, { storage: { sql } }) => metadataOf(sql).includes(held)))
    await runInDurableObject(object, (_one, { storage: { sql } }) => {
      const changed = metadataOf(sql).replace(held, '"prefetched":{"owner":"person:c1:ann"')
      sql.exec('UPDATE step SET entries = ? WHERE n = 0', changed)
    })
    await evictDurableObject(object)
    await chat('And for me?')
    expect(lastUser()).toBe('And for me?')
  })

  it('never stops a turn when it fails', async () => {
    const { key } = await newRememberingTenant()
    service.status = 503
    const session = await start(key, [says('Fine.')])
    expect((await session.chat('Hello.')).body.output).toBe('Fine.')
    expect(session.lastUser()).toBe('Hello.')
  })
})

describe('a fence that a model repeats', () => {
  it('is neither streamed nor stored', async () => {
    const { key } = await newTenant()
    const fence = fenceUntrusted('Plays cricket.', { source: 'memory of mem0', nonce: 'a1b2c3d4e5f60718' })
    const pieces = `You play. ${fence} Enjoy!`.match(/.{1,7}/gsu) ?? []
    const session = await start(key, [says(...pieces)])
    const streamed = await request('POST', `/api/sessions/${session.id}/chat/stream`, {
      key,
      body: { input: 'Hello.' },
    })
    const events = await streamed.text()
    const deltas = [...events.matchAll(/^data: (.*)$/gm)]
      .map(([, data = '{}']) => JSON.parse(data) as { type?: string; delta?: string })
      .map(({ delta = '' }) => delta)
    expect(deltas.join('')).toBe('You play.  Enjoy!')
    expect(events).not.toMatch(/untrusted|cricket/)
    const shown = await request('GET', `/api/sessions/${session.id}/messages`, { key })
    expect(await shown.text()).not.toMatch(/untrusted|cricket/)
  })
})
