/**
 * Detects replies that are no answer yet: cut off, empty, only thinking, or only an announcement. The model is asked
 * again a bounded number of times, with an instruction that is never stored in the transcript.
 */

import { type AssistantMessage, callsIn, errorResult, notice, textIn, thinkingIn } from '#agent/core/message.ts'
import type { View } from '#agent/core/ports.ts'
import { othersLimit } from '#agent/core/permission/lost-rights.ts'
import { isClientTool, offeredTools } from '#agent/core/request/tool-schema.ts'
import { type Commit, endTurn, addNote, type Result, countUse, timesUsed, type Turn } from '#agent/core/turn.ts'
import { addUsage, noUsage } from '#agent/core/usage.ts'
import { isSpent } from './budget.ts'
import { giveUp } from './give-up.ts'
import { explainMissingTool } from './plan-calls.ts'
import type { AfterEffect, OnReply } from './policy.ts'
import { nextModel, waitSlowly } from './remedies.ts'

type ModelReply = Pick<Extract<Result, { of: 'model' }>, 'reply' | 'usage'>
type ReplyCheck = (turn: Turn, reply: ModelReply, view: View) => Commit | undefined

const instructions = {
  continue: 'Your answer was cut off. Go on exactly where it stopped; do not repeat and do not comment.',
  empty: 'Your last message was empty. Go on with the task, or give your final answer.',
  emptyAfterTools: 'The results are in. Go on with the task, or give your final answer.',
  thoughtOnly: 'You thought, but said nothing. Write your answer now, or call the tools you need.',
  noCalls: 'You ended your message to call tools, but there were no calls in it. Send the calls, or answer.',
  announced: 'You said what you are going to do. Do it now: call the tools, or give your final answer.',
} as const

/** Requests for one answer, the first included. */
const maxRequests = 4
const minOutputTokens = 4_096
const maxOutputTokens = 32_768

type Retry = { readonly name: string; readonly instruction: string; readonly change?: Partial<Turn> }

/** Asks the model again. A dropped reply counts as a restart when clients saw a part of it. */
function askAgain(
  turn: Turn,
  at: number,
  { name, instruction, change = {} }: Retry,
  dropped?: AssistantMessage,
): Commit {
  const noted = addNote(countUse(turn, name), at, name, 'the answer is not complete')
  const isSeen = dropped && (textIn(dropped) || thinkingIn(dropped))
  const restarts = isSeen ? { count: turn.restarts.count + 1, reason: name } : turn.restarts
  return { turn: { ...noted, restarts, ...change, stage: { at: 'ready' }, nextInstruction: instruction } }
}

/** Continues a text that reached the length limit. All parts become one message. */
const cutText: ReplyCheck = (turn, { reply }, { now }) => {
  if (reply.stop !== 'length' || callsIn(reply).length || !textIn(reply)) return undefined
  const draft = `${turn.draft ?? ''}${textIn(reply)}`
  if (timesUsed(turn, 'continue') < maxRequests - 1)
    return askAgain(turn, now, { name: 'continue', instruction: instructions.continue, change: { draft } })
  const whole: AssistantMessage = { ...reply, content: [{ type: 'text', text: draft }], stop: 'length' }
  return { turn: endTurn(turn, 'partial', now), append: [whole] }
}

/** Repeats a request whose reply was cut off inside a tool call, with a higher output limit. A cut call never runs. */
const cutCall: ReplyCheck = (turn, { reply, usage }, { now }) => {
  if (reply.stop !== 'length' || !callsIn(reply).length) return undefined
  const attempts = timesUsed(turn, 'cut call')
  // At least twice the last output, because the default limit of many models is higher than ours.
  const doubled = Math.max(minOutputTokens * 2 ** (attempts + 1), usage.output * 2)
  const maxTokens = Math.max(Math.min(doubled, maxOutputTokens), turn.options.maxTokens ?? 0, usage.output)
  const repairs = { ...turn.repairs, maxTokens }
  const hint =
    'Your message was cut off inside a tool call, so nothing was run. Send it again; split long contents into several calls.'
  if (attempts < maxRequests - 1)
    return askAgain(turn, now, { name: 'cut call', instruction: hint, change: { repairs } }, reply)
  return {
    turn: endTurn(turn, 'partial', now),
    append: [
      notice(
        'I could not finish: the model kept exceeding the longest possible message inside a tool call. Nothing of it was run. Ask for it in smaller parts.',
      ),
    ],
  }
}

