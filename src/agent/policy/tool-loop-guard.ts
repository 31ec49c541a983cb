/**
 * Detects repeated tool calls: the same call fails, one tool fails, or the same result returns. A line in the result
 * warns the model. With `tool_loop_guardrails.hard_stop_enabled` the turn winds up. The limits on expensive tools hold
 * always.
 */

import { textIn, type ToolMessage } from '#agent/core/message.ts'
import type { GuardThresholds, View } from '#agent/core/ports.ts'
import { changesNothing } from '#agent/core/tool.ts'
import { type GuardState, addNote, countUse, timesUsed, type ToolCall, type Turn } from '#agent/core/turn.ts'
import type { AfterEffect, OnReply } from './policy.ts'

const maxKeyChars = 2_000

/** Counts the result of a tool. Over a threshold it adds a line for the model or halts the tools. */
export const guardToolLoops: AfterEffect = ({ turn, result }, view) => {
  if (result.of !== 'tool') return undefined
  const { message } = result
  const calls = turn.stage.at === 'tools' ? turn.stage.calls : []
  const call = calls.find(({ id }) => id === message.callId)
  const state = count(turn.guard, call, message)
  const { warn, stop, warnAfter, stopAfter } = view.limits.guard
  const counted: Turn = {
    ...turn,
    guard: state,
    ran: { ...turn.ran, [message.name]: (turn.ran[message.name] ?? 0) + 1 },
  }
  const halted = stop ? describeLoop(state, stopAfter, message.name) : undefined
  if (halted)
    return {
      turn: addNote({ ...counted, guard: { ...state, halted } }, view.now, 'stop the tools', halted),
      result: { ...result, message: withLine(message, `[Stopped: ${halted}]`) },
    }
  const warning = warn ? describeLoop(state, warnAfter, message.name) : undefined
  if (!warning) return { turn: counted }
  const line = `[${warning} Change the input or take another way.]`
  return { turn: counted, result: { ...result, message: withLine(message, line) } }
}

/** Explains why a call may not run any more in this turn; undefined when it may. */
export function explainCallLimit(turn: Turn, name: string, plannedCalls: number, view: View): string | undefined {
  const max = view.limits.guard.perTurn[name]
  return max !== undefined && (turn.ran[name] ?? 0) + plannedCalls >= max
    ? `The limit of ${max} calls of ${name} in one turn is reached.`
    : undefined
}

/** The same for a call of a running program: calls that the programs have not finished count too. */
export function explainNestedCallLimit(turn: Turn, name: string, view: View): string | undefined {
  const calls = turn.stage.at === 'tools' ? turn.stage.calls : []
  const nested = calls.flatMap((call) => (call.state === 'running' ? (call.nested ?? []) : []))
  const open = nested.filter((call) => call.name === name && !call.ended)
  return explainCallLimit(turn, name, open.length, view)
}

const overLimitUse = 'only calls over a limit'
/** Replies that ask only for calls over a limit. Their results say so, and the turn goes on with other tools. */
const maxOverLimitReplies = 3

/** Halts the tools when the model goes on to ask only for calls that a limit refuses. */
export const stopAtCallLimit: OnReply = ({ turn, calls }, view) => {
  const asked = calls.filter(({ state }) => state !== 'away')
  const limits = asked.map(({ name }) => explainCallLimit(turn, name, 0, view))
  const [limit] = limits
  if (limit === undefined || limits.some((one) => one === undefined)) return undefined
  const counted = countUse(turn, overLimitUse)
  if (timesUsed(counted, overLimitUse) < maxOverLimitReplies) return { turn: counted }
  return { turn: addNote({ ...counted, guard: { ...turn.guard, halted: limit } }, view.now, 'stop the tools', limit) }
}

function count(state: GuardState, call: ToolCall | undefined, message: ToolMessage): GuardState {
  const key = `${message.name} ${JSON.stringify(call?.input ?? null)}`.slice(0, maxKeyChars)
  if (message.failed)
    return {
      ...state,
      exact: { key, count: state.exact.key === key ? state.exact.count + 1 : 1 },
      tool: { name: message.name, count: state.tool.name === message.name ? state.tool.count + 1 : 1 },
      same: { key: '', count: 0 },
    }
  // Only reads can lack progress: writing the same twice may be intended.
  const sameKey = changesNothing(call?.effect) ? `${key} ${textIn(message).slice(0, maxKeyChars)}` : ''
  return {
    ...state,
    exact: { key: '', count: 0 },
    tool: { name: '', count: 0 },
    same: { key: sameKey, count: sameKey && state.same.key === sameKey ? state.same.count + 1 : 1 },
  }
}

/** Explains the first threshold that is reached. */
function describeLoop({ exact, tool, same }: GuardState, after: GuardThresholds, name: string): string | undefined {
  if (exact.count >= after.exact) return `This exact call has now failed ${exact.count} times in a row.`
  if (tool.count >= after.tool) return `${name} has now failed ${tool.count} times in a row.`
  if (same.key && same.count >= after.same)
    return `This call has returned the same result ${same.count} times in a row.`
  return undefined
}

const withLine = (message: ToolMessage, line: string): ToolMessage => ({
  ...message,
  content: [...message.content, { type: 'text', text: line }],
})
