/** How a tool is written down. The zod schema is the only description of its input. */

import * as z from 'zod'
import type { CallContext, Effect, Risk, ServiceName, Services, Tool, ToolResult } from '../agent/model/tool.ts'

type Definition<Input extends z.ZodObject, Need extends ServiceName> = {
  readonly name: string
  readonly toolset: string
  readonly description: string
  readonly input: Input
  readonly needs?: readonly Need[]
  readonly effect: Effect
  readonly risk?: (input: z.infer<Input>) => Risk
  readonly touches?: (input: z.infer<Input>, services: Pick<Services, Need>) => readonly string[] | 'nothing' | 'alone'
  readonly maxResult?: number
  /** A plain object becomes one JSON string; use `fail()` for an expected failure. */
  readonly run: (
    input: z.infer<Input>,
    context: CallContext & Pick<Services, Need>,
  ) => Promise<ToolResult | Readonly<Record<string, unknown>>>
}

const asText = (value: object): ToolResult & { content: unknown } => ({
  content: [{ type: 'text', text: JSON.stringify(value) }],
  failed: false,
})

/** An expected failure: `error` says what is wrong and what to do next. */
export const fail = (error: string, more: Readonly<Record<string, unknown>> = {}): ToolResult => ({
  content: [{ type: 'text', text: JSON.stringify({ error, ...more }) }],
  failed: true,
})

const isResult = (value: object): value is ToolResult => 'later' in value || ('content' in value && 'failed' in value)

/**
 * Turns a definition into the plain `Tool` the loop knows. The type parameters end here: a Toolbox
 * is a map of tools, not a type-level catalogue of them.
 */
export function defineTool<Input extends z.ZodObject, Need extends ServiceName = never>(
  definition: Definition<Input, Need>,
): Tool {
  const { name, toolset, description, input, needs = [], effect, maxResult } = definition
  let schema: object | undefined
  const parsed = (raw: unknown) => {
    const result = input.safeParse(coerce(raw, input))
    return result.success ? result.data : undefined
  }
  return {
    name,
    toolset,
    description,
    needs,
    effect,
    ...(maxResult !== undefined && { maxResult }),
    get inputSchema() {
      return (schema ??= withoutMeta(z.toJSONSchema(input, { io: 'input' })))
    },
    risk(raw) {
      const value = parsed(raw)
      return value === undefined ? 'none' : (definition.risk?.(value) ?? 'none')
    },
    touches(raw, services) {
      const value = parsed(raw)
      if (value === undefined) return 'nothing'
      if (definition.touches) return definition.touches(value, services as Pick<Services, Need>)
      return effect === 'pure' ? 'nothing' : 'alone'
    },
    async run(raw, context, services) {
      const result = input.safeParse(coerce(raw, input))
      if (!result.success) return fail(`Invalid input for ${name}: ${z.prettifyError(result.error)}`)
      const value = await definition.run(result.data, { ...context, ...(services as Pick<Services, Need>) })
      return isResult(value) ? value : asText(value)
    },
  }
}

/** The `$schema` line costs prompt bytes in every request and tells the model nothing. */
function withoutMeta({ $schema: _, ...schema }: Record<string, unknown>): object {
  return schema
}

/** Models send "true", "5" or a list as a string; take them for what the schema says they are. */
function coerce(raw: unknown, input: z.ZodObject): unknown {
  if (typeof raw !== 'object' || raw === null || Array.isArray(raw)) return raw ?? {}
  const entries = Object.entries(raw).map(([key, value]) => {
    const field = input.shape[key] as z.ZodType | undefined
    if (typeof value !== 'string' || !field || field.safeParse(value).success) return [key, value] as const
    const other = fromText(value)
    return [key, field.safeParse(other).success ? other : value] as const
  })
  return Object.fromEntries(entries)
}

function fromText(value: string): unknown {
  try {
    return JSON.parse(value.trim().toLowerCase() === value.trim() ? value : value.replace(/^(True|False)$/, (word) => word.toLowerCase()))
  } catch {
    return undefined
  }
}
