/**
 * Implements the `AI` binding with the provider of bytes.ts. Like the real one, it sends inputs as JSON, returns the
 * body of the response, and throws texts instead of statuses. It passes no headers on.
 */

import type { AiBinding } from '#agent/providers/workers-ai/workers-ai.ts'
import type { ModelRequest } from '../../support/scripted-model.ts'
import { answerTo } from './bytes.ts'

export const binding: AiBinding = {
  run: async (model, inputs, { signal }) => {
    const response = await answerTo(model, JSON.parse(JSON.stringify({ model, ...inputs })) as ModelRequest, signal)
    if (!response.ok) throw upstreamError(await response.text())
    return response.body
  },
}

function upstreamError(content: string): Error {
  const { internalCode, description, name = 'InferenceUpstreamError' } = fieldsIn(content)
  return Object.assign(new Error(internalCode ? `${internalCode}: ${description}` : content), { name })
}

function fieldsIn(content: string): { internalCode?: number; description?: string; name?: string } {
  try {
    return JSON.parse(content) as object
  } catch {
    return {}
  }
}
