/**
 * The one way to a tool. Every call of every tool passes here: services, time limit, result size,
 * and the certainty that whatever happens inside comes back as a result. The loop puts results in order.
 */

import type { ToolMessage } from '../agent/model/message.ts'
import type { CallContext, Services, Tool, Toolbox, ToolResult } from '../agent/model/tool.ts'
import type { Result, ToolCall } from '../agent/model/turn.ts'
import { errorResult } from '../agent/policy/plan-calls.ts'
import { groupCalls } from './group-calls.ts'
import { type Permitted, type Refusal, refusalText } from './permission.ts'

export type Dispatch = {
  readonly toolbox: Toolbox
  readonly services: Partial<Services>
  readonly context: Omit<CallContext, 'callId'>
  /** Whether a call may run. */
  readonly permit: (call: ToolCall, tool: Tool) => Permitted | Promise<Permitted>
  /** Characters of the results that the batch has already: its calls come here in groups. */
  readonly taken?: number
  /** Stores a result that is too long and returns where it can be read. */
  readonly spill: (callId: string, text: string) => Promise<string>
  /** Called right before a tool starts and right after it has ended: where tests stop the world. */
  readonly around?: (moment: 'before' | 'during' | 'after') => Promise<never> | undefined
  /** A defect in a tool, for the operator's log. */
  readonly report: (error: unknown, tool: string) => void
}

/** Calls side by side, at most. */
const width = 8
const defaultMaxResult = 100_000
/** Characters that the results of one batch may have in all; what comes after is spilled sooner. */
const maxBatch = 200_000
const leastPerResult = 8_000
const previewLength = 1_500

/** Runs calls that may run side by side, and yields what they bring as it comes. */
export async function* dispatch(calls: readonly ToolCall[], world: Dispatch): AsyncGenerator<Result> {
  const room: Room = { left: maxBatch - (world.taken ?? 0) }
  const running = new Map(calls.map((call) => [call.id, runCall(call, world, room)]))
  while (running.size) {
    const result = await Promise.race(running.values())
    running.delete(idOf(result))
    yield result
  }
}

/** Of planned calls, the first ones that may run side by side. The others follow when these have ended. */
export const together = (
  calls: readonly ToolCall[],
  { toolbox, services }: Pick<Dispatch, 'toolbox' | 'services'>,
): readonly ToolCall[] => {
  const touched = (call: ToolCall) => toolbox.get(call.name)?.touches(call.input, services) ?? 'nothing'
  return groupCalls(calls, touched, width)[0] ?? []
}

type CallResult = Extract<Result, { of: 'tool' | 'later' }>

const idOf = (result: CallResult) => (result.of === 'tool' ? result.message.callId : result.callId)

/** Characters that the batch may still have; shared by its calls. */
type Room = { left: number }

async function runCall(call: ToolCall, world: Dispatch, room: Room): Promise<CallResult> {
  const tool = world.toolbox.get(call.name)
  if (!tool) return { of: 'tool', message: errorResult(call, `There is no tool named ${call.name} any more.`) }
  if (world.context.signal.aborted)
    return { of: 'tool', message: errorResult(call, 'Not run: the user stopped the turn.') }
  const asked = world.permit(call, tool)
  const permitted = asked instanceof Promise ? await asked : asked
  const { decision } = permitted
  const made = decision && { decision }
  if (permitted.do === 'later') return { of: 'later', callId: call.id, awaits: permitted.awaits, ...made }
  if (permitted.do === 'refuse') return { of: 'tool', message: refused(call, permitted.refusal), ...made }
  await world.around?.('before')
  const outcome = await runTool(tool, call, world)
  await world.around?.('after')
  if ('later' in outcome) return { of: 'later', callId: call.id, awaits: outcome.later, ...made }
  return { of: 'tool', message: await asMessage(call, outcome, world, takeRoom(tool, room)), ...made }
}

const refused = ({ id, name }: ToolCall, refusal: Refusal): ToolMessage => ({
  role: 'tool',
  callId: id,
  name,
  content: [{ type: 'text', text: refusalText(name, refusal) }],
  failed: true,
})

async function runTool(tool: Tool, call: ToolCall, world: Dispatch): Promise<ToolResult> {
  try {
    const running = tool.run(call.input, { ...world.context, callId: call.id }, world.services)
    await world.around?.('during')
    return await running
  } catch (error) {
    if (world.context.signal.aborted) return failed('Stopped by the user before it ended. It may have taken effect.')
    // Expected failures are results; what arrives here is a defect. The model gets no internals.
    world.report(error, tool.name)
    return failed(`${tool.name} failed inside. Try another way, or tell the user.`)
  }
}

const failed = (error: string): ToolResult => ({
  content: [{ type: 'text', text: JSON.stringify({ error }) }],
  failed: true,
})

/** How long the next text may be. */
const takeRoom = (tool: Tool, room: Room) => (length: number) => {
  const max = Math.min(tool.maxResult ?? defaultMaxResult, Math.max(leastPerResult, room.left))
  room.left -= Math.min(length, max)
  return max
}

async function asMessage(
  call: ToolCall,
  outcome: Exclude<ToolResult, { later: unknown }>,
  world: Dispatch,
  maxFor: (length: number) => number,
): Promise<ToolMessage> {
  const content = await Promise.all(
    outcome.content.map(async (part) =>
      part.type === 'text' && part.text.length > maxFor(part.text.length)
        ? ({ type: 'text', text: await spilled(call.id, part.text, world) } as const)
        : part,
    ),
  )
  return { role: 'tool', callId: call.id, name: call.name, content, failed: outcome.failed }
}

async function spilled(callId: string, text: string, { spill, report }: Dispatch): Promise<string> {
  const preview = text.slice(0, previewLength)
  try {
    const path = await spill(callId, text)
    return JSON.stringify({ persisted_output: { path, characters: text.length, read_with: 'read_file' }, preview })
  } catch (error) {
    // Without a place to put it, the beginning is better than nothing, and says that it is one.
    report(error, 'spill')
    return JSON.stringify({ truncated: true, characters: text.length, preview: text.slice(0, defaultMaxResult / 2) })
  }
}
