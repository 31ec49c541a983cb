/**
 * Fields that clients of OpenAI's API send, many of them always, and that mean nothing to an agent that chooses
 * for itself. They are accepted by name, so that a typo is still an error.
 */

import * as z from 'zod'

export const ignored = z.unknown().optional().describe('Accepted for compatibility; has no effect.')

/** OpenAI's own, of both of its APIs. */
const official = {
  tool_choice: ignored,
  parallel_tool_calls: ignored,
  top_p: ignored,
  top_logprobs: ignored,
  user: ignored,
  service_tier: ignored,
  moderation: ignored,
  prompt_cache_key: ignored,
  prompt_cache_options: ignored,
  prompt_cache_retention: ignored,
  safety_identifier: ignored,
}

/** Those of servers that speak the same API: vLLM, llama.cpp, Ollama, LM Studio, OpenRouter, Qwen, DeepSeek. */
const vendors = {
  top_k: ignored,
  top_a: ignored,
  min_p: ignored,
  typical_p: ignored,
  repetition_penalty: ignored,
  repeat_penalty: ignored,
  thinking: ignored,
  think: ignored,
  enable_thinking: ignored,
  include_reasoning: ignored,
  chat_template_kwargs: ignored,
  cache_prompt: ignored,
  keep_alive: ignored,
  options: ignored,
  num_ctx: ignored,
  usage: ignored,
  transforms: ignored,
  extra_body: ignored,
}

export const ignoredFields = { ...official, ...vendors }
