/** Renders everything before the conversation in a chat completion: model, tools, options and system message. */

import type { ModelRequest, Quirks } from '#agent/core/dialect.ts'
import type { ToolSchema } from '#agent/core/request/tool-schema.ts'
import { resolveNativeFormat } from '../shared/parameters/answer-format.ts'
import { clampEffort } from '../shared/effort.ts'
import { toGeminiSchema } from './gemini-schema.ts'
import { type CacheMark, renderTextPart, type RenderStyle } from './chat-messages.ts'
import { renderResponseFormat, renderSamplingFields, renderToolRules } from './sampling-fields.ts'
import { selectServerSearch } from '../shared/server-search.ts'
import { simplifySchema } from '../shared/simplify-schema.ts'
import { stringifyWellFormed, toWellFormed } from '../shared/well-formed.ts'

/** Returns unfinished JSON that ends after the system message. */
export function renderChatHead(request: ModelRequest, quirks: Quirks, style: RenderStyle): string {
  const isWhole = request.repairs?.stream === 'off'
  const streaming = isWhole ? { stream: false } : { stream: true, stream_options: { include_usage: true } }
  const head = JSON.stringify({ model: request.model, ...streaming })
  const offered = selectServerSearch(request, quirks, 'openai-chat')
  const rendered = [
    ...offered.tools.map(createToolRenderer(request, quirks)),
    ...(offered.hasServerSearch ? ['{"type":"openrouter:web_search"}'] : []),
  ]
  const tools = rendered.length ? `,"tools":[${rendered.join(',')}]` : ''
  const more = stringifyWellFormed({ ...renderOptions(request, quirks), ...quirks.body }).slice(1, -1)
  return `${head.slice(0, -1)}${tools}${more && `,${more}`},"messages":[${renderSystem(request, quirks, style)}`
}

function renderSystem(request: ModelRequest, quirks: Quirks, { shouldUseParts }: RenderStyle): string {
  const role = quirks.systemRole ?? 'system'
  const text = toWellFormed(request.system)
  if (!shouldUseParts || !text) return JSON.stringify({ role, content: text })
  return `{"role":"${role}","content":[${renderTextPart(text, resolveCacheMark(request, quirks))}]}`
}

/** Five minutes are the default of the providers, so only an hour is sent as `ttl`. */
export const resolveCacheMark = ({ cache }: ModelRequest, { cacheMarks }: Quirks): CacheMark | undefined =>
  cache && cacheMarks === 'native' ? { type: 'ephemeral', ...(cache === '1h' && { ttl: cache }) } : undefined

function renderOptions(request: ModelRequest, quirks: Quirks): object {
  const maxTokens = request.maxTokens ?? quirks.defaultMaxTokens
  return {
    ...(maxTokens !== undefined && { [quirks.maxTokensField ?? 'max_completion_tokens']: maxTokens }),
    ...renderSamplingFields(request, quirks),
    ...renderReasoning(clampEffort(request.reasoningEffort, quirks.efforts), quirks),
    ...renderToolRules(request),
    ...renderResponseFormat(resolveNativeFormat(request, 'openai-chat', quirks)),
  }
}

function renderReasoning(effort: string | undefined, { reasoning = 'effort', efforts }: Quirks): object {
  if (effort === undefined) return {}
  switch (reasoning) {
    case 'effort':
      return { reasoning_effort: effort }
    case 'object':
      return { reasoning: { effort } }
    case 'toggle':
      if (effort === 'none') return { thinking: { type: 'disabled' } }
      return { thinking: { type: 'enabled' }, ...(efforts && { reasoning_effort: effort }) }
    // Values for other dialects.
    case 'budget':
    case 'adaptive':
    case 'none':
      return {}
  }
}

type SchemaVariant = 'whole' | 'plain' | 'gemini'
const toolCache: Readonly<Record<SchemaVariant, WeakMap<ToolSchema, string>>> = {
  whole: new WeakMap(),
  plain: new WeakMap(),
  gemini: new WeakMap(),
}
const schemaConverters: Readonly<Record<SchemaVariant, (schema: object) => object>> = {
  whole: (schema) => schema,
  plain: simplifySchema,
  gemini: toGeminiSchema,
}

function createToolRenderer({ repairs }: ModelRequest, { schemas }: Quirks): (tool: ToolSchema) => string {
  const variant = repairs?.schemas ?? schemas ?? 'whole'
  return (tool) => {
    let text = toolCache[variant].get(tool)
    if (text === undefined) {
      const { name, description, inputSchema, strict } = tool
      text = JSON.stringify({
        type: 'function',
        function: { name, description, parameters: schemaConverters[variant](inputSchema), ...(strict && { strict }) },
      })
      toolCache[variant].set(tool, text)
    }
    return text
  }
}
