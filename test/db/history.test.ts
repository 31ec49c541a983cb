import { beforeAll, describe, expect, it } from 'vitest'
import type { KnownRecord } from '#agent/core/history.ts'
import { createD1History } from '#db/history.ts'
import { maxPageBytes } from '#db/page-row.ts'
import { database, applyMigrations, newTenant, noonMs, createPage, createRecord, assistantText } from './fixtures.ts'
import { countD1, newRowCount, type RowCount } from '../support/billed-rows.ts'

const day = 24 * 60 * 60 * 1000
beforeAll(applyMigrations)

function open() {
  const count = newRowCount()
  const tenant = newTenant()
  const store = createD1History(countD1(database, count), tenant)
  /** Returns the rows that one call writes and reads. */
  const cost = async (call: () => Promise<unknown>): Promise<RowCount> => {
    const before = { ...count }
    await call()
    return { written: count.written - before.written, read: count.read - before.read }
  }
  return { tenant, store, cost }
}

describe('append()', () => {
  it('writes six rows for a new session with its first page, eight with a title', async () => {
    const { store, cost } = open()
    const untitled = await cost(() => store.append(createRecord('a'), [createPage(1, ['hello', 'hi'])]))
    const titled = await cost(() =>
      store.append(createRecord('b', { title: 'Greetings' }), [createPage(1, ['hello', 'hi'])]),
    )
    expect([untitled.written, titled.written]).toEqual([6, 8])
  })

  it('writes four rows for a turn on the same day', async () => {
    const { store, cost } = open()
    await store.append(createRecord('a', { title: 'Greetings' }), [createPage(1, ['hello', 'hi'])])
    const next = createRecord('a', { title: 'Greetings', updatedAt: noonMs + 60_000, state: { settings: { x: 1 } } })
    const turn = await cost(() => store.append(next, [createPage(3, ['what is new?', 'nothing'])]))
    expect(turn.written).toBe(4)
    expect(turn.read).toBeLessThan(20)
  })

  it('writes two more rows on the first turn of another day, and five for a new title', async () => {
    const { store, cost } = open()
    await store.append(createRecord('a', { title: 'One' }), [createPage(1, ['hello', 'hi'])])
    const tomorrow = createRecord('a', { title: 'One', updatedAt: noonMs + day })
    expect((await cost(() => store.append(tomorrow, [createPage(3, ['again', 'yes'])]))).written).toBe(6)
    expect((await cost(() => store.append({ ...tomorrow, title: 'Two' }, []))).written).toBe(5)
  })

  it('writes nothing when it is repeated', async () => {
    const { store, cost } = open()
    const appendOnce = () => store.append(createRecord('a', { title: 'Greetings' }), [createPage(1, ['hello', 'hi'])])
    await appendOnce()
    expect((await cost(appendOnce)).written).toBe(0)
    expect(await store.search('hello', 10)).toHaveLength(1)
  })

  it('replaces a page and its words when the messages of the same n change', async () => {
    const { store } = open()
    await store.append(createRecord('a'), [createPage(1, ['apples', 'yes'])])
    await store.append(createRecord('a'), [createPage(1, ['oranges', 'yes', 'more', 'pears'])])
    expect(await store.search('apples', 10)).toEqual([])
    expect(await store.search('oranges', 10)).toHaveLength(1)
    expect((await store.listPages('a', 0)).map((stored) => stored.entries.length)).toEqual([4])
    expect((await store.readSyncState('a'))?.through).toBe(4)
  })

  it('stores nothing of a batch that fails', async () => {
    const { store } = open()
    const broken = { ...createPage(3, ['two']), runId: null as unknown as string }
    await expect(store.append(createRecord('a'), [createPage(1, ['one']), broken])).rejects.toThrow(/NOT NULL/)
    expect(await store.readSyncState('a')).toBeUndefined()
    expect(await store.search('one', 10)).toEqual([])
  })

  it('writes a long backlog in order, in several batches', async () => {
    const { store } = open()
    const backlog = Array.from({ length: 150 }, (_, i) => createPage(i * 2 + 1, ['question', 'answer']))
    const broken = { ...createPage(301, ['two']), runId: null as unknown as string }
    await expect(store.append(createRecord('a'), [...backlog, broken])).rejects.toThrow(/NOT NULL/)
    expect((await store.readSyncState('a'))?.through).toBe(256)
    await store.append(createRecord('a'), backlog)
    expect((await store.readSyncState('a'))?.through).toBe(300)
    expect((await store.listPages('a', 0)).map(({ n }) => n)).toEqual(backlog.map(({ n }) => n))
  })

  it('refuses a page that is too large, and a page number out of range', async () => {
    const { store } = open()
    await expect(store.append(createRecord('a'), [createPage(1, ['x'.repeat(maxPageBytes)])])).rejects.toThrow(
      /Split the page/,
    )
    await expect(store.append(createRecord('a'), [createPage(0, ['zero'])])).rejects.toThrow(/out of range/)
    await expect(store.append(createRecord('a'), [createPage(2 ** 20, ['many'])])).rejects.toThrow(/out of range/)
  })
})