/** Ends the turn when thinking used up the whole output: another request would end the same way. */
const cutThought: ReplyCheck = (turn, { reply }, { now }) =>
  reply.stop === 'length' && !textIn(reply) && !callsIn(reply).length
    ? {
        turn: endTurn(turn, 'partial', now),
        append: [
          notice('The model used up its whole output on thinking. Raise max_tokens, or lower the reasoning effort.'),
        ],
      }
    : undefined

const thoughtOnly: ReplyCheck = (turn, { reply }, { now }) =>
  isEmpty(reply) && thinkingIn(reply).trim() && timesUsed(turn, 'thought only') < 2
    ? askAgain(turn, now, { name: 'thought only', instruction: instructions.thoughtOnly }, reply)
    : undefined

const noCalls: ReplyCheck = (turn, { reply }, { now }) =>
  reply.stop === 'tools' && !callsIn(reply).length && timesUsed(turn, 'no calls') < 3
    ? askAgain(turn, now, { name: 'no calls', instruction: instructions.noCalls }, reply)
    : undefined

/** Answers with the text that came with the previous tool calls (`housekeeping-text.ts`), or asks again once. */
const emptyAfterTools: ReplyCheck = (turn, { reply }, { now, lastRole }) => {
  if (!isEmpty(reply) || lastRole !== 'tool') return undefined
  if (turn.fallbackAnswer !== undefined)
    return {
      turn: endTurn(turn, 'answered', now),
      append: [{ role: 'assistant', content: [{ type: 'text', text: turn.fallbackAnswer }], stop: 'end' }],
    }
  return timesUsed(turn, 'empty after tools') < 1
    ? askAgain(turn, now, { name: 'empty after tools', instruction: instructions.emptyAfterTools }, reply)
    : undefined
}

/** Retries an empty reply three times with pauses, an expensive one once, and one that is empty again without output never. */
const empty: ReplyCheck = (turn, { reply, usage }, view) => {
  if (!isEmpty(reply)) return undefined
  const attempts = timesUsed(turn, 'empty')
  const isHopeless = usage.output === 0 && attempts >= 1 && timesUsed(turn, 'empty without output') >= 1
  const maxAttempts = usage.costUsd > 0.25 ? 1 : 3
  const counted = usage.output === 0 ? countUse(turn, 'empty without output') : turn
  const failure = { kind: 'malformed', message: 'the model sends empty answers' } as const
  const retried = askAgain(counted, view.now, { name: 'empty', instruction: instructions.empty }, reply).turn
  const next =
    (!isHopeless && attempts < maxAttempts ? waitSlowly(retried, { failure }, view) : undefined) ??
    nextModel(counted, { failure }, view)
  return next ? { turn: next } : giveUp(counted, failure, view.now)
}

