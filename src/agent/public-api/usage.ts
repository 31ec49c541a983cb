/** Usage by the names of the public API. */

import { type Counts, readTallyKey, type Usage } from '../model/usage.ts'

export const publicUsage = (usage: Counts) => ({
  input: usage.input,
  output: usage.output,
  cached_read: usage.cachedRead,
  cached_write: usage.cachedWrite,
  reasoning: usage.reasoning,
  cost_usd: usage.costUsd,
  cost_status: usage.costStatus,
})

/** The same apart for each model and task, in the order in which they came. */
export const publicTallies = ({ by = {} }: Usage) =>
  Object.entries(by).map(([key, tally]) => ({
    ...readTallyKey(key),
    calls: tally.calls,
    cut_calls: tally.cut,
    ...publicUsage(tally),
  }))

/** The same as OpenAI counts it: what was read from the cache is part of the prompt. */
export const openaiUsage = (usage: Usage) => {
  const prompt = usage.input + usage.cachedRead + usage.cachedWrite
  return {
    prompt_tokens: prompt,
    completion_tokens: usage.output,
    total_tokens: prompt + usage.output,
    prompt_tokens_details: { cached_tokens: usage.cachedRead },
    completion_tokens_details: { reasoning_tokens: usage.reasoning },
  }
}
