/**
 * Lists fields of OpenAI-compatible clients that have no effect here, because the agent decides them itself. They are
 * accepted by name, so that a misspelt field is still an error.
 */

import * as z from 'zod'

export const ignored = z.unknown().optional().describe('Accepted for compatibility; has no effect.')

/** Fields of OpenAI's two APIs. */
const openaiFields = {
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

/** Fields of compatible servers: vLLM, llama.cpp, Ollama, LM Studio, OpenRouter, Qwen, DeepSeek. */
const vendorFields = {
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

export const ignoredFields = { ...openaiFields, ...vendorFields }
