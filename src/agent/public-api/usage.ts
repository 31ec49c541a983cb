/** Converts usage to the field names of the public API and of OpenAI. */

import { type Counts, readTallyKey, type Usage } from '#agent/core/usage.ts'

export const toPublicUsage = (usage: Counts) => ({
  input: usage.input,
  output: usage.output,
  cached_read: usage.cachedRead,
  cached_write: usage.cachedWrite,
  reasoning: usage.reasoning,
  cost_usd: usage.costUsd,
  cost_status: usage.costStatus,
})

/** Converts the usage of each model and task, in the order in which they were first used. */
export const toPublicTallies = ({ by = {} }: Usage) =>
  Object.entries(by).map(([key, tally]) => ({
    ...readTallyKey(key),
    calls: tally.calls,
    cut_calls: tally.cut,
    ...toPublicUsage(tally),
  }))

/** Counts as OpenAI does: cached tokens, read or written, are part of the prompt. */
export const toOpenAiUsage = (usage: Usage) => {
  const prompt = usage.input + usage.cachedRead + usage.cachedWrite
  return {
    prompt_tokens: prompt,
    completion_tokens: usage.output,
    total_tokens: prompt + usage.output,
    prompt_tokens_details: { cached_tokens: usage.cachedRead },
    completion_tokens_details: { reasoning_tokens: usage.reasoning },
  }
}
