/** Renders the items of a run from its stored messages: the same items, with the same ids, as the stream of the run. */

import {
  argumentsOf,
  type AssistantMessage,
  type Message,
  textIn,
  type ToolCallPart,
  type ToolMessage,
  type UserMessage,
} from '#agent/core/message.ts'
import type { Segment } from '#agent/core/turn.ts'
import { callPart, createItemId, type ItemPosition } from './item-ids.ts'
import {
  type OutputItem,
  type ShownResult,
  type RenderedCall,
  renderApprovalNotice,
  renderApprovalRequest,
  renderFunctionCall,
  renderMcpCall,
  renderMessageItem,
  renderQuestion,
  renderReasoningItem,
} from './items.ts'

/** A message with its position. The session is the one in which the message was written. */
export type StoredMessage = ItemPosition & {
  readonly message: Message
  /** A client has sent it as history, so that the ids of its calls are those of the client. */
  readonly isGiven?: boolean
}

/** A part of a run: its messages, and the parts before it. */
export type StoredPart = {
  readonly messages: readonly StoredMessage[]
  readonly segments: readonly Segment[]
  readonly index: number
  /** Results of calls that are not in a message yet. */
  readonly settled: readonly ToolMessage[]
  /** The reader may decide approvals. */
  readonly mayApprove: boolean
}

type StoredReply = StoredMessage & { readonly message: AssistantMessage }

const isReply = (one: StoredMessage): one is StoredReply => one.message.role === 'assistant'

export const resultOf = (message: ToolMessage): ShownResult => ({ text: textIn(message), failed: message.failed })

export function renderOutput(part: StoredPart): readonly OutputItem[] {
  const { messages, segments, index } = part
  const [before, own] = [segments[index - 1], segments[index]]
  const from = before?.messageSeq ?? 0
  const through = own?.messageSeq ?? Infinity
  const results = collectResults(messages, part.settled)
  const end = (reply: StoredReply, call: ToolCallPart) => results.get(`${reply.seq} ${call.id}`)
  const waiting = (reply: StoredReply, call: ToolCallPart) =>
    own !== undefined && reply.seq === through && own.callIds.includes(call.id)
  return messages.filter(isReply).flatMap((reply) => {
    if (reply.seq < from || reply.seq > through) return []
    const wasWaiting = (call: ToolCallPart) => reply.seq === from && before?.callIds.includes(call.id) === true
    if (reply.seq === from)
      return callsOf(reply)
        .filter(wasWaiting)
        .flatMap((call) =>
          waiting(reply, call)
            ? renderWaiting(reply, call, part.mayApprove)
            : renderDecided(reply, call, end(reply, call)),
        )
    return [
      ...renderTexts(reply),
      ...callsOf(reply).flatMap((call) =>
        waiting(reply, call) || call.owner === 'client'
          ? renderWaiting(reply, call, part.mayApprove)
          : [renderMcpCall(toRendered('mcp', reply, call), { result: end(reply, call) })],
      ),
    ]
  })
}

/** The results by the seq of the reply that made the call: ids of calls repeat in later replies. */
function collectResults(messages: readonly StoredMessage[], settled: readonly ToolMessage[]) {
  const results = new Map<string, ShownResult>()
  let seq = 0
  for (const { seq: own, message } of messages) {
    if (message.role === 'assistant') seq = own
    if (message.role === 'tool') results.set(`${seq} ${message.callId}`, resultOf(message))
  }
  for (const message of settled) results.set(`${seq} ${message.callId}`, resultOf(message))
  return results
}

const callsOf = ({ message }: StoredReply): readonly ToolCallPart[] =>
  message.content.filter((one): one is ToolCallPart => one.type === 'call')

const toRendered = (kind: 'mcp' | 'mcpr' | 'fc', position: ItemPosition, call: ToolCallPart): RenderedCall => ({
  id: createItemId(kind, position, callPart(call.id)),
  name: call.name,
  json: argumentsOf(call),
})

/** The tool with which the agent asks a question. */
export const questionTool = 'clarify'

function renderWaiting(reply: StoredReply, call: ToolCallPart, mayApprove: boolean): readonly OutputItem[] {
  const part = callPart(call.id)
  if (call.owner === 'client') return [renderFunctionCall(toRendered('fc', reply, call), clientCallId(reply, call.id))]
  if (call.name === questionTool)
    return [renderMessageItem(createItemId('msg', reply, part), renderQuestion(call.input as { question: string }))]
  return mayApprove
    ? [renderApprovalRequest(toRendered('mcpr', reply, call))]
    : [renderMessageItem(createItemId('msg', reply, part), renderApprovalNotice(call.name))]
}

