/** What the Responses API says on its stream, as far as we listen to it. Nothing of it is taken for granted. */

import type OpenAI from 'openai'
import type { Usage } from '../../model/usage.ts'
import { ErrorInBody } from './chat-stream.ts'
import type { PhaseSeal } from './responses-input.ts'

/** An item as far as we read it, of whatever type. */
export type Item = Partial<Omit<OpenAI.Responses.ResponseReasoningItem, 'type' | 'content'>> & {
  readonly type?: string
  readonly phase?: PhaseSeal['phase'] | null
  readonly content?: readonly { readonly type?: string; readonly text?: string; readonly refusal?: string }[]
  readonly name?: string
  readonly call_id?: string
  readonly arguments?: string
}
type Failed = { readonly message?: string; readonly code?: string | null; readonly type?: string | null }
export type Body = {
  readonly status?: string
  readonly output?: readonly Item[]
  readonly usage?: (OpenAI.Responses.ResponseUsage & { readonly cost?: number }) | null
  readonly error?: Failed | null
  readonly incomplete_details?: { readonly reason?: string } | null
}
export type StreamEvent = Failed & {
  readonly output_index?: number
  readonly item_id?: string
  readonly item?: Item
  readonly delta?: string
  readonly arguments?: string
  readonly response?: Body
  readonly error?: Failed | null
}

/** Codes by which a stream says that it will not answer this. */
const refusals = new Set([
  'invalid_prompt',
  'bio_policy',
  'misalignment_policy_violation',
  'image_content_policy_violation',
])

export function failureOf({ message, code, type }: Failed): ErrorInBody {
  const words = message || 'The provider broke the answer off.'
  if (code && refusals.has(code))
    return new ErrorInBody({ message: words, code: 'content_policy_violation', type: code })
  if (code && /image.*too_large/.test(code.slice(0, 100)))
    return new ErrorInBody({ message: words, status: 400, reason: 'image too large' })
  return new ErrorInBody({ message: words, code: code ?? null, type })
}

/** `input_tokens` includes what was read from the cache and what was written to it; ours are counted apart. */
export function usageOf(usage: NonNullable<Body['usage']>): Usage {
  const cachedRead = count(usage.input_tokens_details?.cached_tokens)
  const cachedWrite = count(usage.input_tokens_details?.cache_write_tokens)
  return {
    input: Math.max(0, count(usage.input_tokens) - cachedRead - cachedWrite),
    output: count(usage.output_tokens),
    cachedRead,
    cachedWrite,
    reasoning: count(usage.output_tokens_details?.reasoning_tokens),
    costUsd: isAmount(usage.cost) ? usage.cost : 0,
    costStatus: isAmount(usage.cost) ? 'actual' : 'unknown',
  }
}

/** Providers are not believed everything: what is no number of tokens counts as none. */
const count = (value: unknown): number => (isAmount(value) ? Math.floor(value) : 0)
const isAmount = (value: unknown): value is number => typeof value === 'number' && value >= 0 && value < 1e12
