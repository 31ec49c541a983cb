/** Reads and updates the list of tasks of a session. A repeated call writes the same list, so no call id is needed. */

import * as z from 'zod'
import type { Todo } from '#agent/core/tool.ts'
import { defineTool } from './define-tool.ts'
import { fail } from './tool-result.ts'

const maxItems = 256
const maxContentChars = 4000
const statuses = ['pending', 'in_progress', 'completed', 'cancelled'] as const

const input = z.object({
  todos: z
    .array(z.object({ id: z.string().min(1), content: z.string(), status: z.enum(statuses) }))
    .optional()
    .describe('Omit to read the list.'),
  merge: z.boolean().default(false).describe('Update and add by id instead of replacing the list.'),
})

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
    if (todos === undefined) return render(list.read())
    const next = mergeTodos(merge ? list.read() : [], todos)
    if (next.length > maxItems)
      return fail(`${next.length} items are too many: at most ${maxItems}. Combine or drop finished ones.`)
    list.write(next)
    return render(next)
  },
})

/** Merges by id. An updated item keeps its position. */
function mergeTodos(before: readonly Todo[], changes: readonly Todo[]): Todo[] {
  const items = new Map(before.map((item) => [item.id, item]))
  for (const { id, content, status } of changes)
    items.set(id, { id, content: content.slice(0, maxContentChars), status })
  return [...items.values()]
}

const render = (todos: readonly Todo[]) => ({
  todos,
  summary: {
    total: todos.length,
    ...Object.fromEntries(statuses.map((status) => [status, todos.filter((todo) => todo.status === status).length])),
  },
})
