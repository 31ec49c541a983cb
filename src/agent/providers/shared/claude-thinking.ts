/** Resolves how to request thinking from Claude, on every provider that serves it. */

import type { AssistantMessage, Message } from '#agent/core/message.ts'

const budgetTokens: Readonly<Record<string, number>> = {
  minimal: 1_024,
  low: 4_096,
  medium: 10_000,
  high: 20_000,
  xhigh: 32_000,
  max: 64_000,
  ultra: 64_000,
}
/** The API refuses smaller budgets. */
const minBudgetTokens = 1_024

/** The budget takes at most 80 % of `maxTokens`. Returns undefined when that is below the minimum. */
export function resolveThinkingBudget(effort: string, maxTokens: number): number | undefined {
  if (effort === 'none') return undefined
  const budget = Math.min(budgetTokens[effort] ?? 8_192, Math.floor(maxTokens * 0.8))
  return budget >= minBudgetTokens ? budget : undefined
}

/** Claude has neither our weakest nor our strongest effort level. */
const nearestEfforts: Readonly<Record<string, string>> = { minimal: 'low', ultra: 'max' }
export const toClaudeEffort = (effort: string): string => nearestEfforts[effort] ?? effort

/**
 * Returns whether thinking with a budget may be enabled. Between tool calls Claude requires that the current turn began
 * with its own thinking. If another model began the turn, or thinking was off, it must stay off until the turn ends.
 */
export function canThink(transcript: readonly Message[], issuer: string): boolean {
  const userIndex = transcript.findLastIndex(
    (message, at) => message.role === 'user' && transcript[at - 1]?.role !== 'tool',
  )
  const firstReply = transcript[userIndex + 1]
  if (firstReply?.role !== 'assistant' || transcript[userIndex + 2]?.role !== 'tool') return true
  const first = firstReply.content.find((part) => isOpening(part))
  return first?.type === 'thinking' && first.sealed?.by === issuer
}

/** Data of a web search of the provider is no thinking. */
const isOpening = (part: AssistantMessage['content'][number]): boolean =>
  part.type === 'text' ? /\S/.test(part.text) : part.type === 'call' || part.search === undefined
