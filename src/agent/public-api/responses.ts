/**
 * Renders a run as an object of OpenAI's Responses API. Tools run on the server, so their calls and results are
 * completed items.
 */

import type OpenAI from 'openai'
import type { RunEnded } from '../model/event.ts'
import type { toPublicUsage } from './usage.ts'

export type ResponseHead = {
  readonly id: string
  /** Seconds since 1970. */
  readonly createdAt: number
  readonly model: string
  readonly previousId: string | null
  readonly conversation: string | null
  readonly instructions: string | null
  readonly metadata: Readonly<Record<string, string>>
  readonly background: boolean
}

export type OutputItem = OpenAI.Responses.ResponseOutputItem
type SdkResponse = OpenAI.Responses.Response
/** Without the fields that the SDK adds itself, and without those of other OpenAI products. */
type ResponseObject = Omit<SdkResponse, 'output_text' | 'access_programs' | 'status'> & {
  readonly status: NonNullable<SdkResponse['status']>
}

export type ResponseState = Pick<ResponseObject, 'status'> & {
  readonly output: readonly OutputItem[]
  readonly usage?: ReturnType<typeof toPublicUsage> | undefined
  readonly error?: string | null | undefined
  readonly exitReason?: string | null | undefined
}

export function renderResponse(head: ResponseHead, state: ResponseState): ResponseObject {
  const { status, output, usage, error, exitReason } = state
  return {
    id: head.id,
    object: 'response',
    created_at: head.createdAt,
    status,
    background: head.background,
    error: status === 'failed' ? { code: 'server_error', message: error ?? exitReason ?? 'The run failed.' } : null,
    incomplete_details: status === 'incomplete' ? { reason: resolveIncompleteReason(exitReason) } : null,
    instructions: head.instructions,
    metadata: { ...head.metadata },
    model: head.model,
    output: [...output],
    parallel_tool_calls: true,
    previous_response_id: head.previousId,
    conversation: head.conversation === null ? null : { id: head.conversation },
    temperature: null,
    text: { format: { type: 'text' } },
    tool_choice: 'auto',
    tools: [],
    top_p: null,
    truncation: 'disabled',
    ...(usage && { usage: renderUsage(usage) }),
  }
}

/** OpenAI's `max_messages` stands for a used step budget. Any other incomplete run was truncated. */
const resolveIncompleteReason = (exitReason: string | null | undefined) =>
  exitReason === 'out_of_budget' ? ('max_messages' as const) : ('max_output_tokens' as const)

export function resolveStatus({ type, completed }: Pick<RunEnded, 'type' | 'completed'>): ResponseObject['status'] {
  if (type === 'run.failed') return 'failed'
  if (type === 'run.cancelled') return 'cancelled'
  return completed ? 'completed' : 'incomplete'
}

/** Counts as OpenAI does: cached tokens, read or written, are part of the input. */
function renderUsage(usage: ReturnType<typeof toPublicUsage>): OpenAI.Responses.ResponseUsage {
  const input = usage.input + usage.cached_read + usage.cached_write
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: usage.cached_read, cache_write_tokens: usage.cached_write },
    output_tokens: usage.output,
    output_tokens_details: { reasoning_tokens: usage.reasoning },
    total_tokens: input + usage.output,
  }
}

type ItemStatus = 'in_progress' | 'completed' | 'incomplete'

export const renderMessageItem = (id: string, text: string, status: ItemStatus = 'completed') =>
  ({
    id,
    type: 'message',
    role: 'assistant',
    status,
    content: status === 'in_progress' ? [] : [renderTextPart(text)],
  }) satisfies OutputItem

export const renderTextPart = (text: string) => ({ type: 'output_text' as const, text, annotations: [] })

export const renderReasoningItem = (id: string, text: string) =>
  ({
    id,
    type: 'reasoning',
    summary: text ? [{ type: 'summary_text', text }] : [],
  }) satisfies OutputItem

export const renderCallItem = (id: string, call: { callId: string; name: string; json: string }, status: ItemStatus) =>
  ({
    id,
    type: 'function_call',
    call_id: call.callId,
    name: call.name,
    arguments: call.json,
    status,
  }) satisfies OutputItem

export const renderOutputItem = (id: string, callId: string, output: string) =>
  ({ id, type: 'function_call_output', call_id: callId, output, status: 'completed' }) satisfies OutputItem

/** The fields of a public message that are used here. */
export type StoredMessage = {
  readonly id: string
  readonly role: string
  readonly content: unknown
  readonly reasoning?: string
  readonly tool_call_id?: string
  readonly tool_calls?: unknown
  /** Set when the message was not typed by a person. */
  readonly source?: string
}

/** Renders the output items of a run from its stored messages. */
export const renderRunItems = (messages: readonly StoredMessage[]): readonly OutputItem[] =>
  messages.flatMap(renderItems)

function renderItems(message: StoredMessage): readonly OutputItem[] {
  const { id, role, reasoning, tool_call_id: callId } = message
  const text = typeof message.content === 'string' ? message.content : ''
  if (role === 'tool' && callId !== undefined) return [renderOutputItem(`fco_${id}`, callId, text)]
  if (role !== 'assistant') return []
  const calls = (message.tool_calls ?? []) as readonly StoredCall[]
  return [
    ...(reasoning ? [renderReasoningItem(`rs_${id}`, reasoning)] : []),
    ...(text ? [renderMessageItem(`msg_${id}`, text)] : []),
    ...calls.map(({ id: own, function: { name, arguments: json } }, at) =>
      renderCallItem(`fc_${id}_${at}`, { callId: own, name, json }, 'completed'),
    ),
  ]
}

type StoredCall = { readonly id: string; readonly function: { readonly name: string; readonly arguments: string } }

type StoredPart =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image_url'; readonly image_url: { readonly url: string } }

const renderInputPart = (part: StoredPart) =>
  part.type === 'text'
    ? { type: 'input_text' as const, text: part.text }
    : { type: 'input_image' as const, image_url: part.image_url.url, detail: 'auto' as const }

/** Renders the input items of a run: the messages that a person typed. */
export const renderInputItems = (messages: readonly StoredMessage[]) =>
  messages
    .filter(({ role, source }) => role === 'user' && source === undefined)
    .map(({ id, content }) => ({
      id,
      type: 'message' as const,
      role: 'user' as const,
      status: 'completed' as const,
      content: (typeof content === 'string'
        ? [{ type: 'text' as const, text: content }]
        : ((content ?? []) as readonly StoredPart[])
      ).map(renderInputPart),
    })) satisfies readonly OpenAI.Responses.ResponseItem[]
