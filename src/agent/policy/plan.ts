/**
 * Decides for each requested call whether it is planned or answered at once. Whether a planned one needs a person's
 * approval is asked when it is about to run (approval.ts).
 */

import type { AssistantMessage, ToolCallPart, ToolMessage } from '../model/message.ts'
import type { View } from '../model/ports.ts'
import type { ToolCall, Turn } from '../model/turn.ts'
import { exhausted } from './guard.ts'
import { repairName } from './tool-name.ts'

export const refuse = (call: { readonly id: string; readonly name: string }, why: string): ToolMessage => ({
  role: 'tool',
  callId: call.id,
  name: call.name,
  content: [{ type: 'text', text: JSON.stringify({ error: why }) }],
  failed: true,
})

/** The calls of a reply, in its order. */
export function planAll(turn: Turn, parts: readonly ToolCallPart[], view: View): ToolCall[] {
  const planned: Record<string, number> = {}
  return parts.map((part) => {
    const call = plan(turn, part, view, planned[part.name] ?? 0)
    planned[part.name] = (planned[part.name] ?? 0) + 1
    return call
  })
}

function plan(turn: Turn, part: ToolCallPart, view: View, before: number): ToolCall {
  const tool = view.toolbox.get(part.name)
  const effect = tool?.effectOf?.(part.input) ?? tool?.effect ?? 'effect'
  const call = { id: part.id, name: part.name, input: part.input, effect } as const
  const answered = (why: string): ToolCall => ({ ...call, state: 'settled', result: refuse(part, why) })
  if (!tool) return answered(`There is no tool named ${part.name}. ${offer(view)}`)
  if (part.raw !== undefined)
    return answered(`Not run: the arguments of ${part.name} are not valid JSON. Send the call again with valid JSON.`)
  const limit = exhausted(turn, part.name, before, view)
  if (limit) return answered(`Not run: ${limit} Go on with what you have.`)
  return { ...call, state: 'planned' }
}

const offer = (view: View) =>
  view.toolbox.size ? `There are: ${[...view.toolbox.keys()].join(', ')}.` : 'No tools are available.'

/** Of one reply. Each has its own write, of a turn that holds them all. */
const mostCalls = 128

/**
 * A reply as it can be worked with: names of tools as they are, ids that tell calls apart, and no call
 * twice. Some models send every call of a batch with the same id, or the same call several times. Who sees that a call
 * has no result asks again.
 */
export function tidied(reply: AssistantMessage, view: View): AssistantMessage {
  const ids = new Set<string>()
  const seen = new Set<string>()
  const content = reply.content.flatMap((part, i): AssistantMessage['content'] => {
    if (part.type !== 'call') return [part]
    if (ids.size === mostCalls) return []
    const name = view.toolbox.has(part.name) ? part.name : (repairName(part.name, view.toolbox.keys()) ?? part.name)
    const same = `${name} ${part.raw ?? canonical(part.input)}`
    if (seen.has(same)) return []
    seen.add(same)
    const id = unique(part.id || `call_${i}`, ids)
    return [{ ...part, name: name || 'invalid_tool_call', id }]
  })
  return { ...reply, content }
}

function unique(id: string, taken: Set<string>): string {
  let free = id
  for (let n = 2; taken.has(free); n++) free = `${id}_d${n}`
  taken.add(free)
  return free
}

/** The same JSON whatever the order of the keys. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null'
  const entries = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return `{${entries.map(([key, part]) => `${JSON.stringify(key)}:${canonical(part)}`).join(',')}}`
}