describe('readSyncState()', () => {
  it('returns the record and the last seq', async () => {
    const { store } = open()
    const given = createRecord('a', { title: 'T', parentId: 'p', model: null, state: { deep: [1, { two: null }] } })
    await store.append(given, [createPage(1, ['a', 'b']), createPage(3, ['c', 'd', 'e'])])
    const facets = { messages: 5, tools: {} }
    expect(await store.readSyncState('a')).toEqual({ record: { ...given, facets }, through: 5 })
    await store.append(given, [])
    expect((await store.readSyncState('a'))?.through).toBe(5)
  })

  it('returns undefined for an unknown session', async () => {
    expect(await open().store.readSyncState('unknown')).toBeUndefined()
  })
})

describe('pages()', () => {
  it('returns the stored pages in order', async () => {
    const { store } = open()
    const usage = {
      input: 1,
      output: 2,
      cachedRead: 0,
      cachedWrite: 0,
      reasoning: 0,
      costUsd: 0.1,
      costStatus: 'actual',
    } as const
    const stored = [
      createPage(1, ['a', 'b'], { turn: { at: 'done' }, model: 'm', usage }),
      createPage(3, ['c\u0000\ud800', assistantText('d')], { indexed: false }),
    ]
    await store.append(createRecord('a'), stored)
    expect(await store.listPages('a', 0)).toEqual(stored)
    expect(await store.listPages('a', 1)).toEqual(stored.slice(1))
    expect(await store.listPages('b', 0)).toEqual([])
  })

  it('stops after the given bytes, but returns at least one page', async () => {
    const { store } = open()
    await store.append(
      createRecord('a'),
      [1, 2, 3, 4].map((n) => createPage(n, ['x'.repeat(1000)])),
    )
    const numbersWithin = async (bytes: number) => (await store.listPages('a', 0, bytes)).map((stored) => stored.n)
    expect(await numbersWithin(1)).toEqual([1])
    expect(await numbersWithin(1500)).toEqual([1, 2])
    expect(await numbersWithin(100_000)).toEqual([1, 2, 3, 4])
  })
})

