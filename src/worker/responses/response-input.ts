/**
 * Parses the input items of the Responses API into history, system text, and what is new: a message, results of the
 * client's tools, and answers to approvals.
 */

import type { ClientResult } from '#durable/session/intake/continue.ts'
import type { AssistantMessage, Message, ToolMessage, UserMessage } from '#agent/core/message.ts'
import { parseCallArguments } from '#agent/providers/shared/call-arguments.ts'
import { decodeCompaction } from '#agent/public-api/responses/compaction.ts'
import { invalid } from '../errors.ts'
import {
  type ContentPart,
  parseContentPart,
  requireStorableSize,
  measureMessage,
  joinSystemText,
  parseUserMessage,
  separator,
} from '../input/input.ts'
import {
  type ApprovalResponseItem,
  type CallItem,
  type CompactionItem,
  type ItemContent,
  type KnownInputItem,
  isMessage,
  isSystem,
  isUser,
  type McpCallItem,
  type PlacedItem,
  type ResultItem,
} from './response-items.ts'

export type ParsedInput = {
  readonly history: readonly Message[]
  /** `instructions`, then the messages of role system and developer. */
  readonly instructions: string
  /** Absent: the input ends with results or with answers to approvals. */
  readonly message?: UserMessage
  /** By the ids of the API. */
  readonly results: readonly ClientResult[]
  readonly approvals: readonly ApprovalResponseItem[]
}

export function parseInput(items: readonly PlacedItem[], instructions: string): ParsedInput {
  const system = renderSystemText(items, instructions)
  const conversation = items.filter(({ one }) => !isSystem(one))
  // Also reasoning and requests for approval are the agent's: what follows them is new.
  const before = conversation.findLastIndex(({ one }) => !isNew(one)) + 1
  const added = conversation.slice(before)
  const parts = added
    .flatMap(({ one }) => (isUser(one) ? [one] : []))
    .flatMap((one, at) => [...(at ? [separator] : []), ...toContentParts(one.content)])
  if (!added.length) throw invalid('The last item must be a message of role user, or the result of a call.', 'input')
  return {
    history: parseHistory(conversation.slice(0, before).filter(({ one }) => !isIgnored(one))),
    instructions: system,
    ...(parts.length && { message: parseUserMessage(parts, [], 'input', system) }),
    results: added.flatMap(({ one, param }) => (isResult(one) ? [parseStorableResult(one, param)] : [])),
    approvals: added.flatMap(({ one }) => (isApprovalResponse(one) ? [one] : [])),
  }
}

/** All messages of an input that nothing answers, and its system text. */
export function parseAllMessages(items: readonly PlacedItem[], instructions: string) {
  const system = renderSystemText(items, instructions)
  return { system, messages: parseHistory(items.filter(({ one }) => !isSystem(one) && !isIgnored(one))) }
}

const renderSystemText = (items: readonly PlacedItem[], instructions: string): string =>
  joinSystemText([
    { text: instructions, param: 'instructions' },
    ...items.flatMap(({ one, param }) =>
      isSystem(one) ? [{ text: joinText(one.content), param: `${param}.content` }] : [],
    ),
  ])

const ignoredTypes: readonly unknown[] = ['reasoning', 'mcp_list_tools', 'mcp_approval_request']
/** Reasoning stays with the run that had it. */
const isIgnored = (one: KnownInputItem): boolean => !isMessage(one) && ignoredTypes.includes(one.type)

const isResult = (one: KnownInputItem): one is ResultItem => one.type === 'function_call_output'
const isApprovalResponse = (one: KnownInputItem): one is ApprovalResponseItem => one.type === 'mcp_approval_response'
/** Additions of a client to a conversation. */
const isNew = (one: KnownInputItem): boolean => isUser(one) || isResult(one) || isApprovalResponse(one)

