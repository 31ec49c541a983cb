/**
 * Makes any stored transcript one that every provider accepts: roles alternate, every call has its
 * result right behind it, ids are unique, nothing is empty. Pure; the stored history is never touched,
 * and a message that is fine is passed on as the same object, so that renderings can be cached by it.
 */

import {
  type AssistantMessage,
  callsIn,
  type Message,
  type ToolMessage,
  type UserMessage,
} from '../../model/message.ts'

export function sanitise(transcript: readonly Message[]): readonly Message[] {
  const state = begin()
  advance(state, transcript)
  return startsWithUser(state.clean)
}

/** `ids`: those that are taken, each with the number from which on it is free with a number behind it. */
type State = { readonly clean: Message[]; readonly ids: Map<string, number>; upTo: number }

const begin = (): State => ({ clean: [], ids: new Map(), upTo: 0 })

/** How far a transcript that only grows has been sanitised. */
const states = new WeakMap<readonly Message[], State>()

/**
 * The same for a transcript that is kept as one array and only grows: of a long turn, only what is new is
 * looked at again. The array that comes back grows too; it is not to be changed.
 */
export function sanitiseGrowing(transcript: readonly Message[]): readonly Message[] {
  const last = transcript.at(-1)
  // Calls whose results are still to come would be closed for good.
  if (last?.role === 'assistant' && callsIn(last).length) return sanitise(transcript)
  let state = states.get(transcript)
  if (!state || state.upTo > transcript.length) states.set(transcript, (state = begin()))
  advance(state, transcript)
  return startsWithUser(state.clean)
}

function advance(state: State, transcript: readonly Message[]): void {
  const { clean, ids } = state
  for (; state.upTo < transcript.length; state.upTo++) {
    const message = transcript[state.upTo] as Message
    if (message.role === 'tool') continue // taken with the assistant message that asked for it
    const last = clean.at(-1)
    if (message.role === 'user') {
      if (isEmptyUser(message)) continue
      if (last?.role === 'user') clean[clean.length - 1] = joinUsers(last, message)
      else clean.push(message)
      continue
    }
    if (isEmptyAssistant(message)) continue
    const hasCalls = message.content.some(({ type }) => type === 'call')
    const asked = hasCalls ? withOwnIds(message, ids) : message
    if (last?.role === 'assistant') clean[clean.length - 1] = joinAssistants(last, asked)
    else clean.push(asked)
    if (!hasCalls) continue
    const from = state.upTo + 1
    clean.push(...resultsFor(message, asked, transcript.slice(from, endOfResults(transcript, from))))
  }
}

/** A few more messages behind a clean transcript, which stays as it is. Two of one role become one. */
export function withMore(clean: readonly Message[], more: readonly Message[]): readonly Message[] {
  if (!more.length) return clean
  const all = [...clean]
  for (const message of more) {
    const last = all.at(-1)
    if (last?.role === 'user' && message.role === 'user') all[all.length - 1] = joinUsers(last, message)
    else if (last?.role === 'assistant' && message.role === 'assistant')
      all[all.length - 1] = joinAssistants(last, message)
    else all.push(message)
  }
  return all
}

function endOfResults(transcript: readonly Message[], from: number): number {
  let end = from
  while (transcript[end]?.role === 'tool') end++
  return end
}

/** Some models count their calls anew in every message; providers want ids that stand for one call only. */
function withOwnIds(message: AssistantMessage, taken: Map<string, number>): AssistantMessage {
  let isChanged = false
  const content = message.content.map((part) => {
    if (part.type !== 'call') return part
    const id = free(part.id, taken)
    isChanged ||= id !== part.id
    return id === part.id ? part : { ...part, id }
  })
  return isChanged ? { ...message, content } : message
}

function free(wanted: string, taken: Map<string, number>): string {
  let n = taken.get(wanted)
  let id = wanted
  if (n !== undefined) {
    do id = `${wanted}_${n++}`
    while (taken.has(id))
    taken.set(wanted, n)
  }
  taken.set(id, 2)
  return id
}

const isEmptyUser = (message: UserMessage) =>
  message.content.every((part) => part.type === 'text' && !/\S/.test(part.text))

/** Thinking alone is no turn of speech: providers refuse it without what it led to. */
const isEmptyAssistant = (message: AssistantMessage) =>
  !message.content.some((part) => part.type === 'call' || (part.type === 'text' && /\S/.test(part.text)))

const joinUsers = (a: UserMessage, b: UserMessage): UserMessage => ({
  role: 'user',
  content: [...a.content, { type: 'text', text: '\n\n' }, ...b.content],
})

const joinAssistants = (a: AssistantMessage, b: AssistantMessage): AssistantMessage => ({
  ...b,
  content: [...a.content, { type: 'text', text: '\n\n' }, ...b.content],
})

/** One result per call, in the order of the calls, under the ids that the calls have now. */
function resultsFor(message: AssistantMessage, asked: AssistantMessage, given: readonly Message[]): ToolMessage[] {
  const results = Map.groupBy(given.filter((next) => next.role === 'tool').toReversed(), (result) => result.callId)
  const own = callsIn(asked)
  return callsIn(message).map(({ id, name }, i) => {
    const callId = own[i]?.id ?? id
    const result = results.get(id)?.pop()
    if (result) return result.callId === callId ? result : { ...result, callId }
    return { role: 'tool', callId, name, content: [{ type: 'text', text: lost }], failed: true }
  })
}

const lost = '{"error":"The result of this call was not kept."}'

/** After an undo or a cut the oldest message may be an answer; a conversation begins with a question. */
function startsWithUser(messages: readonly Message[]): readonly Message[] {
  const first = messages.findIndex((message) => message.role === 'user')
  return first <= 0 ? messages : messages.slice(first)
}
