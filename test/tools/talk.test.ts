import { describe, expect, it } from 'vitest'
import type { Message } from '../../src/agent/model/message.ts'
import type { History, Todo } from '../../src/agent/model/tool.ts'
import clarify from '../../src/tools/clarify/clarify.tool.ts'
import sessionSearch from '../../src/tools/session-search/session-search.tool.ts'
import todo from '../../src/tools/todo/todo.tool.ts'
import { call } from './support/call.ts'

describe('todo', () => {
  const item = (id: string, status: Todo['status'] = 'pending', content = id): Todo => ({ id, content, status })
  const list = (...start: Todo[]) => {
    let items: readonly Todo[] = start
    const todos = { read: () => items, write: (next: readonly Todo[]) => void (items = next) }
    return { items: () => items, run: (input: object) => call(todo, input, { todos }) }
  }

  it('replaces the list and sums it up', async () => {
    const { run, items } = list(item('old'))
    const { result } = await run({ todos: [item('a', 'completed'), item('b', 'in_progress'), item('c')] })
    expect(result['summary']).toEqual({ total: 3, pending: 1, in_progress: 1, completed: 1, cancelled: 0 })
    expect(items().map(({ id }) => id)).toEqual(['a', 'b', 'c'])
  })

  it('merges by id, in place', async () => {
    const { run, items } = list(item('a'), item('b'))
    await run({ merge: true, todos: [item('a', 'completed', 'done'), item('c')] })
    expect(items()).toEqual([item('a', 'completed', 'done'), item('b'), item('c')])
  })

  it('reads without an argument', async () => {
    const { run, items } = list(item('a'))
    expect((await run({})).result['todos']).toEqual([item('a')])
    expect(items()).toHaveLength(1)
  })

  it('refuses more than 256 items and cuts long ones', async () => {
    const { run, items } = list()
    const many = Array.from({ length: 257 }, (_, i) => item(String(i)))
    expect((await run({ todos: many })).failed).toBe(true)
    expect(items()).toEqual([])
    await run({ todos: [item('a', 'pending', 'x'.repeat(5000))] })
    expect(items()[0]?.content).toHaveLength(4000)
  })
})

describe('clarify', () => {
  it('waits for the answer', async () => {
    const { result } = await call(clarify, { question: 'Which?', choices: ['a', 'b'], multi_select: true })
    expect(result).toEqual({ later: { kind: 'question', question: 'Which?', choices: ['a', 'b'], multiSelect: true } })
  })

  it('offers at most four choices', async () => {
    expect((await call(clarify, { question: 'Which?', choices: ['a', 'b', 'c', 'd', 'e'] })).failed).toBe(true)
  })
})

describe('session_search', () => {
  const message = (seq: number, role: Message['role'] = 'user', content = `text ${seq}`) => ({
    id: `msg_${seq}`,
    seq,
    role,
    content,
    at: '2026-01-01T00:00:00.000Z',
  })
  const hit = (session_id: string, seq: number, role: Message['role'] = 'user') => ({
    session_id,
    title: `Title ${session_id}`,
    message_id: `msg_${seq}`,
    role,
    at: '2026-01-01T00:00:00.000Z',
    snippet: `found ${seq}`,
  })
  const asked: unknown[] = []
  const history: History = {
    recent: async (limit) =>
      ['now', 'a', 'b', 'c', 'd']
        .slice(0, limit)
        .map((session_id) => ({ session_id, title: null, source: 'api', updated_at: '2026-01-01T00:00:00.000Z' })),
    search: async (query, limit, sort) => {
      asked.push([query, limit, sort])
      return [hit('now', 1), hit('a', 1), hit('a', 2, 'assistant'), hit('b', 3), hit('a', 4), hit('a', 5)]
    },
    read: async (id, range) => {
      if (id !== 'a') return undefined
      if (range) return [message(range.around - 1), message(range.around), message(range.around + 1)]
      return [...[1, 2, 3, 4].map((n) => message(n)), message(90, 'assistant', 'y'.repeat(3000)), message(91)]
    },
  }
  const search = (input: object) => call(sessionSearch, input, { history })

  it('browses recent sessions, this one left out', async () => {
    const { result } = await search({ limit: 2 })
    expect(result).toMatchObject({ mode: 'browse', count: 2 })
    expect(result['sessions'].map((session: { session_id: string }) => session.session_id)).toEqual(['a', 'b'])
  })

  it('groups what it finds by session, this one left out', async () => {
    const { result } = await search({ query: 'words', sort: 'newest' })
    expect(asked.at(-1)).toEqual(['words', 30, 'newest'])
    expect(result).toMatchObject({ mode: 'discovery', count: 2, sessions_found: 2 })
    expect(result['results'][0]).toMatchObject({ session_id: 'a', title: 'Title a', match_count: 4 })
    expect(result['results'][0].matches.map((match: { message_id: number }) => match.message_id)).toEqual([1, 2, 4])
  })

  it('filters by role and shows how sessions began and ended', async () => {
    const { result } = await search({ query: 'words', role_filter: 'assistant', detail: 'full' })
    expect(result['results']).toHaveLength(1)
    expect(result['results'][0]).toMatchObject({ match_count: 1, matches: [{ message_id: 2 }] })
    expect(result['results'][0].beginning.map(({ message_id }: { message_id: number }) => message_id)).toEqual([
      1, 2, 3,
    ])
  })

  it('reads the two ends of a session and cuts long messages', async () => {
    const { result } = await search({ session_id: 'a' })
    expect(result).toMatchObject({ mode: 'read', session_id: 'a', note: expect.stringContaining('middle') })
    expect(result['messages'][4].content).toMatch(/^y{2000}\.\.\. \[3000 characters\]$/)
  })

  it('scrolls around a message', async () => {
    const { result } = await search({ session_id: 'a', around_message_id: '50', window: 1 })
    expect(result).toMatchObject({ mode: 'scroll', around_message_id: 50, window: 1 })
    expect(result['messages'].map(({ message_id }: { message_id: number }) => message_id)).toEqual([49, 50, 51])
  })

  it('says what is missing', async () => {
    expect((await search({ session_id: 'zz' })).result['error']).toContain('No session zz')
    expect((await search({ around_message_id: 3 })).result['error']).toContain('session_id')
  })
})