export const toContentParts = (value: ItemContent): readonly ContentPart[] =>
  (typeof value === 'string' ? [{ type: 'text' as const, text: value }] : value).map((one): ContentPart => {
    if (one.type === 'input_image')
      return { type: 'image_url', image_url: { url: one.image_url, ...(one.detail && { detail: one.detail }) } }
    if (one.type === 'input_audio') return { type: 'input_audio', input_audio: one.input_audio }
    if (one.type === 'input_file') return { type: 'file', file: one }
    return { type: 'text', text: one.type === 'refusal' ? one.refusal : one.text }
  })

export const joinText = (value: ItemContent): string =>
  toContentParts(value)
    .map((one) => (one.type === 'text' ? one.text : ''))
    .join('')

const parseGivenResult = ({ call_id: callId, output }: ResultItem): ClientResult => ({
  callId,
  content: toContentParts(output).map(parseContentPart),
  failed: false,
})

function parseStorableResult(one: ResultItem, param: string): ClientResult {
  const result = parseGivenResult(one)
  requireStorableSize(measureMessage(toToolMessage(result)), param)
  return result
}

/** Merges consecutive assistant items into one message. */
function parseHistory(items: readonly PlacedItem[]): readonly Message[] {
  const messages: Message[] = []
  const names = new Map<string, string>()
  let size = 0
  for (const { one, param } of items)
    for (const message of parseItem(one, names)) {
      const last = messages.at(-1)
      const continuesLast = message.role === 'assistant' && last?.role === 'assistant'
      size = (continuesLast ? size : 0) + measureMessage(message)
      requireStorableSize(size, param)
      if (continuesLast) messages[messages.length - 1] = createAssistantMessage([...last.content, ...message.content])
      else messages.push(message)
    }
  return messages
}

function parseItem(one: KnownInputItem, names: Map<string, string>): readonly Message[] {
  if (isUser(one)) return [{ role: 'user', content: toContentParts(one.content).map(parseContentPart) }]
  if (isMessage(one)) return [createAssistantMessage([{ type: 'text', text: joinText(one.content) }])]
  switch (one.type) {
    case 'function_call': {
      const { call_id: id, name } = one as CallItem
      names.set(id, name)
      return [createCall(id, one as CallItem, 'client')]
    }
    case 'function_call_output':
      return [toToolMessage(parseGivenResult(one as ResultItem), names.get((one as ResultItem).call_id))]
    case 'mcp_call':
      return parseMcpCall(one as McpCallItem)
    case 'compaction':
      return [decodeCompaction((one as CompactionItem).encrypted_content) ?? refuseCompaction()]
    default:
      return []
  }
}

const refuseCompaction = (): never => {
  throw invalid('encrypted_content of a compaction must be that of POST /v1/responses/compact.', 'input')
}

type WrittenCall = { readonly name: string; readonly arguments: string }

const createCall = (id: string, { name, arguments: json }: WrittenCall, owner?: 'client'): AssistantMessage =>
  createAssistantMessage([{ type: 'call', id, name, ...parseCallArguments(json), ...(owner && { owner }) }])

export const toToolMessage = ({ callId, content, failed }: ClientResult, name = 'tool'): ToolMessage => ({
  role: 'tool',
  callId,
  name,
  content,
  failed,
})

function parseMcpCall(one: McpCallItem): readonly Message[] {
  const id = one.id ?? `mcp_${crypto.randomUUID()}`
  const failed = one.error !== undefined && one.error !== null
  const text = one.output ?? (failed ? JSON.stringify(one.error) : 'The result of this call is not known.')
  const result = { callId: id, content: [{ type: 'text' as const, text }], failed }
  return [createCall(id, one), toToolMessage(result, one.name)]
}

const createAssistantMessage = (parts: AssistantMessage['content']): AssistantMessage => ({
  role: 'assistant',
  content: parts,
  stop: parts.some(({ type }) => type === 'call') ? 'tools' : 'end',
})
