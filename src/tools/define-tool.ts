/** Turns the definition of a tool into the plain `Tool` record that the loop and the dispatcher use. */

import * as z from 'zod'
import type { Assessment } from '#agent/core/permission/approval.ts'
import {
  type CallContext,
  changesNothing,
  type Effect,
  type Reach,
  type Risk,
  type ServiceName,
  type Services,
  type Tool,
} from '#agent/core/tool.ts'
import type { Availability, ToolDeployment } from '#agent/core/vendor/tool-deployment.ts'
import type { TouchedResources } from './group-calls.ts'
import { defaultToolTimeoutMs } from './time-limit.ts'
import { fail, resultOf, type ToolAnswer } from './tool-result.ts'

type ToolDefinition<Input, Need extends ServiceName> = {
  readonly name: string
  readonly toolset: string
  readonly description: string
  readonly needs?: readonly Need[]
  /** For a tool that needs a vendor, a binding or a setting. */
  readonly availability?: (deployment: ToolDeployment) => Availability
  readonly effect: Effect
  /** For a tool whose effect depends on the input. */
  readonly effectOf?: (input: Input) => Effect
  readonly risk?: (input: Input) => Risk
  /** For a tool of a server. */
  readonly reach?: Reach | undefined
  readonly assess?: (input: Input, services: Pick<Services, Need>) => Assessment | Promise<Assessment>
  readonly touches?: (input: Input, services: Pick<Services, Need>) => TouchedResources
  readonly maxResultChars?: number
  /** For a tool that needs another time limit than the dispatcher's default. */
  readonly timeoutMs?: (input: Input) => number
  /** A plain object becomes one JSON text. Expected failures are returned with `fail()`. */
  readonly run: (input: Input, context: CallContext & Pick<Services, Need>) => Promise<ToolAnswer>
}

/** Defines a built-in tool. The zod schema is the only description of its input. */
export const defineTool = <Schema extends z.ZodObject, Need extends ServiceName = never>(
  definition: ToolDefinition<z.infer<Schema>, Need> & { readonly input: Schema },
): Tool => createTool(definition, zodInput(definition.input))

/**
 * Defines a tool whose JSON schema is only known at run time, such as one of an MCP server. Its owner also brings the
 * parser, because a foreign schema may not be compiled without bounds.
 */
export const defineSchemaTool = <Input, Need extends ServiceName = never>(
  definition: ToolDefinition<Input, Need> & { readonly input: ToolInput<Input> },
): Tool => createTool(definition, definition.input)

/** The type parameters end here: a toolbox maps names to tools and does not list their types. */
function createTool<Input, Need extends ServiceName>(
  definition: ToolDefinition<Input, Need>,
  input: ToolInput<Input>,
): Tool {
  const { name, toolset, description, needs = [], effect, maxResultChars: maxResult } = definition
  const { effectOf, risk, reach, assess, touches, timeoutMs, availability } = definition
  /** Input that does not fit the schema never runs, so it gets the answer for a call without consequences. */
  const ifValid = <Answer, Otherwise>(raw: unknown, use: (value: Input) => Answer, otherwise: Otherwise) => {
    const parsed = input.parse(raw)
    return parsed.ok ? use(parsed.value) : otherwise
  }
  return {
    name,
    toolset,
    description,
    needs,
    effect,
    ...(availability && { availability }),
    ...(maxResult !== undefined && { maxResultChars: maxResult }),
    get inputSchema() {
      return input.schema
    },
    risk: (raw) => (risk ? ifValid(raw, risk, 'none') : 'none'),
    ...(reach && { reach }),
    ...(effectOf && { effectOf: (raw) => ifValid(raw, effectOf, effect) }),
    ...(assess && {
      assess: (raw, services) => ifValid(raw, (value) => assess(value, services as Pick<Services, Need>), undefined),
    }),
    ...(timeoutMs && { timeoutMs: (raw) => ifValid(raw, timeoutMs, defaultToolTimeoutMs) }),
    touches: (raw, services) =>
      ifValid(
        raw,
        (value) => {
          if (touches) return touches(value, services as Pick<Services, Need>)
          return changesNothing(effect) ? 'nothing' : 'alone'
        },
        'nothing',
      ),
    async run(raw, context, services) {
      const parsed = input.parse(raw)
      if (!parsed.ok) return fail(`Invalid input for ${name}: ${parsed.error}`)
      return resultOf(await definition.run(parsed.value, { ...context, ...(services as Pick<Services, Need>) }))
    },
  }
}

// Describes the input of a tool: the JSON schema for the model, and the parser for the calls.

/** Both parts must describe the same input: the model sees `schema`, and `parse` decides what runs. */
type ToolInput<Value> = {
  readonly schema: object
  /** Returns the input for `run`, or an error text for the model. Must not throw. */
  readonly parse: (raw: unknown) => InputResult<Value>
}

type InputResult<Value> = { readonly ok: true; readonly value: Value } | { readonly ok: false; readonly error: string }

/** Makes both parts from a zod object. The schema is computed once, when it is first needed. */
export function zodInput<Input extends z.ZodObject>(input: Input): ToolInput<z.infer<Input>> {
  let schema: object | undefined
  return {
    get schema() {
      return (schema ??= getJsonSchema(input))
    },
    parse(raw) {
      const { data, error } = input.safeParse(coerce(raw, input))
      return error ? { ok: false, error: z.prettifyError(error) } : { ok: true, value: data }
    },
  }
}

/** Limits of length that a model never needs: a call beyond one gets an error that names it. */
const unsentKeywords = ['maxLength', 'minLength', 'maxItems', 'minItems', 'pattern', 'format', 'propertyNames'] as const

/** Leaves out keywords that cost bytes in every request and guide nobody. The parser holds them all the same. */
function getJsonSchema(input: z.ZodObject): object {
  const { $schema: _dialect, ...schema } = z.toJSONSchema(input, {
    io: 'input',
    override({ jsonSchema }) {
      for (const keyword of unsentKeywords) delete jsonSchema[keyword]
      if (jsonSchema.default === false) delete jsonSchema.default
      if ((jsonSchema.minimum ?? 2) <= 1) delete jsonSchema.minimum
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
    },
  })
  return schema
}

/**
 * Models send "true", "5" or a list as a string, and null for an omitted field. Such a value is converted when it
 * does not fit the schema and its conversion does.
 */
function coerce(raw: unknown, input: z.ZodObject): unknown {
  if (typeof raw !== 'object' || raw === null || Array.isArray(raw)) return raw ?? {}
  const entries = Object.entries(raw).flatMap(([key, value]) => {
    const field = input.shape[key] as z.ZodType | undefined
    if (!field || accepts(field, value)) return [[key, value]]
    if (value === null && accepts(field, undefined)) return []
    const converted = typeof value === 'string' ? fromText(value) : undefined
    return [[key, accepts(field, converted) ? (converted ?? value) : value]]
  })
  return Object.fromEntries(entries)
}

const accepts = (field: z.ZodType, value: unknown): boolean => field.safeParse(value).success

/** Reads a string as JSON, or as a boolean in any case (Python writes `True`). */
function fromText(value: string): unknown {
  const text = value.trim()
  if (/^(true|false)$/i.test(text)) return text.toLowerCase() === 'true'
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