describe('read()', () => {
  const seqs = (messages: readonly { readonly seq: number }[] | undefined) => messages?.map((message) => message.seq)

  it('returns the first 20 and the last 10 messages', async () => {
    const { store } = open()
    await store.append(
      createRecord('a'),
      Array.from({ length: 25 }, (_, i) => createPage(i * 2 + 1, ['q', 'a'])),
    )
    expect(seqs(await store.read('a'))).toEqual([
      ...Array.from({ length: 20 }, (_, i) => i + 1),
      ...Array.from({ length: 10 }, (_, i) => i + 41),
    ])
  })

  it('returns a short session without duplicates', async () => {
    const { store } = open()
    await store.append(createRecord('a'), [createPage(1, ['q', 'a']), createPage(3, ['q', 'a'])])
    expect(seqs(await store.read('a'))).toEqual([1, 2, 3, 4])
  })

  it('returns the messages around a position, across gaps and page boundaries', async () => {
    const { store } = open()
    await store.append(createRecord('a'), [
      createPage(1, ['q', 'a', 'q', 'a']),
      createPage(9, ['q', 'a']),
      createPage(11, ['q', 'a']),
    ])
    expect(seqs(await store.read('a', { around: 9, window: 2 }))).toEqual([3, 4, 9, 10, 11])
    expect(seqs(await store.read('a', { around: 1, window: 1 }))).toEqual([1, 2])
    expect(seqs(await store.read('a', { around: 12, window: 0 }))).toEqual([12])
  })

  it('names the calls of a message and returns undefined for an unknown session', async () => {
    const { store } = open()
    const calling = {
      role: 'assistant',
      stop: 'tools',
      content: [{ type: 'call', id: 'c', name: 'terminal', input: {} }],
    } as const
    await store.append(createRecord('a'), [createPage(1, ['go', calling])])
    expect((await store.read('a'))?.at(1)).toEqual({
      id: 'm2',
      seq: 2,
      role: 'assistant',
      // It is older than marks.
      marks: { isForeign: true, isPrivate: true },
      content: '[called terminal]',
      at: new Date(noonMs + 1).toISOString(),
    })
    expect(await store.read('b')).toBeUndefined()
  })

  it('never reads the keys of another session', async () => {
    const { store } = open()
    await store.append(createRecord('a'), [createPage(1, ['mine'])])
    await createD1History(database, newTenant()).append(createRecord('a'), [createPage(1, ['theirs'])])
    for (const around of [-1, 0, 2 ** 20, 2 ** 21, 2 ** 40, Number.NaN])
      expect(JSON.stringify(await store.read('a', { around, window: 100 }))).not.toContain('theirs')
    expect(await store.listPages('a', -(2 ** 21))).toHaveLength(1)
  })
})

describe('append() with a known record', () => {
  const first = createRecord('a', { title: 'Fruit' })
  const steps = [
    [first, [createPage(1, ['apples', 'yes'])]],
    [{ ...first, updatedAt: noonMs + 60_000 }, [createPage(3, ['pears', 'yes'])]],
    [{ ...first, title: 'Vegetables', updatedAt: noonMs + 90_000 }, [createPage(5, ['beans', 'yes'])]],
    [{ ...first, title: 'Vegetables', updatedAt: noonMs + day }, [createPage(7, ['peas', 'yes'])]],
  ] as const

  /** Returns what is stored after all steps, and the number of statements of each step. */
  async function appendSteps(isKnown: boolean) {
    const tenant = newTenant()
    const counts: number[] = []
    const counted = {
      prepare: (sql: string) => database.prepare(sql),
      batch: (statements: D1PreparedStatement[]) => {
        counts.push(statements.length)
        return database.batch(statements)
      },
    } as unknown as D1Database
    const store = createD1History(counted, tenant)
    let known: KnownRecord = 'nothing'
    for (const [given, pages] of steps) {
      await store.append(given, pages, isKnown ? known : undefined)
      known = given
    }
    const found = await Promise.all(
      ['apples', 'pears', 'beans', 'peas', 'fruit', 'vegetables', 'egetab'].map((words) => store.search(words, 10)),
    )
    const listed = await store.listSessions({ limit: 10, q: 'egetab' })
    const rows = database.prepare('SELECT title, active_day, through FROM session WHERE tenant_id = ?').bind(tenant)
    return { counts, stored: { found, listed, rows: (await rows.all()).results } }
  }

  it('takes fewer statements and stores the same', async () => {
    const [unknown, known] = [await appendSteps(false), await appendSteps(true)]
    expect(known.stored).toEqual(unknown.stored)
    expect(unknown.counts).toEqual([10, 10, 10, 10])
    expect(known.counts).toEqual([6, 4, 8, 5])
  })
})

