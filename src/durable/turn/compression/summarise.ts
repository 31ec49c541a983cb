/**
 * Performs a compression up to its commit: determines what is replaced, asks a model for the summary, and collects what
 * is carried over. Nothing is stored here.
 */

import { marksOfMessages } from '#agent/untrusted/result-marks.ts'
import type { Summary } from '#agent/core/compression.ts'
import type { Failure, FailureKind } from '#agent/core/failure.ts'
import type { Entry } from '#agent/core/history.ts'
import { type Message, userText } from '#agent/core/message.ts'
import type { Usage } from '#agent/core/usage.ts'
import { keepsMessages } from '#agent/policy/compress-context.ts'
import { type BoundaryOptions, type CompressionPlan, planCompression } from '#agent/prompt/compression/boundaries.ts'
import { collectEffects, type HasEffect } from '#agent/prompt/compression/effects.ts'
import { renderExcerpt } from '#agent/prompt/compression/excerpt.ts'
import { type Mask, maskMessage } from '#agent/prompt/compression/mask.ts'
import { pruneMessages } from '#agent/prompt/compression/prune.ts'
import { createSummaryMessage, limitSummary, parseSummary } from '#agent/prompt/compression/summary-message.ts'
import {
  getSummaryTokens,
  renderSummaryInput,
  renderSummaryRequest,
} from '#agent/prompt/compression/summary-request.ts'
import { estimateMessageTokens } from '#agent/prompt/estimate-tokens.ts'
import type { SideCall } from '#durable/models/side-call.ts'
import { failpoint } from '#durable/platform/failpoint.ts'

export type SummariseResult =
  | {
      readonly of: 'summary'
      readonly summary: Summary
      readonly savedTokens: number
      readonly fallback?: FailureKind
    }
  | { readonly of: 'failure'; readonly failure: Failure }
  /** Every message is kept, or the summary would be as long as what it replaces. */
  | { readonly of: 'nothing' }

export type SummariseContext = {
  /** The context in the order in which it is sent. */
  readonly entries: readonly Entry[]
  readonly boundaries: BoundaryOptions
  readonly focus?: string | undefined
  /** Masks the secrets of the tenant. */
  readonly mask: Mask
  readonly hasEffect: HasEffect
  readonly carryOver: (effects: readonly string[]) => Promise<readonly string[]>
  readonly side: SideCall
}

/** Never rejects for a failure of a model. */
export async function summarise(context: SummariseContext): Promise<SummariseResult> {
  const plan = planCompression(context.entries, context.boundaries)
  if (!plan.replaced.length) return { of: 'nothing' }
  await failpoint('before-summary')
  const written = await writeSummary(plan, context)
  if (!('text' in written)) return { of: 'failure', failure: written.failure }
  await failpoint('after-summary')
  const effects = collectEffects(maskEntries(plan, context.mask), plan.previous?.effects ?? [], context.hasEffect).map(
    context.mask,
  )
  const carried = (await context.carryOver(effects)).map(context.mask)
  const { covers, keeps } = plan
  const savedTokens = replacedTokens(plan) - estimateMessageTokens(createSummaryMessage(written.text, carried))
  if (!isUseful(plan, savedTokens, context.entries)) return { of: 'nothing' }
  const marks = marksOfMessages(
    [...plan.replaced, ...(plan.previous ? [plan.previous] : [])].map(({ message }) => message),
  )
  const summary = { text: written.text, covers, keeps, carried, effects, marks }
  return { of: 'summary', summary, savedTokens, ...(written.failure && { fallback: written.failure.kind }) }
}

const replacedTokens = ({ tokens, previous }: CompressionPlan): number => tokens + (previous?.tokens ?? 0)

/** Fewer messages, or less than 95 % of the tokens. A context that becomes longer is never worth it. */
function isUseful({ replaced, previous }: CompressionPlan, savedTokens: number, entries: readonly Entry[]): boolean {
  const tokens = entries.reduce((sum, entry) => sum + entry.tokens, 0)
  const isShorter = replaced.length + (previous ? 1 : 0) > 1
  return savedTokens > 0 && (isShorter || savedTokens > tokens * 0.05)
}

const maskEntries = ({ replaced }: CompressionPlan, mask: Mask): readonly Entry[] =>
  replaced.map((entry) => ({ ...entry, message: maskMessage(entry.message, mask) }))

async function writeSummary(plan: CompressionPlan, context: SummariseContext) {
  const { mask, focus, side } = context
  const messages = maskEntries(plan, mask).map(({ message }) => message)
  const previous = plan.previous && parseSummary(plan.previous.message)
  const written = await requestSummary({ messages, previous, focus, tokens: replacedTokens(plan), mask }, side)
  const { failure } = written
  return failure && (failure.kind === 'aborted' || keepsMessages(failure.kind)) ? { failure } : written
}

export type SummaryRequest = {
  /** Without secrets. */
  readonly messages: readonly Message[]
  readonly previous?: string | undefined
  readonly focus: string | undefined
  /** Of all messages and the previous summary. */
  readonly tokens: number
  readonly mask: Mask
}

/** `failure`: no model has written the summary, and the text is an excerpt. */
export type WrittenSummary = { readonly text: string; readonly usage: Usage; readonly failure?: Failure }

export async function requestSummary(
  { messages, previous, focus, tokens, mask }: SummaryRequest,
  side: SideCall,
): Promise<WrittenSummary> {
  const pruned = pruneMessages(messages)
  const maxTokens = getSummaryTokens(tokens)
  const answer = await side('compression', {
    system: renderSummaryRequest({ focus: focus && mask(focus), maxTokens, updates: previous !== undefined }),
    transcript: (room) => [userText(renderSummaryInput({ messages: pruned, previous, mask }, room))],
    // Thinking counts as output.
    maxTokens: 2 * maxTokens,
  })
  const { usage } = answer
  return answer.kind === 'answered'
    ? { text: limitSummary(mask(answer.text), maxTokens), usage }
    : { text: renderExcerpt(pruned, { previous, mask }), usage, failure: answer.failure }
}
