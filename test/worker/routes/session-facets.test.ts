/** Tests facets of sessions: counts, tools, tags and a line, in lists and in one session, through undo, copies and restarts. */

import { beforeAll, describe, expect, it } from 'vitest'
import { itInTurn } from '#test/support/long.ts'
import { calls, model, says, until } from '../../support/scripted-model.ts'
import { evict, wipe } from '../../durable/support/object.ts'
import { applyMigrations, bindings, call, type ErrorBody, newSession, newTenant, request } from '../client.ts'

beforeAll(applyMigrations)

type Facets = {
  readonly id: string
  readonly message_count: number
  readonly tool_call_count: number | null
  readonly tools: readonly { readonly name: string; readonly calls: number }[]
  readonly tags: readonly string[]
  readonly summary: string | null
}
const pick = ({ message_count, tool_call_count, tools, tags, summary }: Facets) => ({
  message_count,
  tool_call_count,
  tools,
  tags,
  summary,
})

/** The session by its object, when its line of the list has the same facets. */
async function facetsOf(id: string, key?: string) {
  const ask = key === undefined ? {} : { key }
  return until(async () => {
    const one = pick((await call<Facets>('GET', `/api/sessions/${id}`, ask)).body)
    const { data } = (await call<{ data: Facets[] }>('GET', '/api/sessions?limit=200', ask)).body
    const listed = data.find((session) => session.id === id)
    return listed && JSON.stringify(pick(listed)) === JSON.stringify(one) ? one : undefined
  })
}

const chat = (id: string, input: string, key?: string) =>
  call('POST', `/api/sessions/${id}/chat`, { body: { input }, ...(key !== undefined && { key }) })

const tool = (name: string, input: object = {}) => calls({ name, input })
const worker = () =>
  model([
    tool('todo'),
    tool('todo'),
    says('# Done\n\nI have **listed** it.'),
    tool('memory', { action: 'x' }),
    says('No.'),
  ])

describe('facets of a session', () => {
  it('count its messages, calls and tools, and go back with an undo', async () => {
    const { id } = await newSession({ model: worker().id })
    const fresh = { message_count: 0, tool_call_count: 0, tools: [], tags: [], summary: null }
    expect(await facetsOf(id)).toEqual(fresh)
    await chat(id, 'first')
    const first = { ...fresh, message_count: 6, tool_call_count: 2, tools: [{ name: 'todo', calls: 2 }] }
    expect(await facetsOf(id)).toEqual({ ...first, summary: 'I have listed it.' })
    await evict(id)
    await chat(id, 'second')
    const tools = [...first.tools, { name: 'memory', calls: 1 }]
    expect(await facetsOf(id)).toEqual({ ...fresh, message_count: 10, tool_call_count: 3, tools, summary: 'No.' })
    const { data } = (await call<{ data: unknown[] }>('GET', `/api/sessions/${id}/messages`)).body
    expect(data).toHaveLength(10)
    await evict(id)
    await call('POST', `/api/sessions/${id}/undo`, { body: {} })
    expect(await facetsOf(id)).toEqual({ ...first, summary: 'I have listed it.' })
    await evict(id)
    expect(await facetsOf(id)).toEqual({ ...first, summary: 'I have listed it.' })
    await call('POST', `/api/sessions/${id}/undo`, { body: {} })
    expect(await facetsOf(id)).toEqual(fresh)
  })

  itInTurn('are those of a fork, of a part of it, and of an import', async () => {
    const { id } = await newSession({ model: worker().id, tags: ['work'] })
    const { body: run } = await chat(id, 'first')
    await chat(id, 'second')
    const whole = await facetsOf(id)
    expect(whole?.message_count).toBe(10)
    const fork = (body: object) => call<Facets>('POST', `/api/sessions/${id}/fork`, { body })
    expect(pick((await fork({})).body)).toEqual(whole)
    const part = (await fork({ through: run['run_id'] })).body
    expect(await facetsOf(part.id)).toMatchObject({ message_count: 6, tool_call_count: 2, tags: ['work'] })
    await evict(part.id)
    await chat(part.id, 'on')
    expect((await facetsOf(part.id))?.message_count).toBe(8)
    for (const format of ['json', 'jsonl']) {
      const body = await (await request('GET', `/api/sessions/${id}/export?format=${format}`)).text()
      const imported = await call<Facets>('POST', '/api/sessions/import', { body })
      expect(await facetsOf(imported.body.id)).toEqual(whole)
    }
  })

  it('of a session that lost its object come back from history', async () => {
    const { id } = await newSession({ model: worker().id, tags: ['kept'] })
    await chat(id, 'first')
    const before = await facetsOf(id)
    await wipe(id)
    expect(await facetsOf(id)).toEqual(before)
    await chat(id, 'second')
    expect(await facetsOf(id)).toMatchObject({ message_count: 10, tags: ['kept'] })
  })

  itInTurn('of an older session are counted with its next turn', async () => {
    const { id } = await newSession({ model: worker().id })
    await chat(id, 'first')
    await facetsOf(id)
    const old =
      'UPDATE session SET message_count = NULL, tool_call_count = NULL, tools = NULL, line = NULL WHERE id = ?'
    await bindings.DB.prepare(old).bind(id).run()
    const listed = async () =>
      (await call<{ data: Facets[] }>('GET', '/api/sessions?limit=200')).body.data.find((one) => one.id === id)
    expect(await listed()).toMatchObject({ message_count: 6, tool_call_count: null, tools: [], summary: null })
    await chat(id, 'second')
    expect(await facetsOf(id)).toMatchObject({ message_count: 10, tool_call_count: 3 })
  })

  it('have no secret of the tenant in the line', async () => {
    const { key } = await newTenant()
    const secret = 'correct-horse-battery-staple-9'
    await call('POST', '/api/secrets', { key, body: { name: 'CODE', value: secret } })
    const { id } = await newSession({ model: model(() => says(`The code is ${secret}.`)).id }, key)
    await chat(id, 'go', key)
    const { summary } = (await facetsOf(id, key))!
    expect(summary).toMatch(/^The code is /)
    expect(summary).not.toContain('horse')
  })
})

