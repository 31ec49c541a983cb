/** Takes the result of an effect into the turn. Pure, and the only place where a turn moves forward. */

import { startPersonWait } from '#agent/core/person-wait.ts'
import type { View } from '#agent/core/ports.ts'
import {
  type Commit,
  countProgress,
  endTurn,
  fieldsOf,
  mapCalls,
  type Result,
  type ToolCall,
  type Turn,
} from '#agent/core/turn.ts'
import type { IncomingReply, IncomingResult, Ruling } from '#agent/policy/policy.ts'
import { afterEffect, onReply } from './policies.ts'
import { endSegment } from './segment.ts'
import { closeBatch, settleCall, shortenResult } from './settle-calls.ts'

export function settle(turn: Turn, result: Result, view: View): Commit {
  const commit = result.of === 'model' ? settleReply(turn, result, view) : settleResult({ turn, result }, view)
  return endSegment(turn, { ...commit, turn: startPersonWait(commit.turn, view.now) }, view)
}

function settleReply(turn: Turn, { of: _of, ...received }: Extract<Result, { of: 'model' }>, view: View): Commit {
  const ruled = applyPolicies(onReply, { turn, calls: [], ...received }, view)
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
      return settleCall({ ...turn, crashes: { ...turn.crashes, here: 0 } }, result.message, view)

    case 'shortened':
      return { turn: shortenResult(turn, result) }

    case 'hooked': {
      const change = { hooked: result.ruling, ...('input' in result && { input: result.input }) }
      return { turn: mapCalls(turn, (call) => (call.id === result.callId ? { ...call, ...change } : call)) }
    }

    case 'later': {
      const { awaits } = result
      // Looking at a task changes nothing, so a crash during it repeats the look.
      const effect = awaits.kind === 'task' ? { effect: 'pure' as const } : {}
      const waiting = (call: ToolCall): ToolCall => ({ ...fieldsOf(call), ...effect, state: 'away', awaits })
      return { turn: mapCalls(turn, (call) => (call.id === result.callId ? waiting(call) : call)) }
    }

    case 'summary': {
      return { turn: { ...countProgress(turn, result.usage), stage: { at: 'ready' } }, summary: result.summary }
    }

    case 'failure':
      throw new Error('The policy `recover` settles every failure.')
  }
}

type Policy<Incoming> = (incoming: Incoming, view: View) => Ruling<Incoming>

/** Each policy gets the changes of those before it. The first commit ends the list. */
export function applyPolicies<Incoming extends object>(
  policies: readonly Policy<Incoming>[],
  incoming: Incoming,
  view: View,
): { readonly commit: Commit } | { readonly accepted: Incoming } {
  let accepted = incoming
  for (const policy of policies) {
    const ruling = policy(accepted, view)
    if (ruling && 'commit' in ruling) return { commit: ruling.commit as Commit }
    if (ruling) accepted = { ...accepted, ...ruling }
  }
  return { accepted }
}
