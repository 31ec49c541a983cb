/** Renders the items of a run from its stored messages: the same items, with the same ids, as the stream of the run. */

import {
  argumentsOf,
  type AssistantMessage,
  type Message,
  type ImagePart,
  type SentFile,
  textIn,
  type TextPart,
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
    if (message.role === 'user') return message.source === undefined ? renderUserMessages(one, message) : []
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

export type ConversationItem =
  | OutputItem
  | ReturnType<typeof renderUserMessages>[number]
  | ReturnType<typeof renderClientResult>

/** A message may be several items of its request. */
const renderUserMessages = ({ sessionId, seq }: StoredMessage, { content }: UserMessage) =>
  splitItems(content).map((parts, at) => ({
    id: createItemId('msg', { sessionId, seq }, at),
    type: 'message' as const,
    role: 'user' as const,
    status: 'completed' as const,
    content: parts.map(renderContentPart),
  }))

type Content = readonly (TextPart | ImagePart)[]

/** The parts of each item, as its client has sent them: a file is named and read behind the words of its message. */
function splitItems(content: Content): readonly Content[] {
  const words = content.filter((part) => !isFile(part) && part.sent !== 'contents')
  const files = new Map(content.flatMap((part) => (isFile(part) ? [[part.sent.at, part] as const] : [])))
  const items: (TextPart | ImagePart)[][] = [[]]
  for (let at = 0, next = 0; next < words.length || files.size; at += 1) {
    const part = files.get(at) ?? words[next++] ?? [...files.values()][0]
    if (!part) break
    if (isFile(part)) files.delete(part.sent.at)
    if (part.type === 'text' && part.sent === 'separator') items.push([])
    else items.at(-1)?.push(part)
  }
  return items
}

const isFile = (part: TextPart | ImagePart): part is TextPart & { readonly sent: SentFile } =>
  part.type === 'text' && typeof part.sent === 'object'

/** Data in R2 stands as its address (`blob:`). */
function renderContentPart(part: TextPart | ImagePart) {
  if (part.type === 'image') return renderImage(part)
  return isFile(part) ? renderFile(part.sent) : { type: 'input_text' as const, text: part.text }
}

const renderImage = ({ mediaType, data, detail }: ImagePart) => ({
  type: 'input_image' as const,
  image_url: mediaType.endsWith(';url') ? data : `data:${mediaType};base64,${data}`,
  detail: (detail ?? 'auto') as 'auto' | 'low' | 'high' | 'original',
})

function renderFile({ kind, name, id, url, prefix = '', data }: SentFile) {
  if (kind === 'audio' && data !== undefined)
    return { type: 'input_audio' as const, input_audio: { data, format: name?.slice(name.lastIndexOf('.') + 1) ?? '' } }
  return {
    type: 'input_file' as const,
    ...(name !== undefined && { filename: name }),
    ...(id !== undefined && { file_id: id }),
    ...(url !== undefined && { file_url: url }),
    ...(data !== undefined && { file_data: prefix + data }),
  }
}

const renderClientResult = ({ sessionId, seq, message }: StoredMessage, reply: StoredReply) => {
  const { callId, content } = message as ToolMessage
  const isText = content.every((part) => part.type === 'text' && part.sent === undefined)
  return {
    id: createItemId('fco', { sessionId, seq }, callPart(callId)),
    type: 'function_call_output' as const,
    call_id: clientCallId(reply, callId),
    output: isText ? textIn(message) : splitItems(content).flat().map(renderContentPart),
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
