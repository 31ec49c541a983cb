/** Takes in what an effect brought back. Pure; the only place where a turn moves forward. */

import { type AssistantMessage, callsIn, type Message, textIn, type ToolMessage } from '../model/message.ts'
import type { View } from '../model/ports.ts'
import { type Commit, mapCalls, type Result, type ToolCall, type Turn } from '../model/turn.ts'
import { addUsage, type Usage } from '../model/usage.ts'
import { isSpent, windUp } from '../policy/budget.ts'
import { guard } from '../policy/guard.ts'
import { nudge } from '../policy/nudge.ts'
import { plan } from '../policy/plan.ts'
import { firstOpinion, type Verdict } from '../policy/policy.ts'
import { giveUp, recover } from '../policy/recover.ts'

/** Asked in this order about every result; the first with an opinion wins. */
const verdicts: readonly Verdict[] = [recover, nudge]

export function settle(turn: Turn, result: Result, view: View): Commit {
  return firstOpinion(verdicts, turn, result, view) ?? accept(turn, result, view)
}

function accept(turn: Turn, result: Result, view: View): Commit {
  switch (result.of) {
    case 'model':
      return acceptReply(progressed(turn, result.usage), withUniqueIds(result.reply), view)

    case 'tool':
      return acceptTool(turn, result, view)

    case 'later':
      return {
        turn: mapCalls(turn, (call) => {
          if (call.id !== result.callId) return call
          const { id, name, input, effect } = call
          return { id, name, input, effect, state: 'away', awaits: result.awaits }
        }),
      }

    case 'summary':
      return { turn: { ...progressed(turn, result.usage), stage: { at: 'ready' } }, summary: result.text }

    case 'failure':
      throw new Error('recover() has an opinion about every failure.')
  }
}

const progressed = (turn: Turn, usage: Usage): Turn => ({
  ...turn,
  deaths: { ...turn.deaths, here: 0 },
  route: { ...turn.route, attempt: 0 },
  usage: addUsage(turn.usage, usage),
})

function acceptReply(turn: Turn, reply: AssistantMessage, view: View): Commit {
  if (isSpent(turn)) return windUp(turn, reply, view.now)
  const paid = { ...turn, budget: { ...turn.budget, spent: turn.budget.spent + 1 } }

  const calls = callsIn(reply).map((part) => plan(part, view, reply.stop === 'length'))
  if (calls.length) return closeBatch({ turn: { ...paid, stage: { at: 'tools', calls } }, append: [reply] }, view)

  if (!textIn(reply).trim())
    return giveUp(paid, { kind: 'unknown', message: 'the model sent an empty answer' }, view.now)
  const stage = view.inbox.length
    ? ({ at: 'ready' } as const)
    : ({ at: 'done', outcome: 'answered', endedAt: view.now } as const)
  return { turn: { ...paid, stage }, append: [reply] }
}

function acceptTool(turn: Turn, result: Extract<Result, { of: 'tool' }>, view: View): Commit {
  const calls = turn.stage.at === 'tools' ? turn.stage.calls : []
  const call = calls.find(({ id }) => id === result.message.callId)
  const guarded = guard({ ...turn, deaths: { ...turn.deaths, here: 0 } }, call, result.message)
  return settleCall(guarded.turn, guarded.message, view)
}

/** Puts a result in its place. A call that is already settled stays as it is. */
export function settleCall(turn: Turn, message: ToolMessage, view: View): Commit {
  return closeBatch(
    {
      turn: mapCalls(turn, (call) => {
        if (call.id !== message.callId || call.state === 'settled') return call
        const { id, name, input, effect } = call
        return { id, name, input, effect, state: 'settled', result: message }
      }),
    },
    view,
  )
}

/**
 * Results join the transcript together and in the order they were asked for, once the last one is in.
 * What people said to steer the turn goes into the last of them, marked as theirs.
 */
export function closeBatch(commit: Commit, view: View): Commit {
  const { stage } = commit.turn
  if (stage.at !== 'tools' || !stage.calls.every(isSettled)) return commit
  const steers = view.inbox.filter(({ mode }) => mode === 'steer')
  const results = stage.calls.map((call, i): Message => {
    if (i < stage.calls.length - 1 || !steers.length) return call.result
    const said = steers.map(({ message }) => textIn(message)).join('\n')
    const text = `[The user said, while this ran: ${said}]`
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

/** Some models give every call of a batch the same id, or none. Results could not be told apart. */
function withUniqueIds(reply: AssistantMessage): AssistantMessage {
  const seen = new Set<string>()
  const content = reply.content.map((part, i) => {
    if (part.type !== 'call') return part
    let id = part.id || `call_${i}`
    for (let n = 2; seen.has(id); n++) id = `${part.id || 'call'}_d${n}`
    seen.add(id)
    return id === part.id ? part : { ...part, id }
  })
  return { ...reply, content }
}
