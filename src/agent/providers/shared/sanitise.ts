/**
 * Converts any stored transcript into one that every provider accepts: roles alternate, every call is followed by its
 * result, ids are unique, nothing is empty. It never changes the stored history. A valid message is returned as the
 * same object, because renderings are cached by message.
 */

import {
  type AssistantMessage,
  callsIn,
  type Message,
  type ToolMessage,
  type UserMessage,
} from '#agent/core/message.ts'

export function sanitise(transcript: readonly Message[]): readonly Message[] {
  const state = createState()
  sanitiseNewMessages(state, transcript)
  return dropBeforeFirstUser(state.sanitised)
}

/** `ids`: the ids in use, each with the lowest number to try as its suffix. `messageCount`: how many are sanitised. */
type SanitiseState = { readonly sanitised: Message[]; readonly ids: Map<string, number>; messageCount: number }

const createState = (): SanitiseState => ({ sanitised: [], ids: new Map(), messageCount: 0 })

const states = new WeakMap<readonly Message[], SanitiseState>()

/**
 * Sanitises a transcript that is one growing array, and reads only its new messages. The returned array grows as well;
 * callers must not change it.
 */
export function sanitiseIncrementally(transcript: readonly Message[]): readonly Message[] {
  const last = transcript.at(-1)
  // The state would keep placeholder results for calls whose real results are still to come.
  if (last?.role === 'assistant' && callsIn(last).length) return sanitise(transcript)
  let state = states.get(transcript)
  if (!state || state.messageCount > transcript.length) states.set(transcript, (state = createState()))
  sanitiseNewMessages(state, transcript)
  return dropBeforeFirstUser(state.sanitised)
}

function sanitiseNewMessages(state: SanitiseState, transcript: readonly Message[]): void {
  const { sanitised, ids } = state
  for (; state.messageCount < transcript.length; state.messageCount++) {
    const message = transcript[state.messageCount] as Message
    if (message.role === 'tool') continue // handled with the assistant message that has the call
    const last = sanitised.at(-1)
    if (message.role === 'user') {
      if (isEmptyUser(message)) continue
      if (last?.role === 'user') sanitised[sanitised.length - 1] = joinUsers(last, message)
      else sanitised.push(message)
      continue
    }
    if (isEmptyAssistant(message)) continue
    const hasCalls = message.content.some(({ type }) => type === 'call')
    const renamed = hasCalls ? assignUniqueIds(message, ids) : message
    if (last?.role === 'assistant') sanitised[sanitised.length - 1] = joinAssistants(last, renamed)
    else sanitised.push(renamed)
    if (!hasCalls) continue
    const from = state.messageCount + 1
    sanitised.push(...createResults(message, renamed, transcript.slice(from, findEndOfResults(transcript, from))))
  }
}

/** Returns a copy of a sanitised transcript with more messages. Adjacent messages of one role are joined. */
export function appendMessages(sanitised: readonly Message[], more: readonly Message[]): readonly Message[] {
  if (!more.length) return sanitised
  const all = [...sanitised]
  for (const message of more) {
    const last = all.at(-1)
    if (last?.role === 'user' && message.role === 'user') all[all.length - 1] = joinUsers(last, message)
    else if (last?.role === 'assistant' && message.role === 'assistant')
      all[all.length - 1] = joinAssistants(last, message)
    else all.push(message)
  }
  return all
}

function findEndOfResults(transcript: readonly Message[], from: number): number {
  let end = from
  while (transcript[end]?.role === 'tool') end++
  return end
}

/** Some models number their calls anew in every message. Providers require ids that are unique in a request. */
function assignUniqueIds(message: AssistantMessage, usedIds: Map<string, number>): AssistantMessage {
  let isChanged = false
  const content = message.content.map((part) => {
    if (part.type !== 'call') return part
    const id = findFreeId(part.id, usedIds)
    isChanged ||= id !== part.id
    return id === part.id ? part : { ...part, id }
  })
  return isChanged ? { ...message, content } : message
}

function findFreeId(preferredId: string, usedIds: Map<string, number>): string {
  let n = usedIds.get(preferredId)
  let id = preferredId
  if (n !== undefined) {
    do id = `${preferredId}_${n++}`
    while (usedIds.has(id))
    usedIds.set(preferredId, n)
  }
  usedIds.set(id, 2)
  return id
}

const isEmptyUser = (message: UserMessage) =>
  message.content.every((part) => part.type === 'text' && !/\S/.test(part.text))

/** Providers refuse a message that contains only thinking. */
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

/** Returns one result per call, in the order of the calls, with the new ids of the calls. */
function createResults(
  message: AssistantMessage,
  renamed: AssistantMessage,
  candidates: readonly Message[],
): ToolMessage[] {
  const results = Map.groupBy(candidates.filter((next) => next.role === 'tool').toReversed(), (result) => result.callId)
  const renamedCalls = callsIn(renamed)
  return callsIn(message).map(({ id, name }, i) => {
    const callId = renamedCalls[i]?.id ?? id
    const result = results.get(id)?.pop()
    if (result) return result.callId === callId ? result : { ...result, callId }
    return { role: 'tool', callId, name, content: [{ type: 'text', text: missingResultText }], failed: true }
  })
}

const missingResultText = '{"error":"The result of this call was not kept."}'

/** After an undo or a truncation the oldest message may be an assistant message. Providers require a user message first. */
function dropBeforeFirstUser(messages: readonly Message[]): readonly Message[] {
  const first = messages.findIndex((message) => message.role === 'user')
  return first <= 0 ? messages : messages.slice(first)
}