/** Matches a short message that ends with an announcement, such as "I will now look at the file." */
const announcement =
  /(?:^|[.!?:\n]\s{0,20})(?:(?:now|next|first|okay|ok|great|sure)[,!.]?\s+)?(?:i(?:'ll| will| am going to|'m going to)|let me|let's|ich werde|lass mich|je vais|voy a)\s[^.!?\n]{3,160}[.:\u2026]*\s*$/i
/** Offers and questions are answers. */
const offer = /\?\s*$|let me know|if you (?:want|like|need)|wait|when you|once you/i

const announced: ReplyCheck = (turn, { reply }, { now, toolbox }) => {
  const text = textIn(reply).trim()
  const hasTools = toolbox.size > 0 || offeredTools(turn.options).length > 0
  if (!hasTools || callsIn(reply).length || text.length > 400 || timesUsed(turn, 'announced') >= 2) return undefined
  if (!announcement.test(text) || offer.test(text)) return undefined
  return askAgain(turn, now, { name: 'announced', instruction: instructions.announced }, reply)
}

/** Ends the turn after three replies in a row that call only unknown tools. */
const unknownTools: ReplyCheck = (turn, { reply }, view) => {
  const { now, toolbox, isToolLost } = view
  const calls = callsIn(reply)
  if (!calls.length || isAnyKnown(calls, turn, toolbox) || timesUsed(turn, 'unknown tools') < 2) return undefined
  const names = [...new Set(calls.map(({ name }) => name))]
  const isLost = names.some((name) => isToolLost?.(name))
  const reason = isLost
    ? `are not available here (${names.join(', ')}): ${othersLimit}.`
    : `do not exist (${names.join(', ')}). Try again, or another model.`
  return {
    turn: endTurn(turn, 'partial', now),
    append: [
      reply,
      ...calls.map((call) => errorResult(call, explainMissingTool(call.name, view))),
      notice(`I could not go on: the model keeps asking for tools that ${reason}`),
    ],
  }
}

/** The counts of attempts for one answer. A reply with a known tool resets them. */
const counters = [
  'continue',
  'cut call',
  'thought only',
  'no calls',
  'empty after tools',
  'empty',
  'empty without output',
  'unknown tools',
] as const

/**
 * Counts replies whose calls name no existing tool. Any other call starts all counts anew: a long turn gets as many
 * attempts for its last step as for its first.
 */
export const countUnknownTools: OnReply = ({ turn, calls }, { toolbox }) => {
  if (!calls.length) return undefined
  if (!isAnyKnown(calls, turn, toolbox)) return { turn: countUse(turn, 'unknown tools') }
  const used = Object.entries(turn.used).filter(([name]) => !counters.some((counter) => counter === name))
  return { turn: { ...turn, used: Object.fromEntries(used) } }
}

const isAnyKnown = (calls: readonly { readonly name: string }[], { options }: Turn, toolbox: View['toolbox']) =>
  calls.some(({ name }) => toolbox.has(name) || isClientTool(options, name))

const isEmpty = (reply: AssistantMessage) => !textIn(reply).trim() && !callsIn(reply).length

const checks: readonly ReplyCheck[] = [
  unknownTools,
  cutText,
  cutCall,
  cutThought,
  thoughtOnly,
  noCalls,
  emptyAfterTools,
  empty,
  announced,
]

/** Asks again for a reply that is no answer yet, or ends the turn after the last attempt. */
export const retryIncompleteReply: OnReply = ({ turn, reply, usage }, view) => {
  if (isSpent(turn)) return undefined
  const billed = { ...turn, usage: addUsage(turn.usage, usage), crashes: { ...turn.crashes, here: 0 } }
  for (const check of checks) {
    const commit = check(billed, { reply, usage }, view)
    if (commit) return { commit }
  }
  return undefined
}

/** Keeps the text of a stream that broke, and lets the model go on from there. */
export const continueBrokenStream: AfterEffect = ({ turn, result }, { now }) => {
  if (result.of !== 'failure' || !result.partial?.trim() || result.inCall) return undefined
  if (result.failure.kind !== 'network' && result.failure.kind !== 'stalled') return undefined
  if (timesUsed(turn, 'continue') >= maxRequests - 1 || isSpent(turn)) return undefined
  const draft = `${turn.draft ?? ''}${result.partial}`
  const usage = addUsage(turn.usage, result.usage ?? noUsage)
  return {
    commit: askAgain(turn, now, { name: 'continue', instruction: instructions.continue, change: { draft, usage } }),
  }
}