describe('tags', () => {
  it('are set, replaced and removed, and filter lists of their tenant alone', async () => {
    const [ours, theirs] = [await newTenant(), await newTenant()]
    const body = { tags: [' work ', 'Q3 report', 'work', '调研'] }
    const created = await call<Facets>('POST', '/api/sessions', { key: ours.key, body })
    expect(created.body.tags).toEqual(['work', 'Q3 report', '调研'])
    await call('POST', '/api/sessions', { key: theirs.key, body })
    const { id } = created.body
    const found = async (query: string, { key } = ours) =>
      (await call<{ data: Facets[] }>('GET', `/api/sessions?${query}`, { key })).body.data.map((one) => one.id)
    expect(await until(async () => (await found('tag=work')).length > 0)).toBe(true)
    expect(await found(`tag=${encodeURIComponent('调研')}`)).toEqual([id])
    expect([await found('tag=WORK'), await found('tag=wor'), await found('tool=todo')]).toEqual([[], [], []])
    expect(await found('tag=work', theirs)).not.toContain(id)
    const patch = (tags: unknown, key = ours.key) =>
      call<Facets & ErrorBody>('PATCH', `/api/sessions/${id}`, { key, body: { tags } })
    expect((await patch(['other'], theirs.key)).status).toBe(404)
    expect((await patch(['home'])).body.tags).toEqual(['home'])
    expect([await found('tag=work'), await found('tag=home')]).toEqual([[], [id]])
    expect((await call('PATCH', `/api/sessions/${id}`, { key: ours.key, body: { title: 'T' } })).body['tags']).toEqual([
      'home',
    ])
    expect((await patch([])).body.tags).toEqual([])
    expect(await found('tag=home')).toEqual([])
  })

  it.each([
    ['too many', Array.from({ length: 21 }, (_, i) => `t${i}`)],
    ['a long one', ['x'.repeat(51)]],
    ['an empty one', ['  ']],
    ['half a character', ['a\ud800']],
    ['a line break', ['a\nb']],
    ['no text', [1]],
    ['no list', 'work'],
    ['null', null],
  ])('with %s are refused by name', async (_, tags) => {
    const { id } = await newSession()
    for (const [method, path] of [
      ['PATCH', `/api/sessions/${id}`],
      ['POST', '/api/sessions'],
    ] as const) {
      const { status, body } = await call<ErrorBody>(method, path, { body: { tags } })
      expect(status).toBe(400)
      expect(body.error.param).toMatch(/^tags/)
    }
    const imported = { session: { tags }, messages: [] }
    expect((await call('POST', '/api/sessions/import', { body: imported })).status).toBe(400)
  })

  itInTurn('take twenty of fifty characters', async () => {
    const tags = Array.from({ length: 20 }, (_, i) => String(i).padStart(50, 'é'))
    const { id } = await newSession({ tags })
    expect((await call<Facets>('GET', `/api/sessions/${id}`)).body.tags).toEqual(tags)
  })
})
