/** Describes the input of a tool: the JSON schema for the model, and the parser for the calls. */

import * as z from 'zod'

/** Both parts must describe the same input: the model sees `schema`, and `parse` decides what runs. */
export type ToolInput<Value> = {
  readonly schema: object
  /** Returns the input for `run`, or an error text for the model. Must not throw. */
  readonly parse: (raw: unknown) => ParsedInput<Value>
}

export type ParsedInput<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly error: string }

/** Makes both parts from a zod object. The schema is computed once, when it is first needed. */
export function zodInput<Input extends z.ZodObject>(input: Input): ToolInput<z.infer<Input>> {
  let schema: object | undefined
  return {
    get schema() {
      return (schema ??= jsonSchemaOf(input))
    },
    parse(raw) {
      const { data, error } = input.safeParse(coerce(raw, input))
      return error ? { ok: false, error: z.prettifyError(error) } : { ok: true, value: data }
    },
  }
}

/** Leaves out keywords that cost bytes in every request and constrain nothing. */
function jsonSchemaOf(input: z.ZodObject): object {
  const { $schema: _dialect, ...schema } = z.toJSONSchema(input, {
    io: 'input',
    override({ jsonSchema }) {
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum
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
