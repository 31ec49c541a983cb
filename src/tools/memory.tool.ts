/** Reads and changes what the agent keeps between sessions. */

import * as z from 'zod'
import { type MemoryOperation, type MemoryResult, memoryTargets, type MemoryView } from '#agent/core/recall/memory.ts'
import { defineTool } from './define-tool.ts'
import { fail } from './tool-result.ts'

const actions = ['add', 'replace', 'remove'] as const
const maxOperations = 50
const maxContentChars = 20_000
const text = z.string().max(maxContentChars)

const operation = z.object({
  action: z.enum(actions),
  content: text.optional(),
  old_text: text.optional(),
})

const input = z.object({
  target: z
    .enum(memoryTargets)
    .describe(
      'memory: facts about the work, shared by all sessions. user: about the person who writes to you. project: facts about the project of this session.',
    ),
  action: z
    .enum([...actions, 'read'])
    .optional()
    .describe('Omit with operations.'),
  content: text.optional().describe('The entry, or its new text.'),
  new_text: text.optional().describe('The same as content.'),
  old_text: text.optional().describe('A part of the entry to replace or remove that no other entry has.'),
  operations: z.array(operation).min(1).max(maxOperations).optional().describe('Several changes that apply together.'),
})
type Input = z.infer<typeof input>
type GivenOperation = z.infer<typeof operation>

export default defineTool({
  name: 'memory',
  toolset: 'memory',
  description:
    'Keeps short facts for later sessions: preferences, names, how things are set up, what was decided. One fact per entry, no secrets, no instructions, nothing that only matters today. The stores are small: when one is full, merge or drop entries in one call with operations. Your prompt shows the stores as they were when this session began.',
  input,
  needs: ['memory'],
  effect: 'keyed',
  effectOf: ({ action }) => (action === 'read' ? 'pure' : 'keyed'),
  risk: ({ action }) => (action === 'read' ? 'read' : 'write'),
  touches: () => ['memory'],
  run: async (call, { memory, authority, callKey, sessionId, addMarks }) => {
    const show = (result: MemoryResult, isLast?: boolean) => {
      if ('marks' in result && result.marks) addMarks?.(result.marks)
      return render(result, isLast)
    }
    const { target } = call
    if (call.action === 'read' && !call.operations) return show(await memory.read(authority, target))
    const operations = parseOperations(call)
    if (typeof operations === 'string') return fail(operations, { success: false })
    const change = {
      target,
      operations,
      sessionId,
      key: `${callKey} ${JSON.stringify([target, operations])}`,
    }
    const { result, isLast } = await memory.change(authority, change)
    return show(result, isLast)
  },
})

/** Returns the error for a call that lacks a field. */
function parseOperations({
  action,
  content,
  new_text,
  old_text,
  operations,
}: Input): readonly MemoryOperation[] | string {
  if (operations && action) return 'Give either action or operations.'
  if (!operations && (action === undefined || action === 'read')) return 'Give an action: add, replace, remove or read.'
  const given: readonly GivenOperation[] = operations ?? [
    { action: action as GivenOperation['action'], content: content ?? new_text, old_text },
  ]
  const parsed = given.map(parseOperation)
  const error = parsed.find((one) => typeof one === 'string')
  return error ?? parsed.filter((one) => typeof one !== 'string')
}

function parseOperation({ action, content, old_text: oldText }: GivenOperation): MemoryOperation | string {
  if (action !== 'remove' && content === undefined) return `${action} needs content.`
  if (action !== 'add' && oldText === undefined) return `${action} needs old_text: a part of the entry.`
  if (action === 'add') return { action, content: content ?? '' }
  if (action === 'remove') return { action, oldText: oldText ?? '' }
  return { action, oldText: oldText ?? '', content: content ?? '' }
}

function render(result: MemoryResult, isLast = false) {
  switch (result.kind) {
    case 'done': {
      const message = result.isChanged ? 'Stored. Later sessions get it in their prompts.' : 'Nothing had to change.'
      return { success: true, message, usage: renderUsage(result.view), entries: result.view.entries }
    }
    case 'staged': {
      const message = `Waits for a person, who approves it with /memory approve ${result.id}. Do not repeat it.`
      return { success: true, message, pending_id: result.id, usage: renderUsage(result.view) }
    }
    case 'unavailable':
      return fail(`${result.error} Leave memory as it is.`, { success: false, done: true })
    case 'refused':
      return renderRefusal(result, isLast)
  }
}

/** A model that fails again and again would spend the whole turn on its memory. */
function renderRefusal({ error, view }: Extract<MemoryResult, { kind: 'refused' }>, isLast: boolean) {
  const details = { success: false, usage: renderUsage(view) }
  return isLast
    ? fail(`${error} This was the third failure of this turn: leave memory unchanged and go on with the request.`, {
        ...details,
        done: true,
      })
    : fail(error, { ...details, current_entries: view.entries })
}

const renderUsage = ({ chars, limit }: MemoryView): string =>
  `${chars} of ${limit} characters (${Math.round((100 * chars) / limit)} %)`
