/**
 * A run as an object of OpenAI's Responses API. Tools have run already: their calls and results stand among
 * the items as completed.
 */

import type OpenAI from 'openai'
import type { RunEnded } from '../model/event.ts'
import type { publicUsage } from './usage.ts'

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
type Whole = OpenAI.Responses.Response
/** Without what the SDK puts in itself, and what stands for other products of theirs. */
type Served = Omit<Whole, 'output_text' | 'access_programs' | 'status'> & {
  readonly status: NonNullable<Whole['status']>
}

export type ResponseState = Pick<Served, 'status'> & {
  readonly output: readonly OutputItem[]
  readonly usage?: ReturnType<typeof publicUsage> | undefined
  readonly error?: string | null | undefined
  readonly exitReason?: string | null | undefined
}

export function responseObject(head: ResponseHead, state: ResponseState): Served {
  const { status, output, usage, error, exitReason } = state
  return {
    id: head.id,
    object: 'response',
    created_at: head.createdAt,
    status,
    background: head.background,
    error: status === 'failed' ? { code: 'server_error', message: error ?? exitReason ?? 'The run failed.' } : null,
    incomplete_details: status === 'incomplete' ? { reason: incompleteReason(exitReason) } : null,
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
    ...(usage && { usage: usageOf(usage) }),
  }
}

/** Spent steps are what OpenAI calls messages; everything else that is not whole was cut off. */
const incompleteReason = (exitReason: string | null | undefined) =>
  exitReason === 'out_of_budget' ? ('max_messages' as const) : ('max_output_tokens' as const)

export function statusOf({ type, completed }: Pick<RunEnded, 'type' | 'completed'>): Served['status'] {
  if (type === 'run.failed') return 'failed'
  if (type === 'run.cancelled') return 'cancelled'
  return completed ? 'completed' : 'incomplete'
}

/** As OpenAI counts it: what was read from the cache, or written to it, is part of the input. */
function usageOf(usage: ReturnType<typeof publicUsage>): OpenAI.Responses.ResponseUsage {
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

export const messageItem = (id: string, text: string, status: ItemStatus = 'completed') =>
  ({
    id,
    type: 'message',
    role: 'assistant',
    status,
    content: status === 'in_progress' ? [] : [textPart(text)],
  }) satisfies OutputItem

export const textPart = (text: string) => ({ type: 'output_text' as const, text, annotations: [] })

export const reasoningItem = (id: string, text: string) =>
  ({
    id,
    type: 'reasoning',
    summary: text ? [{ type: 'summary_text', text }] : [],
  }) satisfies OutputItem

export const callItem = (id: string, call: { callId: string; name: string; json: string }, status: ItemStatus) =>
  ({
    id,
    type: 'function_call',
    call_id: call.callId,
    name: call.name,
    arguments: call.json,
    status,
  }) satisfies OutputItem

export const outputItem = (id: string, callId: string, output: string) =>
  ({ id, type: 'function_call_output', call_id: callId, output, status: 'completed' }) satisfies OutputItem

/** A stored message in the shape of the public API, as far as it is told here. */
export type StoredMessage = {
  readonly id: string
  readonly role: string
  readonly content: unknown
  readonly reasoning?: string
  readonly tool_call_id?: string
  readonly tool_calls?: unknown
  /** Nobody typed it. */
  readonly source?: string
}

/** What a run said and did, from what is stored of it. */
export const itemsOfRun = (messages: readonly StoredMessage[]): readonly OutputItem[] => messages.flatMap(itemsOf)

function itemsOf(message: StoredMessage): readonly OutputItem[] {
  const { id, role, reasoning, tool_call_id: callId } = message
  const text = typeof message.content === 'string' ? message.content : ''
  if (role === 'tool' && callId !== undefined) return [outputItem(`fco_${id}`, callId, text)]
  if (role !== 'assistant') return []
  const calls = (message.tool_calls ?? []) as readonly StoredCall[]
  return [
    ...(reasoning ? [reasoningItem(`rs_${id}`, reasoning)] : []),
    ...(text ? [messageItem(`msg_${id}`, text)] : []),
    ...calls.map(({ id: own, function: { name, arguments: json } }, at) =>
      callItem(`fc_${id}_${at}`, { callId: own, name, json }, 'completed'),
    ),
  ]
}

type StoredCall = { readonly id: string; readonly function: { readonly name: string; readonly arguments: string } }

type StoredPart =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'image_url'; readonly image_url: { readonly url: string } }

const inputPart = (part: StoredPart) =>
  part.type === 'text'
    ? { type: 'input_text' as const, text: part.text }
    : { type: 'input_image' as const, image_url: part.image_url.url, detail: 'auto' as const }

/** What people said for a run. */
export const inputItems = (messages: readonly StoredMessage[]) =>
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
      ).map(inputPart),
    })) satisfies readonly OpenAI.Responses.ResponseItem[]