/** The id by which a client knows its call. */
const clientCallId = (reply: StoredReply, callId: string): string =>
  reply.isGiven ? callId : createItemId('call', reply, callPart(callId))

/** A call that waited for its caller: an approved one has run, and the others are known by their answers. */
function renderDecided(reply: StoredReply, call: ToolCallPart, result: ShownResult | undefined): readonly OutputItem[] {
  if (call.owner === 'client' || call.name === questionTool) return []
  const approvalId = createItemId('mcpr', reply, callPart(call.id))
  return [renderMcpCall(toRendered('mcp', reply, call), { result, approvalId })]
}

/** One item for each stretch of thinking or text, numbered in their order. */
function renderTexts(reply: StoredReply): readonly OutputItem[] {
  const stretches: { kind: 'msg' | 'rs'; text: string }[] = []
  for (const part of reply.message.content) {
    if (part.type === 'call' || !part.text) continue
    const kind = part.type === 'text' ? 'msg' : 'rs'
    const last = stretches.at(-1)
    if (last?.kind === kind) last.text += part.text
    else stretches.push({ kind, text: part.text })
  }
  return stretches.map(({ kind, text }, at) => {
    const id = createItemId(kind, reply, at)
    return kind === 'msg' ? renderMessageItem(id, text) : renderReasoningItem(id, text)
  })
}

/** Renders one message as items of a conversation, with what ended its calls. */
export function renderConversation(messages: readonly StoredMessage[], settled: readonly ToolMessage[] = []) {
  const results = collectResults(messages, settled)
  const clientCalls = new Map<string, StoredReply>()
  return messages.flatMap((one): readonly ConversationItem[] => {
    const { message } = one
    if (message.role === 'user') return message.source === undefined ? [renderUserMessage(one)] : []
    if (message.role === 'tool') {
      const reply = clientCalls.get(message.callId)
      clientCalls.delete(message.callId)
      return reply ? [renderClientResult(one, reply)] : []
    }
    const reply = one as StoredReply
    for (const call of callsOf(reply)) if (call.owner === 'client') clientCalls.set(call.id, reply)
    return [
      ...renderTexts(reply),
      ...callsOf(reply).flatMap((call) =>
        call.owner === 'client'
          ? renderWaiting(reply, call, true)
          : [renderMcpCall(toRendered('mcp', reply, call), { result: results.get(`${reply.seq} ${call.id}`) })],
      ),
    ]
  })
}

export type ConversationItem = OutputItem | ReturnType<typeof renderUserMessage> | ReturnType<typeof renderClientResult>

function renderUserMessage({ sessionId, seq, message }: StoredMessage) {
  return {
    id: createItemId('msg', { sessionId, seq }, 0),
    type: 'message' as const,
    role: 'user' as const,
    status: 'completed' as const,
    content: (message as UserMessage).content.map((part) =>
      part.type === 'text' ? { type: 'input_text' as const, text: part.text } : renderImage(part),
    ),
  }
}

/** An image that was sent as data is stored elsewhere: its data is not repeated. */
const renderImage = ({ mediaType, data }: { readonly mediaType: string; readonly data: string }) => ({
  type: 'input_image' as const,
  image_url: mediaType.endsWith(';url') && data.startsWith('https://') ? data : null,
  detail: 'auto' as const,
})

const renderClientResult = ({ sessionId, seq, message }: StoredMessage, reply: StoredReply) => {
  const { callId } = message as ToolMessage
  return {
    id: createItemId('fco', { sessionId, seq }, callPart(callId)),
    type: 'function_call_output' as const,
    call_id: clientCallId(reply, callId),
    output: textIn(message),
    status: 'completed' as const,
  }
}

/**
 * The items that a part of a run began with: messages of a person, and results of the client's tools. `history`: earlier
 * items that the request carried, of every kind.
 */
export const renderInput = ({ messages, segments, index }: StoredPart, history: readonly StoredMessage[] = []) => {
  const from = segments[index - 1]?.messageSeq ?? 0
  const through = segments[index]?.messageSeq ?? Infinity
  const earlier = renderConversation(history)
  // The calls that the results belong to are in the last message of the part before.
  const own = messages.filter(({ seq }) => seq >= from && seq <= through)
  const items = renderConversation([...history, ...own]).slice(earlier.length)
  return [
    ...earlier,
    ...items.filter(
      (item) => item.type === 'function_call_output' || (item.type === 'message' && item.role === 'user'),
    ),
  ]
}
