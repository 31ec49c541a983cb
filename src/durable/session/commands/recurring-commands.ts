/** `/heartbeat` and `/loop`: prompts that come again while the session is idle. */

import { renderDuration, splitDuration } from '#agent/schedule/recurring/duration.ts'
import {
  createFileHeartbeat,
  createHeartbeat,
  createLoop,
  type Heartbeat,
  type Loop,
  maxPauseMs,
  maxPromptChars,
  minHeartbeatMs,
  minLoopMs,
  pause,
  resume,
} from '#agent/schedule/recurring/recurring.ts'
import { clock } from '#durable/platform/clock.ts'
import { findWorkRefusal } from '../core/work-of-others.ts'
import type { Session } from '../session.ts'
import { type CommandCall, type CommandReply, reply, type CommandHandler, isFreeAction, usageReply } from './command.ts'

export const heartbeatCommand: CommandHandler = (session, call) =>
  refuse(session, call, 'heartbeat') ?? manage(session, call, 'heartbeat') ?? setHeartbeat(session, call)

export const loopCommand: CommandHandler = (session, call) =>
  refuse(session, call, 'loop') ?? manage(session, call, 'loop') ?? setLoop(session, call)

type RecurringKind = 'heartbeat' | 'loop'

function refuse(session: Session, call: CommandCall, kind: RecurringKind): CommandReply | undefined {
  const refusal = isFreeAction(call.text) ? undefined : findWorkRefusal(session, kind, call)
  return refusal === undefined ? undefined : reply(refusal)
}

function setHeartbeat(session: Session, { text, authority }: CommandCall): CommandReply {
  const { ms, text: prompt } = splitDuration(text)
  if (ms === undefined || prompt.length > maxPromptChars) return usageReply('heartbeat')
  if (ms < minHeartbeatMs || ms > maxPauseMs)
    return reply(
      `A heartbeat comes at most every ${renderDuration(minHeartbeatMs)} and at least every ${renderDuration(maxPauseMs)}.`,
    )
  const start = { authority, now: clock.now() }
  return store(
    session,
    'heartbeat',
    prompt ? createHeartbeat({ ...start, prompt }, ms) : createFileHeartbeat(start, ms),
  )
}

function setLoop(session: Session, { text, authority }: CommandCall): CommandReply {
  const { ms, text: prompt } = splitDuration(text)
  if (!prompt || prompt.length > maxPromptChars) return usageReply('loop')
  if (ms !== undefined && (ms < minLoopMs || ms > maxPauseMs))
    return reply(
      `A loop comes at most every ${renderDuration(minLoopMs)} and at least every ${renderDuration(maxPauseMs)}.`,
    )
  return store(session, 'loop', createLoop({ prompt, authority, now: clock.now() }, ms))
}

/** Undefined when the text sets a new one. */
function manage(session: Session, { text, authority }: CommandCall, kind: RecurringKind): CommandReply | undefined {
  const one = session.meta[kind]
  const word = text.toLowerCase()
  if (!['', 'show', 'status', 'pause', 'resume', 'clear', 'stop'].includes(word)) return undefined
  if (!one) return reply(`There is no ${kind}. /help ${kind} says how to set one.`)
  switch (word) {
    case 'pause':
      return store(session, kind, pause(one, 'A person has paused it.'))
    case 'resume':
      return store(session, kind, resume(one, authority, clock.now()))
    case 'clear':
    case 'stop':
      session.updateMeta({ [kind]: undefined })
      session.arm()
      return reply(`The ${kind} is cleared.`)
    default:
      return reply(describe(kind, one))
  }
}

function store(session: Session, kind: RecurringKind, one: Heartbeat | Loop): CommandReply {
  session.updateMeta({ [kind]: one })
  session.arm()
  return reply(describe(kind, one))
}

function describe(kind: RecurringKind, { prompt, everyMs, state, ticks, nextAt }: Heartbeat | Loop): string {
  const interval = everyMs === undefined ? 'paced by the model' : `every ${renderDuration(everyMs)}`
  const position =
    state.at === 'active'
      ? `Next: ${new Date(nextAt).toISOString()}, when the session is idle.`
      : `${state.at === 'paused' ? 'Paused' : 'Ended'}: ${state.reason}`
  return `The ${kind}, ${interval}, sent ${ticks} times: ${prompt}\n${position}`
}
