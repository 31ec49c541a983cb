/** Reads the OpenAPI document for tests that are generated from it, and makes requests that fit its schemas. */

import { call } from './client.ts'

export type JsonSchema = {
  readonly type?: string | readonly string[]
  readonly const?: unknown
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly JsonSchema[]
  readonly oneOf?: readonly JsonSchema[]
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly required?: readonly string[]
  readonly items?: JsonSchema
  readonly minItems?: number
  readonly minLength?: number
  readonly minimum?: number
  readonly format?: string
}

export type Parameter = {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly required: boolean
  readonly schema: JsonSchema
}

export type Operation = {
  readonly method: string
  readonly path: string
  /** null: no key is needed. */
  readonly scope: string | null
  readonly parameters: readonly Parameter[]
  readonly body: JsonSchema | undefined
}

type Document = {
  readonly paths: Readonly<
    Record<
      string,
      Readonly<
        Record<
          string,
          {
            readonly description: string
            readonly parameters: readonly Parameter[]
            readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: JsonSchema }>> }
          }
        >
      >
    >
  >
}

export async function listOperations(): Promise<readonly Operation[]> {
  const { body } = await call<Document>('GET', '/openapi.json', { key: null })
  return Object.entries(body.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { description, parameters, requestBody }]) => ({
      method: method.toUpperCase(),
      path,
      scope: /^Scope: (\w+)/.exec(description)?.[1] ?? null,
      parameters,
      body: requestBody?.content['application/json']?.schema,
    })),
  )
}

/** Makes a small value that fits the schema, patterns aside. */
export function sample(schema: JsonSchema): unknown {
  if (schema.const !== undefined) return schema.const
  if (schema.enum) return schema.enum[0]
  const [choice] = schema.anyOf ?? schema.oneOf ?? []
  if (choice) return sample(choice)
  const type = typeof schema.type === 'string' ? schema.type : schema.type?.[0]
  switch (type) {
    case 'object':
      return Object.fromEntries((schema.required ?? []).map((name) => [name, sample(schema.properties?.[name] ?? {})]))
    case 'array':
      return Array.from({ length: schema.minItems ?? 0 }, () => sample(schema.items ?? {}))
    case 'integer':
    case 'number':
      return schema.minimum ?? 1
    case 'boolean':
      return false
    case 'null':
      return null
    default:
      return schema.format === 'date-time' ? '2030-01-01T00:00:00Z' : 'x'.repeat(Math.max(1, schema.minLength ?? 0))
  }
}

/** Fills the parameters of the path. Those without a value get `x`. */
export const fillPath = (path: string, values: Readonly<Record<string, string>>): string =>
  path.replace(/\{(\w+)\}/g, (_, name: string) =>
    (values[name] ?? 'x')
      .split('/')
      .map((part) => encodeURIComponent(part.toWellFormed()))
      .join('/'),
  )
