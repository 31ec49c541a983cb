/** Tests the tool that searches and reads earlier sessions. */

import { describe, expect, it } from 'vitest'
import type { Message } from '../../../src/agent/model/message.ts'
import type { History } from '../../../src/agent/model/tool.ts'
import sessionSearch from '../../../src/tools/session-search/session-search.tool.ts'
import { call } from '../support/call.ts'

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
  const queries: unknown[] = []
  const history: History = {
    recent: async (limit) =>
      ['now', 'a', 'b', 'c', 'd']
        .slice(0, limit)
        .map((session_id) => ({ session_id, title: null, source: 'api', updated_at: '2026-01-01T00:00:00.000Z' })),
    search: async (query, limit, sort) => {
      queries.push([query, limit, sort])
      return [hit('now', 1), hit('a', 1), hit('a', 2, 'assistant'), hit('b', 3), hit('a', 4), hit('a', 5)]
    },
    read: async (id, range) => {
      if (id !== 'a') return undefined
      if (range) return [message(range.around - 1), message(range.around), message(range.around + 1)]
      return [...[1, 2, 3, 4].map((n) => message(n)), message(90, 'assistant', 'y'.repeat(3000)), message(91)]
    },
  }
  const search = (input: object) => call(sessionSearch, input, { history })

  it('lists recent sessions without the current one', async () => {
    const { result } = await search({ limit: 2 })
    expect(result).toMatchObject({ mode: 'browse', count: 2 })
    expect(result['sessions'].map((session: { session_id: string }) => session.session_id)).toEqual(['a', 'b'])
  })

  it('groups matches by session and leaves out the current one', async () => {
    const { result } = await search({ query: 'words', sort: 'newest' })
    expect(queries.at(-1)).toEqual(['words', 30, 'newest'])
    expect(result).toMatchObject({ mode: 'discovery', count: 2, sessions_found: 2 })
    expect(result['results'][0]).toMatchObject({ session_id: 'a', title: 'Title a', match_count: 4 })
    expect(result['results'][0].matches.map((match: { message_id: number }) => match.message_id)).toEqual([1, 2, 4])
  })

  it('filters by role and shows the beginning and the end of sessions', async () => {
    const { result } = await search({ query: 'words', role_filter: 'assistant', detail: 'full' })
    expect(result['results']).toHaveLength(1)
    expect(result['results'][0]).toMatchObject({ match_count: 1, matches: [{ message_id: 2 }] })
    expect(result['results'][0].beginning.map(({ message_id }: { message_id: number }) => message_id)).toEqual([
      1, 2, 3,
    ])
  })

  it('reads the beginning and the end of a session and truncates long messages', async () => {
    const { result } = await search({ session_id: 'a' })
    expect(result).toMatchObject({ mode: 'read', session_id: 'a', note: expect.stringContaining('middle') })
    expect(result['messages'][4].content).toMatch(/^y{2000}\.\.\. \[3000 characters\]$/)
  })

  it('scrolls around a message', async () => {
    const { result } = await search({ session_id: 'a', around_message_id: '50', window: 1 })
    expect(result).toMatchObject({ mode: 'scroll', around_message_id: 50, window: 1 })
    expect(result['messages'].map(({ message_id }: { message_id: number }) => message_id)).toEqual([49, 50, 51])
  })

  it('names the missing session or argument', async () => {
    expect((await search({ session_id: 'zz' })).result['error']).toContain('No session zz')
    expect((await search({ around_message_id: 3 })).result['error']).toContain('session_id')
  })
})
