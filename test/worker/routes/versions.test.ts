/** Tests the versions of an answer: they stay reachable, and one that is chosen takes the place of the current one. */

import { beforeAll, describe, expect, it } from 'vitest'
import { model, says } from '../../support/scripted-model.ts'
import { applyMigrations, call, newSession, newTenant } from '../client.ts'

beforeAll(applyMigrations)

type Group = {
  readonly message_id: string
  readonly versions: readonly { readonly id: string; readonly preview: string; readonly current: boolean }[]
}
type Messages = { readonly data: readonly { readonly content: string; readonly run_id: string }[] }

async function open(answers: readonly string[]) {
  const { key } = await newTenant()
  const scripted = model(answers.map((answer) => says(answer)))
  const { id } = await newSession({ model: scripted.id }, key)
  const at = `/api/sessions/${id}`
  const post = <T = Record<string, unknown>>(path: string, body: object) =>
    call<T>('POST', `${at}/${path}`, { key, body })
  const words = async () =>
    (await call<Messages>('GET', `${at}/messages`, { key })).body.data.map(({ content }) => content)
  const runOf = async (text: string) =>
    (await call<Messages>('GET', `${at}/messages`, { key })).body.data.find(({ content }) => content === text)?.run_id
  const idle = async () => {
    await expect.poll(async () => (await call('GET', at, { key })).body['status']).toBe('idle')
  }
  return {
    key,
    id,
    scripted,
    words,
    runOf,
    post,
    say: (input: string) => post('chat', { input }),
    again: async () => {
      await post('retry', {})
      await idle()
    },
    versions: async () => (await call<{ data: readonly Group[] }>('GET', `${at}/versions`, { key })).body.data,
    hasVersions: async () => (await call('GET', at, { key })).body['has_versions'],
    choose: (version: string) => post<{ data: readonly Group[] }>('versions', { version }),
  }
}

const currentOf = ({ versions }: Group) => [versions.findIndex(({ current }) => current) + 1, versions.length]

describe('versions of an answer', () => {
  it('stay reachable after it was asked for again, and go on from where they were', async () => {
    const { say, again, words, versions, hasVersions, choose, scripted } = await open([
      'qone',
      'qtwo',
      'qthree',
      'qmore',
    ])
    await say('hello')
    expect(await versions()).toEqual([])
    expect(await hasVersions()).toBe(false)
    await again()
    expect(await hasVersions()).toBe(true)
    await again()
    expect(await words()).toEqual(['hello', 'qthree'])
    const [group] = await versions()
    expect(group && currentOf(group)).toEqual([3, 3])
    const chosen = await choose(group?.versions[0]?.id ?? '')
    expect(chosen.status).toBe(200)
    expect(chosen.body.data.map(currentOf)).toEqual([[1, 3]])
    expect(await words()).toEqual(['hello', 'qone'])
    await say('go on')
    expect(await words()).toEqual(['hello', 'qone', 'go on', 'qmore'])
    expect(JSON.stringify(scripted.requests.at(-1))).toMatch(/qone/)
    expect(JSON.stringify(scripted.requests.at(-1))).not.toMatch(/qtwo|qthree/)
    await choose(group?.versions[2]?.id ?? '')
    expect(await words()).toEqual(['hello', 'qthree'])
    await choose(group?.versions[0]?.id ?? '')
    expect(await words()).toEqual(['hello', 'qone', 'go on', 'qmore'])
  })

  it('are there of any message that was changed, also within another version', async () => {
    const { say, again, words, versions, choose, post, runOf } = await open(['1', '2', '2b', 'x', 'y'])
    await say('a')
    await say('b')
    await again()
    await post('undo', { run_id: await runOf('a'), replaced: true })
    await say('c')
    expect(await words()).toEqual(['c', 'x'])
    const [group] = await versions()
    expect(group?.versions.map(({ preview }) => preview)).toEqual(['a', 'c'])
    expect((await choose(group?.versions[0]?.id ?? '')).body.data.map(currentOf).toSorted()).toEqual([
      [1, 2],
      [2, 2],
    ])
    expect(await words()).toEqual(['a', '1', 'b', '2b'])
    const inner = (await versions()).find(({ versions: all }) => all[0]?.preview === 'b')
    await choose(inner?.versions[0]?.id ?? '')
    expect(await words()).toEqual(['a', '1', 'b', '2'])
    expect((await choose('msg_99')).status).toBe(404)
    expect((await choose('nonsense')).status).toBe(404)
  })

  it('are none after an undo, in a fork, and of another tenant', async () => {
    const { id, key, say, again, versions, post } = await open(['1', '2'])
    await say('a')
    await post('undo', { n: 1 })
    expect(await versions()).toEqual([])
    await say('a')
    await again()
    expect(await versions()).toHaveLength(1)
    const fork = await post<{ id: string }>('fork', {})
    const forked = await call<{ data: unknown[] }>('GET', `/api/sessions/${fork.body.id}/versions`, { key })
    expect(forked.body.data).toEqual([])
    const other = await newTenant()
    for (const method of ['GET', 'POST']) {
      const body = method === 'POST' ? { body: { version: 'msg_1' } } : {}
      expect((await call(method, `/api/sessions/${id}/versions`, { key: other.key, ...body })).status).toBe(404)
    }
    expect((await post('undo', { n: 1, run_id: 'x' })).status).toBe(400)
  })

  it('are found by the search while they are current, and cost once', async () => {
    const { key, say, again, versions, choose } = await open(['walnut', 'hazel'])
    await say('which tree')
    await again()
    const found = async (word: string) =>
      (await call<{ data: unknown[] }>('GET', `/api/search?q=${word}`, { key })).body.data.length
    const tokens = async () => (await call('GET', '/api/usage', { key })).body['totals']
    await expect.poll(() => found('hazel')).toBe(1)
    const before = await tokens()
    const [group] = await versions()
    await choose(group?.versions[0]?.id ?? '')
    await expect.poll(() => found('walnut')).toBe(1)
    expect(await found('hazel')).toBe(0)
    expect(await tokens()).toEqual(before)
  })
})
