import { describe, expect, it } from 'vitest'
import type { Todo } from '#agent/core/tool.ts'
import todo from '#tools/todo.tool.ts'
import { call } from './support/call.ts'

describe('todo', () => {
  const item = (id: string, status: Todo['status'] = 'pending', content = id): Todo => ({ id, content, status })
  const list = (...start: Todo[]) => {
    let items: readonly Todo[] = start
    const todos = { read: () => items, write: (next: readonly Todo[]) => void (items = next) }
    return { items: () => items, run: (input: object) => call(todo, input, { todos }) }
  }

  it('replaces the list and counts it by status', async () => {
    const { run, items } = list(item('old'))
    const { result } = await run({ todos: [item('a', 'completed'), item('b', 'in_progress'), item('c')] })
    expect(result['summary']).toEqual({ total: 3, pending: 1, in_progress: 1, completed: 1, cancelled: 0 })
    expect(items().map(({ id }) => id)).toEqual(['a', 'b', 'c'])
  })

  it('merges by id and keeps positions', async () => {
    const { run, items } = list(item('a'), item('b'))
    await run({ merge: true, todos: [item('a', 'completed', 'done'), item('c')] })
    expect(items()).toEqual([item('a', 'completed', 'done'), item('b'), item('c')])
  })

  it('reads the list without an argument', async () => {
    const { run, items } = list(item('a'))
    expect((await run({})).result['todos']).toEqual([item('a')])
    expect(items()).toHaveLength(1)
  })

  it('refuses more than 256 items and truncates long ones', async () => {
    const { run, items } = list()
    const many = Array.from({ length: 257 }, (_, i) => item(String(i)))
    expect((await run({ todos: many })).failed).toBe(true)
    expect(items()).toEqual([])
    await run({ todos: [item('a', 'pending', 'x'.repeat(5000))] })
    expect(items()[0]?.content).toHaveLength(4000)
  })
})
