/** Renders the OpenAPI document from the route records, which also mount and validate the routes. */

import * as z from 'zod'
import type { OpenRoute, Route } from './route.ts'

export const apiVersion = '0.1.0'

export const errorShape = z.object({
  error: z.object({ message: z.string(), type: z.string(), code: z.string(), param: z.string().nullable() }),
})

const jsonContent = (schema: z.ZodType, io: 'input' | 'output') => ({ schema: toJsonSchema(schema, io) })

function toJsonSchema(schema: z.ZodType, io: 'input' | 'output'): object {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: 'any' })
  return rest
}

export function renderOpenapi(routes: readonly (Route | OpenRoute)[], origin: string): object {
  const paths: Record<string, Record<string, object>> = {}
  for (const one of routes) {
    const path = one.path.replace(/:(\w+)(\{[^}]*\})?/g, '{$1}')
    paths[path] = { ...paths[path], [one.method]: renderOperation(one, path) }
  }
  return {
    openapi: '3.1.0',
    info: {
      title: 'Talaria',
      version: apiVersion,
      description: 'An always-on AI agent at the edge. Send your key as: Authorization: Bearer KEY.',
    },
    servers: [{ url: origin }],
    security: [{ key: [] }],
    components: { securitySchemes: { key: { type: 'http', scheme: 'bearer' } } },
    paths,
  }
}

function renderOperation(one: Route | OpenRoute, path: string): object {
  return {
    summary: one.summary,
    tags: [one.tag],
    operationId: `${one.method}${path.replace(/[^A-Za-z0-9]+(\w?)/g, (_, letter: string) => letter.toUpperCase())}`,
    description: one.scope === null ? 'Needs no key.' : `Scope: ${one.scope}.`,
    ...(one.scope === null && { security: [] }),
    parameters: [...renderPathParameters(path), ...renderQueryParameters(one), ...renderHeaderParameters(one)],
    ...(one.body && {
      requestBody: { required: true, content: { 'application/json': jsonContent(one.body, 'input') } },
    }),
    ...(one.bytes && {
      requestBody: {
        required: true,
        content: { 'application/octet-stream': { schema: { type: 'string', format: 'binary' } } },
      },
    }),
    responses: {
      ...renderResponses(one),
      default: { description: 'Error', content: { 'application/json': jsonContent(errorShape, 'output') } },
    },
  }
}

const renderResponses = (one: Route | OpenRoute): object =>
  Object.fromEntries(
    Object.entries(one.responses).map(([status, { description, schema, type }]) => [
      status,
      {
        description,
        ...((schema ?? type) && {
          content: {
            ...(schema && { 'application/json': jsonContent(schema, 'output') }),
            ...(type && { [type]: { schema: { type: 'string' } } }),
          },
        }),
      },
    ]),
  )

const renderPathParameters = (path: string): object[] =>
  [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({ name, in: 'path', required: true, schema: { type: 'string' } }))

const renderHeaderParameters = ({ headers = [] }: Route | OpenRoute): object[] =>
  headers.map(({ name, description }) => ({
    name,
    in: 'header',
    required: false,
    description,
    schema: { type: 'string' },
  }))

function renderQueryParameters({ query }: Route | OpenRoute): object[] {
  if (!query) return []
  const { properties = {}, required = [] } = toJsonSchema(query, 'input') as {
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
