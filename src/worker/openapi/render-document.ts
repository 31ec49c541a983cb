/** Renders the OpenAPI document from the route records, which also mount and validate the routes. */

import type { ApiRoute, OpenRoute } from '../route.ts'
import { apiVersion } from '#agent/public-api/version.ts'
import { Components, type Json, refTo } from './components.ts'
import { listErrorKinds, renderErrorReferences, renderErrorResponses } from './error-responses.ts'
import { renderHeaderParameters, renderPathParameters, renderQueryParameters, SharedParameters } from './parameters.ts'
import { samples } from './samples.ts'
import type * as z from 'zod'
import { chunkShape, responseEvents } from './openai-events.ts'
import { sessionEvents } from './session-events.ts'
import { tenantEvents } from './tenant-events.ts'

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
  const { id, scope, summary, tag, description: text } = route
  const body = renderBody(route, components)
  return {
    operationId: id,
    summary,
    // The summary is not said again: the document is sent whole.
    description: [text, scope === null ? 'Needs no key.' : `Needs a key with the scope \`${scope}\`.`]
      .filter((part) => part !== undefined)
      .join('\n\n'),
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

const textFormOf = (properties: Json, required: readonly string[]): Json => ({
  'application/x-www-form-urlencoded': { schema: { type: 'object', properties, required } },
})

const clientFields: Json = { client_id: shortText, client_secret: shortText }

const formBodies: Readonly<Record<string, Json>> = {
  '/oauth/authorize': textFormOf(
    {
      action: { type: 'string', enum: ['allow', 'deny', 'sign-in', 'sign-out'] },
      grant: { type: 'array', items: shortText, description: 'The scopes that the person allows.' },
      key: { ...shortText, description: 'For `sign-in`.' },
      holder: { ...shortText, description: 'The person of the page.' },
    },
    ['action'],
  ),
  '/oauth/token': textFormOf(
    {
      ...clientFields,
      grant_type: { type: 'string', enum: ['authorization_code', 'refresh_token'] },
      code: shortText,
      redirect_uri: shortText,
      code_verifier: shortText,
      refresh_token: shortText,
      resource: shortText,
    },
    ['grant_type'],
  ),
  '/oauth/revoke': textFormOf({ ...clientFields, token: shortText }, ['token']),
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
      ...Object.fromEntries([type ?? []].flat().map((one) => [one, renderMedia(one, path)])),
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
  if (type === 'application/json') return { schema: { type: 'object' } }
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

const discriminated = 'The data of one server-sent event. `type` is the name of the event.'

/** Adds the events of each kind of stream to the components: one component per event, and a union of them. */
function addStreams(components: Components): void {
  components.add('ChatCompletionChunk', components.convert(chunkShape, 'output'))
  addUnion(components, 'SessionEvent', sessionEvents)
  addUnion(components, 'TenantEvent', tenantEvents, 'Tenant')
  addUnion(components, 'ResponseStreamEvent', responseEvents)
}

function addUnion(
  components: Components,
  name: string,
  events: Readonly<Record<string, z.ZodType>>,
  prefix = '',
): void {
  const members = Object.entries(events).map(([type, schema]) =>
    components.add(`${prefix}${toPascalCase(type)}Event`, components.convert(schema, 'output')),
  )
  components.add(name, { description: discriminated, oneOf: members.map(refTo) })
}

/** The schema of the events of a stream. OpenAPI 3.1 describes the data of one event. */
const getEvent = (path: string): Json => {
  if (path === '/v1/chat/completions') return refTo('ChatCompletionChunk')
  if (path === '/api/events') return refTo('TenantEvent')
  return refTo(path.startsWith('/v1/responses') ? 'ResponseStreamEvent' : 'SessionEvent')
}

const toPascalCase = (word: string): string =>
  word.replace(/(?:^|[^A-Za-z0-9]+)(\w?)/g, (_, letter: string) => letter.toUpperCase())

const descriptions: Readonly<Record<string, string>> = {
  OpenAI: 'The API of OpenAI. Official SDKs and clients work unchanged: set the base URL to `/v1` of this deployment.',
  Runs: 'Runs that outlive their request. Every run of the tenant is found here by its id, wherever it began.',
  Sessions: 'Conversations with their workspaces: list, create, change, copy, shorten, export, delete.',
  Chat: 'Messages to a session, its events, and the runs that answer.',
  Files: 'The workspace of a session, and files by signed links.',
  Checkpoints: 'Earlier states of a workspace, and the way back to them.',
  Approvals: 'Tool calls that a person has to allow.',
  Questions: 'Questions of the agent that a person has to answer.',
  Search: 'Full text over the history of the tenant.',
  'MCP server': 'The agent for MCP clients, and the sign-in of apps that use it.',
  'Other agents': 'The agent for other agents, by the protocol A2A.',
  Apps: 'Apps that people have connected to the MCP server.',
  Tools: 'Tools and toolsets of the agent, and what missing ones need.',
  Skills: 'Instructions for kinds of work that the agent loads when it needs them.',
  'MCP servers': 'Servers whose tools the agent uses.',
  Projects: 'Sessions with common instructions, files, a model and members.',
  'Outgoing webhooks': 'Requests to other services about what happens in sessions.',
  Plugins: 'Code of the tenant that adds tools and hooks.',
  Memory: 'Facts that the agent keeps between sessions, and profiles of the people it works for.',
  Batches: 'Many prompts, each in a session of its own, within one budget.',
  Jobs: 'Prompts and scripts that run at their times, and the records of their runs.',
  Settings: 'Preferences and policy of the tenant.',
  Credentials: 'Provider keys of the tenant, and secrets for commands. They are write-only.',
  Vault: 'Logins and addresses that browsers fill in, and profiles that keep their logins. Values are write-only.',
  Browser: 'The browser of a session as a person sees it, and their hands in it.',
  Push: 'Messages to browsers that are not open: what waits for a person, and ends of runs.',
  Channels: 'Connections to messaging platforms, their webhooks, and the people who may write.',
  Webhooks: 'Addresses to which other services deliver events, and what happens with them.',
  Keys: 'Keys of the tenant, for its own scripts and devices.',
  Usage: 'Tokens, cost and limits of the tenant, and the hosts that its agents call.',
  'Sign-in': 'The cookie of the page, links that sign in once, and the rights of a key.',
  Audit: 'Who did and decided what.',
  Administration: 'Tenants, keys and login rules, for the owner of the deployment.',
  Health: 'Whether the deployment works, and what it has.',
  Documents: 'This document.',
}

/** The tags in use. One without a description comes last. */
function renderTags(used: ReadonlySet<string>): readonly object[] {
  const known = Object.keys(descriptions).filter((name) => used.has(name))
  const others = [...used].filter((name) => !Object.hasOwn(descriptions, name))
  return [...known, ...others].map((name) => ({
    name,
    ...(Object.hasOwn(descriptions, name) && { description: descriptions[name] }),
  }))
}

const time = '2026-11-22T10:00:00.000Z'
const maxDepth = 8

type Examples = { readonly components: Components; readonly requiredOnly: boolean }

/**
 * Makes examples from schemas. A named schema may say the fields that mean something (`nameSchemas`); every other field
 * gets the smallest value that fits.
 */
function makeExample(schema: Json, examples: Examples, depth = 0): unknown {
  const resolved = examples.components.resolve(schema)
  const key = ['example', 'const', 'default'].find((one) => one in resolved)
  if (key !== undefined) return resolved[key]
  if (Array.isArray(resolved['enum'])) return resolved['enum'][0] as unknown
  if (depth > maxDepth || typesOf(resolved).includes('null')) return null
  const choices = listChoices(resolved)
  if (!choices.length) return makeOfType(resolved, examples, depth)
  return choices.some((one) => one['type'] === 'null') ? null : makeExample(choices[0] ?? {}, examples, depth + 1)
}

const listChoices = ({ oneOf, anyOf, allOf }: Json) => (oneOf ?? anyOf ?? allOf ?? []) as readonly Json[]

const typesOf = ({ type }: Json): readonly string[] => (Array.isArray(type) ? type : [type]).map(String)

function makeOfType(schema: Json, examples: Examples, depth: number): unknown {
  switch (typesOf(schema)[0]) {
    case 'object':
      return makeObject(schema, examples, depth)
    case 'array':
      return schema['maxItems'] === 0 ? [] : [makeExample((schema['items'] ?? {}) as Json, examples, depth + 1)]
    case 'integer':
    case 'number':
      return Math.max(Number(schema['minimum'] ?? 0), Number(schema['exclusiveMinimum'] ?? -1) + 1)
    case 'boolean':
      return false
    case 'string':
      return makeString(schema)
    default:
      return {}
  }
}

function makeString({ format, minLength = 0 }: Json): string {
  if (format === 'date-time') return time
  return format === 'date' ? '2026-11-22' : 'text'.padEnd(Number(minLength), 't')
}

/** Optional fields of responses are shown only where a value says something. */
function makeObject(schema: Json, examples: Examples, depth: number): Json {
  const { properties = {}, required = [] } = schema as {
    properties?: Record<string, Json>
    required?: readonly string[]
  }
  const known = examples.components.knownFields(schema)
  const isShown = (field: string) => required.includes(field) || (field in known && !examples.requiredOnly)
  const shown = Object.entries(properties).filter(([field]) => isShown(field))
  return Object.fromEntries(
    shown.map(([field, one]) => [field, field in known ? known[field] : makeExample(one, examples, depth + 1)]),
  )
}
