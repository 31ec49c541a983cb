/**
 * Notices a model that goes in circles: the same call failing, one tool failing, the same result again
 * and again. It is told in the result; with `tool_loop_guardrails.hard_stop_enabled` the turn is wound
 * up. Caps per turn on expensive tools hold always.
 */

import { textIn, type ToolMessage } from '../model/message.ts'
import type { GuardThresholds, View } from '../model/ports.ts'
import { type GuardState, noted, type ToolCall, type Turn } from '../model/turn.ts'

const keyLength = 2_000

/** Counts the result and, when it is one too many of its kind, adds a line for the model or halts the tools. */
export function guard(
  turn: Turn,
  call: ToolCall | undefined,
  message: ToolMessage,
  view: View,
): { readonly turn: Turn; readonly message: ToolMessage } {
  const state = count(turn.guard, call, message)
  const { warn, stop, warnAfter, stopAfter } = view.limits.guard
  const counted: Turn = {
    ...turn,
    guard: state,
    ran: { ...turn.ran, [message.name]: (turn.ran[message.name] ?? 0) + 1 },
  }
  const halted = stop ? circle(state, stopAfter, message.name) : undefined
  if (halted) {
    const note = noted({ ...counted, guard: { ...state, halted } }, view.now, 'stop the tools', halted)
    return { turn: note, message: withLine(message, `[Stopped: ${halted}]`) }
  }
  const warning = warn ? circle(state, warnAfter, message.name) : undefined
  return {
    turn: counted,
    message: warning ? withLine(message, `[${warning} Change the input or take another way.]`) : message,
  }
}

/** Why a call may not run any more in this turn; undefined when it may. */
export function exhausted(turn: Turn, name: string, planned: number, view: View): string | undefined {
  const most = view.limits.guard.perTurn[name]
  return most !== undefined && (turn.ran[name] ?? 0) + planned >= most
    ? `The limit of ${most} calls of ${name} in one turn is reached.`
    : undefined
}

/** A cap ends the turn's tools, hard stop or not: who searches that often is not going to find it. */
export function capped(turn: Turn, calls: readonly ToolCall[], view: View): Turn {
  const limit = calls
    .map(({ name }) => exhausted(turn, name, calls.filter((call) => call.name === name).length - 1, view))
    .find((reason) => reason !== undefined)
  if (limit === undefined) return turn
  return noted({ ...turn, guard: { ...turn.guard, halted: limit } }, view.now, 'stop the tools', limit)
}

function count(state: GuardState, call: ToolCall | undefined, message: ToolMessage): GuardState {
  const key = `${message.name} ${JSON.stringify(call?.input ?? null)}`.slice(0, keyLength)
  if (message.failed)
    return {
      ...state,
      exact: { key, count: state.exact.key === key ? state.exact.count + 1 : 1 },
      tool: { name: message.name, count: state.tool.name === message.name ? state.tool.count + 1 : 1 },
      same: { key: '', count: 0 },
    }
  // Only what reads can be without progress: writing the same twice may be what is wanted.
  const seen = call?.effect === 'pure' ? `${key} ${textIn(message).slice(0, keyLength)}` : ''
  return {
    ...state,
    exact: { key: '', count: 0 },
    tool: { name: '', count: 0 },
    same: { key: seen, count: seen && state.same.key === seen ? state.same.count + 1 : 1 },
  }
}

function circle({ exact, tool, same }: GuardState, after: GuardThresholds, name: string): string | undefined {
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
