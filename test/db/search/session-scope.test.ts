/** Tests which sessions a search looks at: their order by source, and the lineage of the session that searches. */

import { beforeAll, describe, expect, it } from 'vitest'
import { createD1History, createReachableHistory } from '#db/history.ts'
import { countD1, newRowCount } from '../../support/billed-rows.ts'
import { applyMigrations, createPage, createRecord, database, newTenant, noonMs } from '../fixtures.ts'

beforeAll(applyMigrations)

type Given = { readonly id: string; readonly source?: string; readonly parentId?: string; readonly text?: string }

async function setUp(sessions: readonly Given[], db = database) {
  const tenantId = newTenant()
  const store = createD1History(database, tenantId)
  for (const [i, { id, source = 'api', parentId = null, text = 'zebra crossing' }] of sessions.entries()) {
    const at = noonMs + i * 1000
    const record = createRecord(id, { source, parentId, updatedAt: at, title: `${text} ${id}` })
    await store.append(record, [createPage(1, [text, 'ok'], { at })])
  }
  const from = (sessionId: string) => createReachableHistory({ db }, { tenantId, sessionId }, { kind: 'tenant' })
  return { store, from }
}

const idsOf = (list: readonly { readonly session_id: string }[]) => [...new Set(list.map((one) => one.session_id))]
const queries = ['zebra', 'zebra crossing', 'zebra OR missing', 'ebr'] as const

describe('the source of a session', () => {
  it('ranks interactive sessions above runs of jobs, however many and late they are', async () => {
    const runs = Array.from({ length: 45 }, (_, i) => ({ id: `run${i}`, source: i % 2 ? 'cron' : 'job' }))
    const { store, from } = await setUp([{ id: 'talk' }, { id: 'chat', source: 'telegram' }, ...runs])
    for (const query of queries) {
      const hits = await store.search(query, 10)
      expect(idsOf(hits).slice(0, 2).toSorted(), query).toEqual(['chat', 'talk'])
      expect(hits.at(-1)?.source, query).toMatch(/cron|job/)
    }
    expect(idsOf(await from('now').recent(3)).slice(0, 2)).toEqual(['chat', 'talk'])
  })

  it('finds the latest runs of jobs when sorted by time', async () => {
    const { store } = await setUp([{ id: 'talk' }, { id: 'run', source: 'cron' }])
    expect(idsOf(await store.search('zebra', 10, 'newest'))).toEqual(['run', 'talk'])
    expect(idsOf(await store.search('zebra', 10, 'oldest'))).toEqual(['talk', 'run'])
  })

  it('hides subagents and tools', async () => {
    const { store, from } = await setUp([
      { id: 'talk' },
      { id: 'child', source: 'subagent', parentId: 'other' },
      { id: 'program', source: 'tool' },
    ])
    for (const query of queries)
      for (const sort of [undefined, 'newest', 'oldest'] as const)
        expect(idsOf(await store.search(query, 10, sort)), `${query} ${sort}`).toEqual(['talk'])
    expect(idsOf(await from('now').recent(10))).toEqual(['talk'])
  })

  it('does not read the rows of hidden sessions', async () => {
    const count = newRowCount()
    const children = Array.from({ length: 60 }, (_, i) => ({ id: `child${i}`, source: 'subagent' }))
    const { from } = await setUp([{ id: 'talk' }, ...children], countD1(database, count))
    expect(idsOf(await from('now').search('zebra', 10))).toEqual(['talk'])
    expect(count.read).toBeLessThanOrEqual(10)
  })
})

describe('the lineage of the session that searches', () => {
  const family = [
    { id: 'root' },
    { id: 'fork', parentId: 'root' },
    { id: 'fork of fork', parentId: 'fork' },
    { id: 'sibling', parentId: 'root' },
    { id: 'child', parentId: 'fork', source: 'webhook' },
    { id: 'stranger' },
    { id: 'fork of stranger', parentId: 'stranger' },
  ]

  it.each(['root', 'fork', 'fork of fork', 'sibling', 'child'])('is left out: from %s', async (sessionId) => {
    const { from } = await setUp(family)
    for (const query of queries)
      for (const sort of [undefined, 'newest', 'oldest'] as const)
        expect(idsOf(await from(sessionId).search(query, 50, sort)).toSorted()).toEqual([
          'fork of stranger',
          'stranger',
        ])
    expect(idsOf(await from(sessionId).recent(50)).toSorted()).toEqual(['fork of stranger', 'stranger'])
  })

  it('does not use up the limit', async () => {
    const forks = Array.from({ length: 40 }, (_, i) => ({ id: `fork${i}`, parentId: 'stranger' }))
    const { from } = await setUp([...family, ...forks])
    // A title and a message of one session are one hit.
    expect(idsOf(await from('stranger').search('zebra', 5)).length).toBeGreaterThanOrEqual(3)
  })

  it('still contains each other session when its own is not in history yet, or its parents form a circle', async () => {
    const { from } = await setUp([{ id: 'one', parentId: 'two' }, { id: 'two', parentId: 'one' }, { id: 'other' }])
    expect(idsOf(await from('one').search('zebra', 9))).toEqual(['other'])
    expect(idsOf(await from('new').search('zebra', 9)).toSorted()).toEqual(['one', 'other', 'two'])
  })
})

describe('a page of a search', () => {
  it('tells whether there is more, without reading more than its rows', async () => {
    const count = newRowCount()
    const tenantId = newTenant()
    const store = createD1History(countD1(database, count), tenantId)
    for (let i = 0; i < 25; i++)
      await store.append(createRecord(`s${i}`), [createPage(1, ['common word', 'ok'], { at: noonMs + i })])
    count.read = 0
    const first = await store.searchPage('common', 20)
    expect([first.hits.length, first.hasMore]).toEqual([20, true])
    expect(count.read).toBeLessThanOrEqual(60)
    const all = await store.searchPage('common', 40)
    expect([all.hits.length, all.hasMore]).toEqual([25, false])
  })
})
