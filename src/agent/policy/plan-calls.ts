/**
 * Decides for each requested call whether it runs, waits for the client or gets an error result at once. Approval is
 * checked later, when the call is about to run (approval.ts).
 */

import { argumentsOf, callsIn, errorResult, type ToolCallPart } from '#agent/core/message.ts'
import type { View } from '#agent/core/ports.ts'
import { othersLimit } from '#agent/core/permission/lost-rights.ts'
import { isClientTool } from '#agent/core/request/tool-schema.ts'
import type { ToolCall, Turn } from '#agent/core/turn.ts'
import type { OnReply } from './policy.ts'
import { maxCalls } from './repair-tool-calls.ts'
import { carrierTool } from './unwrap-tool-calls.ts'
import { explainCallLimit } from './tool-loop-guard.ts'

export const planCalls: OnReply = ({ turn, reply }, view) => ({ calls: planAll(turn, callsIn(reply), view) })

/** Plans calls in their order. */
export function planAll(turn: Turn, parts: readonly ToolCallPart[], view: View): ToolCall[] {
  const counts: Record<string, number> = {}
  return parts.map((part, at) => {
    const earlier = counts[part.name] ?? 0
    counts[part.name] = earlier + 1
    const call = plan(turn, part, view, earlier)
    if (at < maxCalls || call.state !== 'planned') return call
    const why = `Not run: one reply has at most ${maxCalls} calls. Send this one again.`
    return { ...call, state: 'settled', result: errorResult(part, why) }
  })
}

function plan(turn: Turn, part: ToolCallPart, view: View, earlierCalls: number): ToolCall {
  if (isClientTool(turn.options, part.name)) return waitForClient(part, view.now)
  const tool = view.toolbox.get(part.name)
  const effect = tool?.effectOf?.(part.input) ?? tool?.effect ?? 'effect'
  const call = { id: part.id, name: part.name, input: part.input, effect } as const
  const reject = (why: string): ToolCall => ({ ...call, state: 'settled', result: errorResult(part, why) })
  if (!tool) return reject(`${explainMissingTool(part.name, view)} ${listTools(view)}`)
  if (part.raw !== undefined)
    return reject(`Not run: the arguments of ${part.name} are not valid JSON. Send the call again with valid JSON.`)
  const limit = explainCallLimit(turn, part.name, earlierCalls, view)
  if (limit) return reject(`Not run: ${limit} Go on with what you have.`)
  return { ...call, state: 'planned' }
}

/** The client judges the arguments. They reach it as the model wrote them. */
function waitForClient(part: ToolCallPart, since: number): ToolCall {
  const { id, name } = part
  const awaits = { kind: 'client', tool: name, input: argumentsOf(part), since } as const
  // The arguments are stored once, in the request.
  return { id, name, input: {}, effect: 'effect', state: 'away', awaits }
}

/** Explains that a turn has no tool of this name. */
export const explainMissingTool = (name: string, { isToolLost }: View): string =>
  isToolLost?.(name) ? `${name} is not available: ${othersLimit}. Tell the user.` : `There is no tool named ${name}.`

/** Built-in tools come first. A longer list would take the room of the conversation. */
const maxListed = 100

function listTools({ toolbox }: View): string {
  if (!toolbox.size) return 'No tools are available.'
  const names = [...toolbox.keys()]
  const more = names.length > maxListed ? ` and ${names.length - maxListed} more` : ''
  const hint = toolbox.has(carrierTool) ? ' Find others with tool_search.' : ''
  return `There are: ${names.slice(0, maxListed).join(', ')}${more}.${hint}`
}
