/** Tests that a call reads the history that its authority reaches, and no more. */

import { beforeAll, describe, expect, it } from 'vitest'
import type { HistoryReach } from '#agent/core/permission/authority.ts'
import { createD1History, createReachableHistory } from '#db/history.ts'
import { applyMigrations, createPage, createRecord, database, newTenant } from './fixtures.ts'

beforeAll(applyMigrations)

/** Sessions of the API, of two threads of one chat, and of another chat; all say the same words. */
async function setUp() {
  const tenantId = newTenant()
  const store = createD1History(database, tenantId)
  const words = 'the quick zebra'
  const sessions = [
    { id: 'api' },
    { id: 'chat', chat: 'ch_1:11' },
    { id: 'thread', chat: 'ch_1:11' },
    { id: 'other', chat: 'ch_1:12' },
    { id: 'later' },
  ]
  for (const { id, chat } of sessions)
    await store.append(createRecord(id, { chat, title: `zebra ${id}` }), [createPage(1, [words, 'ok'])])
  return (reach: HistoryReach, sessionId = 'now') =>
    createReachableHistory({ db: database }, { tenantId, sessionId }, reach)
}

const everything = ['api', 'chat', 'later', 'other', 'thread']

describe('history within the reach', () => {
  it.each<[string, HistoryReach, readonly string[]]>([
    ['of the tenant', { kind: 'tenant' }, everything],
    ['of a chat', { kind: 'chat', chat: 'ch_1:11' }, ['chat', 'thread']],
    ['of a chat without sessions', { kind: 'chat', chat: 'ch_1:1' }, []],
    ['of a pattern, which is no chat', { kind: 'chat', chat: 'ch_1:%' }, []],
    ['of one session', { kind: 'session' }, []],
  ])('%s is listed, found and read', async (_name, reach, ids) => {
    const history = (await setUp())(reach)
    const listed = (await history.recent(50)).map(({ session_id: id }) => id)
    expect(listed.toSorted()).toEqual(ids)
    for (const query of ['zebra', 'quick zebra', 'ebr', 'quick OR zebra'])
      for (const sort of [undefined, 'newest', 'oldest'] as const) {
        const found = (await history.search(query, 50, sort)).map(({ session_id: id }) => id)
        expect([query, sort, [...new Set(found)].toSorted()]).toEqual([query, sort, ids])
      }
    const read = await Promise.all(everything.map(async (id) => ((await history.read(id)) ? [id] : [])))
    expect(read.flat()).toEqual(ids)
  })

  it('of one session has that session', async () => {
    const history = (await setUp())({ kind: 'session' }, 'api')
    expect(await history.read('api')).toHaveLength(2)
    expect(await history.read('api', { around: 1, window: 1 })).toHaveLength(2)
    expect(await history.read('chat')).toBe(undefined)
  })
})
