/** The OpenAPI document, made of the same records and schemas that mount and validate the routes. */

import * as z from 'zod'
import type { OpenRoute, Route } from './route.ts'

export const errorShape = z.object({
  error: z.object({ message: z.string(), type: z.string(), code: z.string(), param: z.string().nullable() }),
})

const json = (schema: z.ZodType, io: 'input' | 'output') => ({ schema: schemaOf(schema, io) })

function schemaOf(schema: z.ZodType, io: 'input' | 'output'): object {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: 'any' })
  return rest
}

export function openapi(routes: readonly (Route | OpenRoute)[], origin: string): object {
  const paths: Record<string, Record<string, object>> = {}
  for (const one of routes) {
    const path = one.path.replace(/:(\w+)(\{[^}]*\})?/g, '{$1}')
    paths[path] = { ...paths[path], [one.method]: operation(one, path) }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Talaria',
      version: '0.1.0',
      description: 'An always-on AI agent at the edge. Send your key as: Authorization: Bearer KEY.',
    },
    servers: [{ url: origin }],
    security: [{ key: [] }],
    components: { securitySchemes: { key: { type: 'http', scheme: 'bearer' } } },
    paths,
  }
}

function operation(one: Route | OpenRoute, path: string): object {
  return {
    summary: one.summary,
    tags: [one.tag],
    operationId: `${one.method}${path.replace(/[^A-Za-z0-9]+(\w?)/g, (_, letter: string) => letter.toUpperCase())}`,
    description: one.scope === null ? 'Needs no key.' : `Scope: ${one.scope}.`,
    ...(one.scope === null && { security: [] }),
    parameters: [...pathParameters(path), ...queryParameters(one), ...headerParameters(one)],
    ...(one.body && { requestBody: { required: true, content: { 'application/json': json(one.body, 'input') } } }),
    ...(one.bytes && {
      requestBody: {
        required: true,
        content: { 'application/octet-stream': { schema: { type: 'string', format: 'binary' } } },
      },
    }),
    responses: {
      ...answers(one),
      default: { description: 'Error', content: { 'application/json': json(errorShape, 'output') } },
    },
  }
}

const answers = (one: Route | OpenRoute): object =>
  Object.fromEntries(
    Object.entries(one.responses).map(([status, { description, schema, type }]) => [
      status,
      {
        description,
        ...((schema ?? type) && {
          content: {
            ...(schema && { 'application/json': json(schema, 'output') }),
            ...(type && { [type]: { schema: { type: 'string' } } }),
          },
        }),
      },
    ]),
  )

const pathParameters = (path: string): object[] =>
  [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({ name, in: 'path', required: true, schema: { type: 'string' } }))

const headerParameters = ({ headers = [] }: Route | OpenRoute): object[] =>
  headers.map(({ name, description }) => ({
    name,
    in: 'header',
    required: false,
    description,
    schema: { type: 'string' },
  }))

function queryParameters({ query }: Route | OpenRoute): object[] {
  if (!query) return []
  const { properties = {}, required = [] } = schemaOf(query, 'input') as {
    properties?: Record<string, object>
    required?: string[]
  }
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    schema,
  }))
}