describe('truncate()', () => {
  it('removes pages from the history and from the search, and sets through back', async () => {
    const { store } = open()
    await store.append(createRecord('a', { title: 'Fruit' }), [
      createPage(1, ['apples', 'yes']),
      createPage(3, ['oranges', 'yes']),
    ])
    await store.truncate('a', 3)
    expect(await store.search('oranges', 10)).toEqual([])
    expect(await store.search('rang', 10)).toEqual([])
    expect(await store.search('apples', 10)).toHaveLength(1)
    expect(await store.search('fruit', 10)).toHaveLength(1)
    expect((await store.readSyncState('a'))?.through).toBe(2)
    await store.append(createRecord('a', { title: 'Fruit' }), [createPage(5, ['oranges', 'again'])])
    expect(await store.search('oranges', 10)).toHaveLength(1)
  })
})

describe('deleteSession()', () => {
  it('removes the session, its pages and its search index', async () => {
    const { store } = open()
    await store.append(createRecord('a', { title: 'Fruit' }), [createPage(1, ['apples', 'yes'])])
    expect(await store.deleteSession('a')).toBe(true)
    expect(await store.deleteSession('a')).toBe(false)
    expect(await store.readSyncState('a')).toBeUndefined()
    expect(await store.listPages('a', 0)).toEqual([])
    expect([...(await store.search('apples', 10)), ...(await store.search('fruit', 10))]).toEqual([])
  })
})

describe('listSessions()', () => {
  it('lists newest first, across days and within a day', async () => {
    const { store } = open()
    for (const [id, at] of [
      ['a', 0],
      ['b', day],
      ['c', 5],
      ['d', 5],
    ] as const)
      await store.append(createRecord(id, { updatedAt: noonMs + at }), [])
    await store.append(createRecord('a', { updatedAt: noonMs + day + 1 }), [])
    expect((await store.listSessions({ limit: 10 })).data.map(({ id }) => id)).toEqual(['a', 'b', 'c', 'd'])
    expect((await store.recent(2)).map((session) => session.session_id)).toEqual(['a', 'b'])
  })

  it('keeps the position of a cursor while sessions change', async () => {
    const { store } = open()
    for (let i = 1; i <= 9; i++)
      await store.append(createRecord(`s${i}`, { updatedAt: noonMs + Math.floor(i / 3) * day }), [])
    const first = await store.listSessions({ limit: 4 })
    await store.append(createRecord('late', { updatedAt: noonMs + 9 * day }), [])
    await store.append(createRecord('s8', { updatedAt: noonMs + 9 * day }), [])
    await store.deleteSession(first.data[3]!.id)
    const second = await store.listSessions({ limit: 4, cursor: first.nextCursor! })
    const third = await store.listSessions({ limit: 4, cursor: second.nextCursor! })
    const ids = [first, second, third].map(({ data }) => data.map(({ id }) => id))
    expect(ids).toEqual([['s9', 's6', 's7', 's8'], ['s3', 's4', 's5', 's1'], ['s2']])
    expect(third.nextCursor).toBeNull()
  })

  it('filters by source and by part of the title', async () => {
    const { store } = open()
    await store.append(createRecord('a', { title: 'Größere Reise nach 東京', source: 'telegram' }), [])
    await store.append(createRecord('b', { title: 'Travel "plans"', source: 'api' }), [])
    const ids = async (filter: object) => (await store.listSessions({ limit: 10, ...filter })).data.map(({ id }) => id)
    expect(await ids({ source: 'telegram' })).toEqual(['a'])
    expect(await ids({ q: 'größ' })).toEqual(['a'])
    expect(await ids({ q: 'REIS' })).toEqual(['a'])
    expect(await ids({ q: '東京' })).toEqual(['a'])
    expect(await ids({ q: '"plan' })).toEqual(['b'])
    expect(await ids({ q: 'avel', source: 'telegram' })).toEqual([])
    expect(await ids({ q: '%' })).toEqual([])
  })

  it('has the facets and tags of sessions, filters by both, and counts the messages of those that are older', async () => {
    const { store, cost } = open()
    const line = { text: 'A report.', seq: 2, marks: {} }
    const facets = { messages: 2, calls: 3, tools: { terminal: 2, 'a.b"c': 1 }, line }
    await store.append(createRecord('counted', { facets, tags: ['work', "o'clock"] }), [createPage(1, ['a', 'b'])])
    await store.append(createRecord('old'), [createPage(1, ['a', 'b', 'c']), createPage(9, ['d'])])
    await store.append(createRecord('empty'), [])
    const list = async (filter = {}) =>
      (await store.listSessions({ limit: 10, ...filter })).data.map(({ id, tags, facets: of }) => ({ id, tags, of }))
    expect(await list()).toEqual([
      { id: 'counted', tags: ['work', "o'clock"], of: facets },
      { id: 'empty', tags: undefined, of: { messages: 0, tools: {} } },
      { id: 'old', tags: undefined, of: { messages: 4, tools: {} } },
    ])
    for (const filter of [{ tag: 'work' }, { tag: "o'clock" }, { tool: 'terminal' }, { tool: 'a.b"c' }])
      expect((await list(filter)).map(({ id }) => id)).toEqual(['counted'])
    for (const filter of [{ tag: 'Work' }, { tag: '%' }, { tool: 'term' }, { tag: 'work', tool: 'memory' }])
      expect(await list(filter)).toEqual([])
    const [described] = await store.describe(['counted', 'none'])
    expect(described).toMatchObject({ message_count: 2, tool_call_count: 3, tools: ['terminal', 'a.b"c'] })
    expect(described).toMatchObject({ summary: 'A report.', marks: { isPrivate: true } })
    const change = () => store.append(createRecord('counted', { facets: { ...facets, messages: 9 } }), [])
    expect((await cost(change)).written).toBe(1)
    expect((await list())[0]).toMatchObject({ of: { messages: 9 } })
  })

  it('returns an empty page for an invalid cursor', async () => {
    const { store } = open()
    await store.append(createRecord('a'), [])
    for (const cursor of ['', 'x', 'W10', '💥', btoa('[1,2]'), btoa('{}')])
      expect(await store.listSessions({ limit: 10, cursor })).toEqual({ data: [], nextCursor: null })
  })
})

