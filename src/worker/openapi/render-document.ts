/** Renders the OpenAPI document from the route records, which also mount and validate the routes. */

import type { OpenRoute, ApiRoute } from '../route.ts'
import { apiVersion } from '#agent/public-api/version.ts'
import { Components, type Json } from './components.ts'
import { listErrorKinds, renderErrorReferences, renderErrorResponses } from './error-responses.ts'
import { makeExample } from './examples.ts'
import { renderHeaderParameters, renderPathParameters, renderQueryParameters, SharedParameters } from './parameters.ts'
import { samples } from './samples.ts'
import { addStreams, getEvent, toPascalCase } from './streams.ts'
import { renderTags } from './tags.ts'

const eventStream = 'text/event-stream'

const description = `An always-on AI agent at the edge.

Send your key as \`Authorization: Bearer KEY\`. Errors are \`{"error": {"message", "type", "code", "param"}}\`. Lists are
\`{"data": […], "next_cursor"}\`; pass \`next_cursor\` as \`cursor\` to get the next page. A POST that starts work can be
repeated safely with an \`Idempotency-Key\`.`

const headers: Json = {
  'Retry-After': { description: 'Seconds after which to try again.', schema: { type: 'integer' }, example: 30 },
  'Idempotency-Replayed': {
    description: '`true`: this is the answer of an earlier request with the same key.',
    schema: { type: 'string', const: 'true' },
  },
  'X-Talaria-Session-Id': {
    description: 'The session that answered. Send it back to continue there.',
    schema: { type: 'string' },
  },
  'X-Talaria-Run-Id': { description: 'The run that answered.', schema: { type: 'string' } },
}

type AnyRoute = ApiRoute | OpenRoute
type DocumentedRoute = {
  readonly route: AnyRoute
  readonly path: string
  readonly responses: Json
}

export function renderDocument(routes: readonly AnyRoute[], origin: string): Json {
  const components = new Components()
  const shared = new SharedParameters()
  const operations = listOperations(routes).map((one) => ({ ...one, responses: renderResponses(one, components) }))
  addStreams(components)
  const responses = renderErrorResponses(components)
  const paths: Record<string, Record<string, Json>> = {}
  for (const one of operations)
    paths[one.path] = { ...paths[one.path], [one.route.method]: renderOperation(one, components, shared) }
  const withAddress = JSON.parse(JSON.stringify(paths).replaceAll('$URL', origin)) as Json
  return {
    openapi: '3.1.0',
    info: {
      title: 'Talaria',
      version: apiVersion,
      summary: 'An always-on AI agent at the edge',
      description,
      contact: { name: 'The operator of this deployment', url: origin },
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: origin, description: 'This deployment' }],
    security: [{ key: [] }],
    tags: renderTags(new Set(routes.map(({ tag }) => tag))),
    paths: withAddress,
    components: {
      securitySchemes: {
        key: {
          type: 'http',
          scheme: 'bearer',
          description: 'A key of the tenant, or a token of its identity provider.',
        },
      },
      schemas: components.render(),
      parameters: shared.render(),
      headers,
      responses,
    },
  }
}

export function listOperations(routes: readonly AnyRoute[]): readonly Omit<DocumentedRoute, 'responses'>[] {
  return routes.map((route) => {
    const path = route.path.replace(/:(\w+)(\{[^}]*\})?/g, '{$1}')
    return { route, path }
  })
}

function renderOperation(
  { route, path, responses }: DocumentedRoute,
  components: Components,
  shared: SharedParameters,
): Json {
  const { id, scope, summary, tag, description: text = `${summary}.` } = route
  const body = renderBody(route, components)
  return {
    operationId: id,
    summary,
    description: `${text}\n\n${scope === null ? 'Needs no key.' : `Needs a key with the scope \`${scope}\`.`}`,
    tags: [tag],
    security: scope === null ? [] : [{ key: [scope] }],
    parameters: [
      ...renderPathParameters(route, path),
      ...renderQueryParameters(route, components, shared),
      ...renderHeaderParameters(route, shared),
    ],
    ...(body && { requestBody: { required: true, content: body } }),
    responses: { ...responses, ...renderErrorReferences(listErrorKinds(route, path)) },
    ...(samples[id] && { 'x-codeSamples': samples[id] }),
  }
}

function renderBody({ id, body, bytes, path, example }: AnyRoute, components: Components): Json | undefined {
  if (body) {
    const schema = components.convertAs(`${toPascalCase(id)}Request`, body, 'input')
    const shown = example ?? makeExample(schema, { components, requiredOnly: true })
    return { 'application/json': { schema, example: shown } }
  }
  if (!bytes) return undefined
  return formBodies[path] ?? { 'application/octet-stream': { schema: binary } }
}

const binary = { type: 'string', format: 'binary' }
const shortText = { type: 'string' }
const formOf = (properties: Json, required: readonly string[]): Json => ({
  'multipart/form-data': { schema: { type: 'object', properties, required } },
})

const formBodies: Readonly<Record<string, Json>> = {
  '/v1/files': formOf(
    {
      file: binary,
      purpose: { type: 'string', description: 'For example `assistants`.' },
      'expires_after[anchor]': { type: 'string', const: 'created_at' },
      'expires_after[seconds]': { type: 'integer' },
    },
    ['file', 'purpose'],
  ),
  '/v1/images/edits': formOf(
    {
      image: { type: 'array', items: binary, maxItems: 16, description: 'PNG, JPEG or WebP. Also `image[]`.' },
      mask: { ...binary, description: 'The part to change. Only `openai` takes one.' },
      prompt: shortText,
      model: shortText,
      n: { type: 'integer', minimum: 1, maximum: 10 },
      size: shortText,
      quality: shortText,
      background: shortText,
      output_format: { type: 'string', enum: ['png', 'jpeg', 'webp'] },
      input_fidelity: { type: 'string', enum: ['high', 'low'] },
    },
    ['image', 'prompt'],
  ),
}

/** A stream and JSON are two media types of a response, so that clients get the one they asked for. */
function renderResponses({ route, path }: Omit<DocumentedRoute, 'responses'>, components: Components): Json {
  const answers = Object.entries(route.responses).map(([status, { description: text, schema, type }]) => {
    const isError = Number(status) >= 400
    const content = {
      ...(schema && { 'application/json': renderJson(schema, route.id, components) }),
      ...(type && { [type]: renderMedia(type, path) }),
      ...(isError && !schema && { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } }),
    }
    const sent = isError ? undefined : listHeaders(route, path)
    return [
      status,
      { description: text, ...(sent && { headers: sent }), ...(Object.keys(content).length && { content }) },
    ]
  })
  return Object.fromEntries(answers) as Json
}

function renderJson(
  schema: NonNullable<ApiRoute['responses'][number]['schema']>,
  id: string,
  components: Components,
): Json {
  const shown = components.convertAs(`${toPascalCase(id)}Result`, schema, 'output')
  return { schema: shown, example: makeExample(shown, { components, requiredOnly: false }) }
}

function renderMedia(type: string, path: string): Json {
  if (type === eventStream) return { schema: getEvent(path) }
  return { schema: type === 'application/octet-stream' ? binary : { type: 'string' } }
}

function listHeaders({ headers: accepted = [] }: AnyRoute, path: string): Json | undefined {
  const names = [
    ...(accepted.some(({ name }) => name === 'Idempotency-Key') ? ['Idempotency-Replayed'] : []),
    ...(path === '/v1/chat/completions' ? ['X-Talaria-Session-Id', 'X-Talaria-Run-Id'] : []),
  ]
  if (!names.length) return undefined
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))
}
