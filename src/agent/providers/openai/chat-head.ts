/** What stands before the conversation in a chat completion: model, tools, options, and the system message. */

import type { ModelRequest, Quirks, ToolSchema } from '../../model/dialect.ts'
import { clampEffort } from '../shared/effort.ts'
import { geminiSchema } from './gemini-schema.ts'
import { type Mark, textPart, type Style } from './chat-messages.ts'
import { plain } from '../shared/request-parts.ts'
import { wellFormed } from '../shared/well-formed.ts'

/** Up to the system message. */
export function headOf(request: ModelRequest, quirks: Quirks, style: Style): string {
  const head = JSON.stringify({ model: request.model, stream: true, stream_options: { include_usage: true } })
  const tools = request.tools.length ? `,"tools":[${request.tools.map(schemaWriter(request, quirks)).join(',')}]` : ''
  const more = JSON.stringify({ ...optionsOf(request, quirks), ...quirks.body }).slice(1, -1)
  return `${head.slice(0, -1)}${tools}${more && `,${more}`},"messages":[${systemOf(request, quirks, style)}`
}

function systemOf(request: ModelRequest, quirks: Quirks, { parts }: Style): string {
  const role = quirks.systemRole ?? 'system'
  const text = wellFormed(request.system)
  if (!parts || !text) return JSON.stringify({ role, content: text })
  return `{"role":"${role}","content":[${textPart(text, markOf(request, quirks))}]}`
}

/** Of the cache: what is kept for five minutes is kept by default. */
export const markOf = ({ cache }: ModelRequest, { cacheMarks }: Quirks): Mark | undefined =>
  cache && cacheMarks === 'native' ? { type: 'ephemeral', ...(cache === '1h' && { ttl: cache }) } : undefined

function optionsOf(request: ModelRequest, quirks: Quirks): object {
  const maxTokens = request.maxTokens ?? quirks.defaultMaxTokens
  const temperature = quirks.temperature ?? request.temperature
  return {
    ...(maxTokens !== undefined && { [quirks.maxTokensField ?? 'max_completion_tokens']: maxTokens }),
    ...(typeof temperature === 'number' && { temperature }),
    ...reasoningOf(clampEffort(request.reasoningEffort, quirks.efforts), quirks),
  }
}

function reasoningOf(effort: string | undefined, { reasoning = 'effort', efforts }: Quirks): object {
  if (effort === undefined) return {}
  switch (reasoning) {
    case 'effort':
      return { reasoning_effort: effort }
    case 'object':
      return { reasoning: { effort } }
    case 'toggle':
      if (effort === 'none') return { thinking: { type: 'disabled' } }
      return { thinking: { type: 'enabled' }, ...(efforts && { reasoning_effort: effort }) }
    // Words of other dialects.
    case 'budget':
    case 'adaptive':
    case 'none':
      return {}
  }
}

type Kind = 'whole' | 'plain' | 'gemini'
const schemaCache: Readonly<Record<Kind, WeakMap<ToolSchema, string>>> = {
  whole: new WeakMap(),
  plain: new WeakMap(),
  gemini: new WeakMap(),
}
const shapes: Readonly<Record<Kind, (schema: object) => object>> = {
  whole: (schema) => schema,
  // Some servers cannot compile patterns and formats into a grammar.
  plain,
  gemini: geminiSchema,
}

function schemaWriter({ repairs }: ModelRequest, { schemas }: Quirks): (tool: ToolSchema) => string {
  const kind = repairs?.schemas ?? schemas ?? 'whole'
  return (tool) => {
    let text = schemaCache[kind].get(tool)
    if (text === undefined) {
      const { name, description, inputSchema } = tool
      text = JSON.stringify({
        type: 'function',
        function: { name, description, parameters: shapes[kind](inputSchema) },
      })
      schemaCache[kind].set(tool, text)
    }
    return text
  }
}
