/** How Claude is asked to think, wherever it is: in tokens, or in a word. */

import type { Message } from '../../model/message.ts'

const budgets: Readonly<Record<string, number>> = {
  minimal: 1_024,
  low: 4_096,
  medium: 10_000,
  high: 20_000,
  xhigh: 32_000,
  max: 64_000,
  ultra: 64_000,
}
/** No budget may be below this. */
const least = 1_024

/** Of the tokens that may be written at all, most may be thought; undefined when that leaves no room for thinking. */
export function thinkingBudget(effort: string, maxTokens: number): number | undefined {
  if (effort === 'none') return undefined
  const budget = Math.min(budgets[effort] ?? 8_192, Math.floor(maxTokens * 0.8))
  return budget >= least ? budget : undefined
}

/** It knows neither the weakest nor the strongest of our words. */
const nearest: Readonly<Record<string, string>> = { minimal: 'low', ultra: 'max' }
export const claudeEffort = (effort: string): string => nearest[effort] ?? effort

/**
 * With a budget, an answer that is in the middle of its calls must have begun with thinking of its own. It has
 * not when another model began it, or when thinking was off then: so it stays off to the end of that answer.
 */
export function mayThink(clean: readonly Message[], by: string): boolean {
  const asked = clean.findLastIndex((message, at) => message.role === 'user' && clean[at - 1]?.role !== 'tool')
  const begun = clean[asked + 1]
  if (begun?.role !== 'assistant' || clean[asked + 2]?.role !== 'tool') return true
  const first = begun.content.find((part) => part.type !== 'text' || /\S/.test(part.text))
  return first?.type === 'thinking' && first.sealed?.by === by
}
