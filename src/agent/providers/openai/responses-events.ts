/** Defines the events of the Responses API and parses their usage and errors. All fields are optional, because servers differ. */

import type OpenAI from 'openai'
import type { Usage } from '#agent/core/usage.ts'
import { ErrorInBody } from '../shared/error-in-body.ts'
import { isAmount, toTokenCount } from '../shared/usage-numbers.ts'
import type { PhaseSeal } from './responses-input.ts'

/** The fields that we read of an output item of any type. */
export type OutputItem = Partial<Omit<OpenAI.Responses.ResponseReasoningItem, 'type' | 'content'>> & {
  readonly type?: string
  readonly phase?: PhaseSeal['phase'] | null
  readonly content?: readonly {
    readonly type?: string
    readonly text?: string
    readonly refusal?: string
    readonly annotations?: readonly unknown[] | null
  }[]
  readonly name?: string
  readonly call_id?: string
  readonly arguments?: string
  /** Of a web search that the provider ran. */
  readonly action?: { readonly type?: string; readonly query?: string; readonly queries?: readonly string[] } | null
}
type ResponseErrorFields = { readonly message?: string; readonly code?: string | null; readonly type?: string | null }
export type ResponseBody = {
  readonly status?: string
  readonly output?: readonly OutputItem[]
  readonly usage?: (OpenAI.Responses.ResponseUsage & { readonly cost?: number }) | null
  readonly error?: ResponseErrorFields | null
  readonly incomplete_details?: { readonly reason?: string } | null
}
export type StreamEvent = ResponseErrorFields & {
  readonly output_index?: number
  readonly item_id?: string
  readonly item?: OutputItem
  readonly delta?: string
  readonly arguments?: string
  readonly response?: ResponseBody
  readonly error?: ResponseErrorFields | null
}

/** Error codes that mean the provider refuses to answer. */
const refusalCodes = new Set([
  'invalid_prompt',
  'bio_policy',
  'misalignment_policy_violation',
  'image_content_policy_violation',
])

export function toErrorInBody({ message, code, type }: ResponseErrorFields): ErrorInBody {
  const errorText = message || 'The provider ended the reply with an error.'
  if (code && refusalCodes.has(code))
    return new ErrorInBody({ message: errorText, code: 'content_policy_violation', type: code })
  if (code && /image.{0,90}too_large/.test(code.slice(0, 100)))
    return new ErrorInBody({ message: errorText, status: 400, reason: 'image too large' })
  return new ErrorInBody({ message: errorText, code: code ?? null, type })
}

/** `input_tokens` includes tokens read from and written to the cache. `Usage` counts them separately. */
export function parseUsage(usage: NonNullable<ResponseBody['usage']>): Usage {
  const cachedRead = toTokenCount(usage.input_tokens_details?.cached_tokens)
  const cachedWrite = toTokenCount(usage.input_tokens_details?.cache_write_tokens)
  return {
    input: Math.max(0, toTokenCount(usage.input_tokens) - cachedRead - cachedWrite),
    output: toTokenCount(usage.output_tokens),
    cachedRead,
    cachedWrite,
    reasoning: toTokenCount(usage.output_tokens_details?.reasoning_tokens),
    costUsd: isAmount(usage.cost) ? usage.cost : 0,
    costStatus: isAmount(usage.cost) ? 'actual' : 'unknown',
  }
}
