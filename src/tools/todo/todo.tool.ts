import * as z from 'zod'
import type { Todo } from '../../agent/model/tool.ts'
import { defineTool } from '../define-tool.ts'
import { fail } from '../tool-result.ts'

const MAX_ITEMS = 256
const MAX_CHARS = 4000
const STATUSES = ['pending', 'in_progress', 'completed', 'cancelled'] as const

const input = z.object({
  todos: z
    .array(z.object({ id: z.string().min(1), content: z.string(), status: z.enum(STATUSES) }))
    .optional()
    .describe('Omit to read the list.'),
  merge: z.boolean().default(false).describe('Update and add by id instead of replacing the list.'),
})

/** The call id does not matter: the same list written twice is the same list. */
export default defineTool({
  name: 'todo',
  toolset: 'todo',
  description:
    'Plan of this session for work of three steps or more: keep one item in_progress, mark each done when it is. Always returns the whole list.',
  input,
  needs: ['todos'],
  effect: 'keyed',
  touches: () => ['todo list'],
  run: async ({ todos, merge }, { todos: list }) => {
    if (todos === undefined) return answer(list.read())
    const next = combine(merge ? list.read() : [], todos)
    if (next.length > MAX_ITEMS)
      return fail(`${next.length} items are too many: at most ${MAX_ITEMS}. Combine or drop finished ones.`)
    list.write(next)
    return answer(next)
  },
})

/** By id; an item keeps its place when it is updated, and the last of two with one id wins. */
function combine(before: readonly Todo[], changes: readonly Todo[]): Todo[] {
  const items = new Map(before.map((item) => [item.id, item]))
  for (const { id, content, status } of changes) items.set(id, { id, content: content.slice(0, MAX_CHARS), status })
  return [...items.values()]
}

const answer = (todos: readonly Todo[]) => ({
  todos,
  summary: {
    total: todos.length,
    ...Object.fromEntries(STATUSES.map((status) => [status, todos.filter((todo) => todo.status === status).length])),
  },
})
