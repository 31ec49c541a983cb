/** Takes in what an effect brought back. Pure; the only place where a turn moves forward. */

import { type AssistantMessage, callsIn, type Message, textIn, type ToolMessage } from '../model/message.ts'
import type { View } from '../model/ports.ts'
import { type Commit, decided, mapCalls, type Result, spend, type ToolCall, type Turn } from '../model/turn.ts'
import { addUsage, type Usage } from '../model/usage.ts'
import { isSpent, pay, windUp } from '../policy/budget.ts'
import { done } from '../policy/ending.ts'
import { capped, guard } from '../policy/guard.ts'
import { broken, forgiven, output } from '../policy/output.ts'
import { held } from '../policy/pending-requests.ts'
import { planAll, tidied } from '../policy/plan.ts'
import { firstOpinion, type Verdict } from '../policy/policy.ts'
import { recover } from '../policy/recover.ts'
import { isHousekeeping } from '../policy/housekeeping.ts'

/** Asked in this order about every result; the first with an opinion wins. */
const verdicts: readonly Verdict[] = [broken, recover, output]

export function settle(turn: Turn, result: Result, view: View): Commit {
  const tidy = result.of === 'model' ? { ...result, reply: tidied(result.reply, view) } : result
  const noted = 'decision' in result ? decided(turn, result.decision) : turn
  const commit = firstOpinion(verdicts, noted, tidy, view) ?? accept(noted, tidy, view)
  return { ...commit, turn: held(commit.turn, view.now) }
}

function accept(turn: Turn, result: Result, view: View): Commit {
  switch (result.of) {
    case 'model':
      return acceptReply(progressed(turn, result.usage), result.reply, view)

    case 'tool': {
      const calls = turn.stage.at === 'tools' ? turn.stage.calls : []
      const call = calls.find(({ id }) => id === result.message.callId)
      const guarded = guard({ ...turn, deaths: { ...turn.deaths, here: 0 } }, call, result.message, view)
      return settleCall(guarded.turn, guarded.message, view)
    }

    case 'later': {
      const away = ({ id, name, input, effect }: ToolCall): ToolCall => ({
        id,
        name,
        input,
        effect,
        state: 'away',
        awaits: result.awaits,
      })
      return { turn: mapCalls(turn, (call) => (call.id === result.callId ? away(call) : call)) }
    }

    case 'summary': {
      const { text, replaces } = result
      return { turn: { ...progressed(turn, result.usage), stage: { at: 'ready' } }, summary: { text, replaces } }
    }

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

function acceptReply({ draft = '', said: _said, ...rest }: Turn, given: AssistantMessage, view: View): Commit {
  const reply = draft ? continued(draft, given) : given
  if (isSpent(rest)) return windUp(rest, reply, view.now)

  const calls = planAll(rest, callsIn(reply), view)
  const turn = pay(capped(rest, calls, view), calls)
  if (!calls.length) {
    const stage = view.inbox.length ? ({ ...turn, stage: { at: 'ready' } } as const) : done(turn, 'answered', view.now)
    return { turn: stage, append: [reply] }
  }
  const known = calls.some(({ name }) => view.toolbox.has(name))
  const counted = known ? forgiven(turn) : spend(turn, 'unknown tools')
  const text = textIn(reply).trim()
  const kept = text && calls.every(({ name }) => isHousekeeping(name)) ? { said: text } : {}
  return closeBatch({ turn: { ...counted, ...kept, stage: { at: 'tools', calls } }, append: [reply] }, view)
}

/** The parts of an answer that was cut become one message. */
const continued = (draft: string, reply: AssistantMessage): AssistantMessage => ({
  ...reply,
  content: [{ type: 'text', text: draft + textIn(reply) }, ...reply.content.filter(({ type }) => type !== 'text')],
})

/** Puts a result in its place. A call that is already settled stays as it is. */
export function settleCall(turn: Turn, message: ToolMessage, view: View): Commit {
  const settled = mapCalls(turn, (call) => {
    if (call.id !== message.callId || call.state === 'settled') return call
    const { id, name, input, effect } = call
    return { id, name, input, effect, state: 'settled', result: message }
  })
  return closeBatch({ turn: settled }, view)
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
