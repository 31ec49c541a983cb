/** Delegates goals to subagents. The call waits without memory until they have ended, or returns a handle at once. */

import * as z from 'zod'
import type { Subagents, SubagentTask } from '#agent/core/subagent.ts'
import { modelId } from '#agent/core/request/turn-settings.ts'
import type { CallContext, SessionFacts, Toolbox } from '#agent/core/tool.ts'
import { defineTool } from './define-tool.ts'
import { fail } from './tool-result.ts'

const minGoalChars = 10
const maxGoalChars = 20_000
const maxContextChars = 100_000
const maxTasks = 50
const maxSchemaChars = 20_000

const role = z.enum(['leaf', 'orchestrator'])
const outputSchema = z
  .record(z.string(), z.unknown())
  .refine((schema) => JSON.stringify(schema).length <= maxSchemaChars, 'The schema is too long.')
const text = z.string().max(maxContextChars)
const goal = z.string().max(maxGoalChars)
const taskId = z.string().min(1).max(200)
const toolsets = z.array(z.string().min(1).max(200)).max(50)

const input = z.object({
  goal: goal.optional().describe('One goal. Or give tasks.'),
  context: text.optional().describe('Everything the subagent has to know: it sees nothing of this conversation.'),
  tasks: z
    .array(
      z.object({
        goal: goal.min(minGoalChars, `At least ${minGoalChars} characters.`),
        context: text.optional(),
        role: role.optional(),
        output_schema: outputSchema.optional(),
        toolsets: toolsets.optional(),
        task_id: taskId.optional(),
      }),
    )
    .min(1)
    .max(maxTasks)
    .optional()
    .describe('Several goals, which run at the same time.'),
  role: role.default('leaf').describe('orchestrator: it may delegate too.'),
  background: z
    .boolean()
    .default(false)
    .describe('Returns at once; the results come as a message when all have ended.'),
  output_schema: outputSchema.optional().describe('JSON schema of the answer.'),
  toolsets: toolsets.optional().describe('Only these of your toolsets or tools. Default: all.'),
  model: modelId.optional().describe('Another model, as provider/model.'),
  task_id: taskId.optional().describe('The subagent_id of an ended subagent: it goes on with its history.'),
  action: z.enum(['spawn', 'list', 'steer', 'stop']).default('spawn'),
  subagent_id: z.string().optional().describe('For steer and stop. Without it stop ends all.'),
  message: z.string().max(maxGoalChars).optional().describe('For steer.'),
})
type Input = z.infer<typeof input>
type DelegateContext = CallContext & { readonly subagents: Subagents }

const definition = defineTool({
  name: 'delegate_task',
  toolset: 'delegation',
  description:
    'Delegate goals to subagents. Each has a fresh context, its own steps and a copy of the workspace, and returns a report; files it changed are copied back. For independent parts of a larger task, and for research that would fill your context; not for what you can do in a few calls. list, steer and stop act on running ones.',
  input,
  needs: ['subagents'],
  effect: 'keyed',
  effectOf: ({ action }) => (action === 'list' ? 'pure' : 'keyed'),
  touches: () => 'alone',
  run: async (request, context) => {
    switch (request.action) {
      case 'spawn':
        return spawn(request, context)
      case 'list':
        return { subagents: context.subagents.list() }
      case 'steer':
        return steer(request, context)
      case 'stop':
        return stop(request, context)
    }
  },
})

/** The model is told the limits that hold for its session. */
function describeWith(_toolbox: Toolbox, { subagents }: SessionFacts): string {
  const { maxConcurrent, maxDepth, depth } = subagents
  const width = ` ${maxConcurrent} run at once; more wait for their turn.`
  return depth + 1 < maxDepth
    ? `${width} An orchestrator may delegate too; the tree has ${maxDepth} levels below the conversation.`
    : `${width} They cannot delegate further: every subagent is a leaf.`
}

export default Object.assign(definition, { describeWith })

function listTasks({
  goal: single,
  context,
  tasks = [],
  role: ofAll,
  output_schema: schema,
  toolsets: setsOfAll,
  model,
  task_id: resumes,
}: Input): SubagentTask[] {
  const shared = { model, role: ofAll, context, outputSchema: schema, toolsets: setsOfAll }
  const listed = tasks.map((task) => ({
    goal: task.goal,
    context: [context, task.context].filter((one) => one?.trim()).join('\n\n') || undefined,
    role: task.role ?? ofAll,
    outputSchema: task.output_schema ?? schema,
    toolsets: task.toolsets ?? setsOfAll,
    model,
    resumes: task.task_id,
  }))
  return [...(single?.trim() ? [{ ...shared, goal: single, resumes }] : []), ...listed]
}

async function spawn(request: Input, { subagents, callId, authority }: DelegateContext) {
  if (request.goal?.trim() && request.tasks) return fail('Give either goal or tasks, not both.')
  const tasks = listTasks(request)
  if (!tasks.length) return fail('Give a goal, or tasks with one goal each.')
  const spawned = await subagents.spawn({ callId, tasks, isBackground: request.background, authority })
  if (typeof spawned === 'string') return fail(spawned)
  const { delegationId, isBackground, note } = spawned
  if (!isBackground) return { later: { kind: 'child' as const, workId: delegationId } }
  return {
    status: 'dispatched',
    mode: 'background',
    count: tasks.length,
    delegation_id: delegationId,
    goals: tasks.map((task) => task.goal.slice(0, 200)),
    note: [note, 'The results come as a message of their own when all have ended.'].filter(Boolean).join(' '),
  }
}

const unknownId = (id: string) => fail(`There is no subagent ${id}. See action "list".`)

async function steer({ subagent_id: id, message }: Input, { subagents, callId }: DelegateContext) {
  if (id === undefined || !message?.trim()) return fail('steer needs subagent_id and message.')
  const outcome = await subagents.steer(id, message, callId)
  if (outcome === undefined) return unknownId(id)
  return outcome === 'sent'
    ? { status: 'sent', subagent_id: id }
    : { status: 'missed', subagent_id: id, missed_steer: message, note: 'It had ended before the message came.' }
}

function stop({ subagent_id: id }: Input, { subagents }: DelegateContext) {
  const stopped = subagents.stop(id)
  return stopped === undefined ? unknownId(id ?? '') : { status: 'stopping', count: stopped }
}
