/** Decides for each requested call whether it may run, must be asked for, or is answered at once. */

import type { ToolCallPart, ToolMessage } from '../model/message.ts'
import type { View } from '../model/ports.ts'
import type { ToolCall } from '../model/turn.ts'

export const refuse = (call: { readonly id: string; readonly name: string }, why: string): ToolMessage => ({
  role: 'tool',
  callId: call.id,
  name: call.name,
  content: [{ type: 'text', text: JSON.stringify({ error: why }) }],
  failed: true,
})

export function plan(part: ToolCallPart, view: View, truncated: boolean): ToolCall {
  const tool = view.toolbox.get(part.name)
  const call = { id: part.id, name: part.name, input: part.input, effect: tool?.effect ?? 'effect' } as const
  const answered = (why: string): ToolCall => ({ ...call, state: 'settled', result: refuse(part, why) })
  if (truncated)
    return answered(
      'Not run: the message was cut off before it ended. Send the call again, in smaller parts if it is long.',
    )
  if (!tool) return answered(`There is no tool named ${part.name}. ${offer(view)}`)
  if (part.raw !== undefined)
    return answered(`Not run: the arguments of ${part.name} are not valid JSON. Send the call again with valid JSON.`)
  return { ...call, state: view.asks.has(tool.risk(part.input)) ? 'asking' : 'planned' }
}

const offer = (view: View) =>
  view.toolbox.size ? `There are: ${[...view.toolbox.keys()].join(', ')}.` : 'No tools are available.'
