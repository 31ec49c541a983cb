/** Records the tool calls of a running program inside the program's own call, and derives their events. */

import type { Event } from '#agent/core/event.ts'
import { type Commit, mapCalls, type NestedCall, type ToolCall, type Turn } from '#agent/core/turn.ts'

type NestedEnd = NonNullable<NestedCall['ended']>

const changeNested = (
  turn: Turn,
  parent: string,
  to: (nested: readonly NestedCall[]) => readonly NestedCall[],
): Commit => ({
  turn: mapCalls(turn, (call) =>
    call.id === parent && call.state === 'running' ? { ...call, nested: to(call.nested ?? []) } : call,
  ),
})

export const beginNested = (turn: Turn, parent: string, call: NestedCall): Commit =>
  changeNested(turn, parent, (nested) => [...nested, call])

/** Notes that a nested call waits for subagents. */
export const awaitDelegation = (turn: Turn, parent: string, id: string, delegation: string): Commit =>
  changeNested(turn, parent, (nested) => nested.map((call) => (call.id === id ? { ...call, delegation } : call)))

/** Ends a nested call. It counts for the limits of the turn like a call of the model. */
export function endNested(
  turn: Turn,
  parent: string,
  end: NestedEnd & { readonly id: string; readonly name: string },
): Commit {
  const { id, name, ...ended } = end
  const counted = { ...turn, ran: { ...turn.ran, [name]: (turn.ran[name] ?? 0) + 1 } }
  return changeNested(counted, parent, (nested) => nested.map((call) => (call.id === id ? { ...call, ended } : call)))
}

/** The last delegation of a program. `isOpen`: the program does not have its results. */
export const delegationIn = (call: ToolCall | undefined, { isOpen = false } = {}): string | undefined =>
  nestedIn(call).findLast(({ delegation, ended }) => delegation !== undefined && !(isOpen && ended))?.delegation

const nestedIn = (call: ToolCall | undefined) => (call?.state === 'running' ? (call.nested ?? []) : [])

/** Derives the events of nested calls. When the program's call ends, its open nested calls end too. */
export function nestedEvents(call: ToolCall | undefined, old: ToolCall | undefined, now: number): Event[] {
  const id = call?.id ?? old?.id ?? ''
  const before = new Map(nestedIn(old).map((child) => [child.id, child]))
  const isOver = call?.state !== 'running'
  const children = isOver
    ? [...before.values()].map((child) => (child.ended ? child : { ...child, ended: lostWithProgram }))
    : nestedIn(call)
  return children.flatMap((child) => [
    ...(before.has(child.id) ? [] : [startedEvent(child, id)]),
    ...(child.ended && !before.get(child.id)?.ended ? [completedEvent(child, child.ended, { parent: id, now })] : []),
  ])
}

const lostWithProgram: NestedEnd = { failed: true, preview: 'The program that made this call has ended.' }

const startedEvent = ({ id, name, input }: NestedCall, parent: string): Event => ({
  type: 'tool.started',
  call_id: id,
  tool: name,
  input,
  parent_call_id: parent,
})

const completedEvent = (
  { id, name, since }: NestedCall,
  { failed, preview }: NestedEnd,
  { parent, now }: { readonly parent: string; readonly now: number },
): Event => ({
  type: 'tool.completed',
  call_id: id,
  tool: name,
  failed,
  duration_ms: Math.max(0, now - since),
  preview,
  parent_call_id: parent,
})

const maxInputChars = 400

/** Lists the nested calls for the model, after a program was interrupted. */
export function describeNested(call: ToolCall): string {
  const nested = nestedIn(call)
  if (!nested.length) return ''
  const lines = nested.map(({ name, input, ended, delegation }) => {
    const outcome = delegation !== undefined ? 'see subagents' : ended ? (ended.failed ? 'failed' : 'ended') : 'unknown'
    return `${name} ${JSON.stringify(input).slice(0, maxInputChars)} (${outcome})`
  })
  return ` The program had begun these calls: ${lines.join('; ')}.`
}
