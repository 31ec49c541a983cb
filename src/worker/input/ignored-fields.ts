/**
 * Lists fields of OpenAI-compatible clients that have no effect here: they change how a server works, not the answer
 * that the agent gives. They are accepted by name, so that a misspelt field is still an error.
 */

import * as z from 'zod'

export const ignored = z.unknown().optional().describe('Accepted, without effect.')

/** Fields of OpenAI's two APIs. Sessions are cached and stored anyway. */
const openaiFields = {
  tool_choice: ignored,
  parallel_tool_calls: ignored,
  prompt_cache_key: ignored,
  prompt_cache_options: ignored,
  prompt_cache_retention: ignored,
}

/** Fields of compatible servers: vLLM, llama.cpp, Ollama, LM Studio, OpenRouter, Qwen, DeepSeek. */
const vendorFields = {
  include_reasoning: ignored,
  cache_prompt: ignored,
  keep_alive: ignored,
  options: ignored,
  num_ctx: ignored,
  usage: ignored,
  transforms: ignored,
  extra_body: ignored,
}

export const ignoredFields = { ...openaiFields, ...vendorFields }