describe('two tenants', () => {
  it('are isolated even with equal session ids', async () => {
    const [mine, theirs] = [open(), open()]
    await mine.store.append(createRecord('same', { title: 'My plan' }), [createPage(1, ['secret apples', 'mine'])])
    await theirs.store.append(createRecord('same', { title: 'Their plan' }), [
      createPage(1, ['secret oranges', 'theirs']),
    ])
    for (const query of ['secret', 'plan', 'ecre', 'secret OR oranges', theirs.tenant, 'their*'])
      expect(JSON.stringify(await mine.store.search(query, 20))).not.toMatch(/orange|their/i)
    expect((await mine.store.search('secret', 20)).length).toBe(1)
    expect((await mine.store.listSessions({ limit: 10, q: 'plan' })).data.map(({ title }) => title)).toEqual([
      'My plan',
    ])
    expect(await mine.store.recent(10)).toHaveLength(1)
    expect(JSON.stringify(await mine.store.listPages('same', 0))).not.toContain('oranges')
    expect((await mine.store.readSyncState('same'))?.record.title).toBe('My plan')
    await mine.store.truncate('same', 1)
    await mine.store.deleteSession('same')
    expect(await theirs.store.search('secret', 20)).toHaveLength(1)
    expect(await theirs.store.search('ecre', 20)).toHaveLength(1)
    expect(await theirs.store.listPages('same', 0)).toHaveLength(1)
  })

  it('are isolated even when one id is a prefix of the other', async () => {
    const stores = ['ab', 'abc', 'ab-', 'ae', 'ae-d', 'eed', 'e'].map((tenant) => ({
      tenant,
      store: createD1History(database, tenant),
    }))
    for (const { tenant, store } of stores)
      await store.append(createRecord('s'), [createPage(1, [`common ${tenant}x`])])
    for (const { tenant, store } of stores)
      expect((await store.search('common', 20)).map((hit) => hit.snippet)).toEqual([`«common» ${tenant}x`])
  })
})
