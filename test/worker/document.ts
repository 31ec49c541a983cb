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

type Content = Readonly<Record<string, { readonly schema: JsonSchema; readonly example?: unknown }>>

type DescribedParameter = Parameter & {
  readonly description?: string
  readonly example?: unknown
  readonly examples?: { readonly default: { readonly value: unknown } }
}

export const exampleOf = ({ example, examples }: DescribedParameter): unknown => example ?? examples?.default.value

export type DescribedOperation = {
  readonly operationId: string
  readonly summary: string
  readonly description: string
  readonly tags: readonly string[]
  readonly security: readonly Readonly<Record<string, readonly string[]>>[]
  readonly parameters: readonly DescribedParameter[]
  readonly requestBody?: { readonly content: Content }
  readonly responses: Readonly<Record<string, { readonly description: string; readonly content?: Content }>>
}

export type Document = {
  readonly openapi: string
  readonly tags: readonly { readonly name: string; readonly description?: string }[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, DescribedOperation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, JsonSchema>> }
}

export const fetchDocument = async (): Promise<Document> =>
  (await call<Document>('GET', '/openapi.json', { key: null })).body

/** Replaces the references by what they refer to. Throws for one that leads nowhere. */
export function resolveReferences<T>(value: T, document: object, parents: readonly string[] = []): T {
  if (Array.isArray(value)) return value.map((one: unknown) => resolveReferences(one, document, parents)) as T
  if (typeof value !== 'object' || value === null) return value
  const { $ref, ...rest } = value as { $ref?: unknown }
  if (typeof $ref !== 'string') {
    const entries = Object.entries(value).map(([key, one]) => [
      key,
      resolveReferences(one as unknown, document, parents),
    ])
    return Object.fromEntries(entries) as T
  }
  if (parents.includes($ref)) return {} as T
  const target = $ref
    .split('/')
    .slice(1)
    .reduce<unknown>((inner, key) => (inner as Record<string, unknown> | undefined)?.[key], document)
  if (target === undefined) throw new Error(`${$ref} leads nowhere`)
  return resolveReferences({ ...(target as object), ...rest } as T, document, [...parents, $ref])
}

/** Every operation with its method and path, its references replaced. */
export async function listDescribed(): Promise<readonly (DescribedOperation & { method: string; path: string })[]> {
  const document = await fetchDocument()
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, one]) => ({ method, path, ...resolveReferences(one, document) })),
  )
}

export async function listOperations(): Promise<readonly Operation[]> {
  return (await listDescribed()).map(({ method, path, security, parameters, requestBody }) => ({
    method: method.toUpperCase(),
    path,
    scope: security[0]?.['key']?.[0] ?? null,
    parameters,
    body: requestBody?.content['application/json']?.schema,
  }))
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
