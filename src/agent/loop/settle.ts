/** Takes the result of an effect into the turn. Pure, and the only place where a turn moves forward. */

import { type Message, textIn, type ToolMessage } from '../model/message.ts'
import { startPersonWait } from '../model/person-wait.ts'
import type { View } from '../model/ports.ts'
import { type Commit, countProgress, endTurn, mapCalls, type Result, type ToolCall, type Turn } from '../model/turn.ts'
import type { IncomingReply, IncomingResult } from '../policy/policy.ts'
import { applyPolicies } from './apply.ts'
import { afterEffect, onReply } from './policies.ts'

export function settle(turn: Turn, result: Result, view: View): Commit {
  const commit = result.of === 'model' ? settleReply(turn, result, view) : settleResult({ turn, result }, view)
  return { ...commit, turn: startPersonWait(commit.turn, view.now) }
}

function settleReply(turn: Turn, { reply, usage }: Extract<Result, { of: 'model' }>, view: View): Commit {
  const ruled = applyPolicies(onReply, { turn, reply, usage, calls: [] }, view)
  return 'commit' in ruled ? ruled.commit : acceptReply(ruled.accepted, view)
}

function acceptReply({ turn, reply, calls }: IncomingReply, view: View): Commit {
  if (calls.length) return closeBatch({ turn: { ...turn, stage: { at: 'tools', calls } }, append: [reply] }, view)
  const isAnswered = !view.inbox.length
  return {
    turn: isAnswered ? endTurn(turn, 'answered', view.now) : { ...turn, stage: { at: 'ready' } },
    append: [reply],
  }
}

function settleResult(incoming: IncomingResult, view: View): Commit {
  const ruled = applyPolicies(afterEffect, incoming, view)
  return 'commit' in ruled ? ruled.commit : acceptResult(ruled.accepted, view)
}

function acceptResult({ turn, result }: IncomingResult, view: View): Commit {
  switch (result.of) {
    case 'tool':
      return settleCall({ ...turn, deaths: { ...turn.deaths, here: 0 } }, result.message, view)

    case 'later': {
      const waiting = ({ id, name, input, effect }: ToolCall): ToolCall => ({
        id,
        name,
        input,
        effect,
        state: 'away',
        awaits: result.awaits,
      })
      return { turn: mapCalls(turn, (call) => (call.id === result.callId ? waiting(call) : call)) }
    }

    case 'summary': {
      const { text, replaces } = result
      return { turn: { ...countProgress(turn, result.usage), stage: { at: 'ready' } }, summary: { text, replaces } }
    }

    case 'failure':
      throw new Error('The policy `recover` settles every failure.')
  }
}

/** Stores the result of a call. A call that is settled already stays as it is. */
export function settleCall(turn: Turn, message: ToolMessage, view: View): Commit {
  const settled = mapCalls(turn, (call) => {
    if (call.id !== message.callId || call.state === 'settled') return call
    const { id, name, input, effect } = call
    return { id, name, input, effect, state: 'settled', result: message }
  })
  return closeBatch({ turn: settled }, view)
}

/**
 * Appends all results of a batch to the transcript in the order of the calls, once the last call is settled. Messages
 * that steer the turn join the last result, marked as the user's.
 */
export function closeBatch(commit: Commit, view: View): Commit {
  const { stage } = commit.turn
  if (stage.at !== 'tools' || !stage.calls.every(isSettled)) return commit
  const steers = view.inbox.filter(({ mode }) => mode === 'steer')
  const results = stage.calls.map((call, i): Message => {
    if (i < stage.calls.length - 1 || !steers.length) return call.result
    const steered = steers.map(({ message }) => textIn(message)).join('\n')
    const text = `[The user said, while this ran: ${steered}]`
    return { ...call.result, content: [...call.result.content, { type: 'text', text }] }
  })
  return {
    ...commit,
    turn: { ...commit.turn, stage: { at: 'ready' } },
    append: [...(commit.append ?? []), ...results],
    ...(steers.length && { drain: [...(commit.drain ?? []), ...steers.map(({ id }) => id)] }),
  }
}

const isSettled = (call: ToolCall): call is Extract<ToolCall, { state: 'settled' }> => call.state === 'settled'
