/** Tests the OpenAPI document: each test lists the operations that lack something. */

import { beforeAll, describe, expect, it } from 'vitest'
import { itInTurn } from '#test/support/long.ts'
import type * as z from 'zod'
import { createApp, openRoutes, routes } from '#worker/app.ts'
import { loadOpenapi } from '#worker/routes/open.ts'
import { call } from '../client.ts'
import { exampleOf, fetchDocument, listDescribed, resolveReferences, type Document } from '../document.ts'

type Described = Awaited<ReturnType<typeof listDescribed>>[number]

let document: Document
let operations: readonly Described[]

beforeAll(async () => {
  document = await fetchDocument()
  operations = await listDescribed()
})

const nameOf = ({ method, path }: Described) => `${method.toUpperCase()} ${path}`
const withFault = (hasFault: (one: Described) => boolean) => operations.filter(hasFault).map(nameOf)
const find = (method: string, path: string) => operations.find((one) => one.method === method && one.path === path)
const toPath = (path: string) => path.replace(/:(\w+)(\{[^}]*\})?/g, '{$1}')
const routeOf = ({ method, path }: Described) =>
  [...openRoutes, ...routes].find((one) => one.method === method && toPath(one.path) === path)

describe('the OpenAPI document', () => {
  it('has every route that is mounted, and no other', () => {
    // The part after a path with slashes is found by the handler.
    const listed = operations.map((one) =>
      nameOf(one)
        .replace(/\{\w+\}/g, '*')
        .replace('/files/*/move', '/files/*'),
    )
    const mounted = createApp()
      .routes.filter(({ method }) => method !== 'ALL')
      .map(({ method, path }) => `${method} ${path.replace(/:\w+(\{[^}]*\})?/g, '*')}`)
    expect(listed.toSorted()).toEqual(mounted.toSorted())
  })

  it('has only references that lead somewhere, and every component is in use', () => {
    expect(resolveReferences(document, document).openapi).toBe('3.1.0')
    const text = JSON.stringify(document)
    const unused = Object.keys(document.components.schemas).filter((name) => !text.includes(`/schemas/${name}"`))
    expect(unused).toEqual([])
  })

  itInTurn('is one schema with those that it refers to, when that is asked for', async () => {
    const get = (name: string) => call<Document>('GET', `/openapi.json?schema=${name}`, { key: null })
    const { body } = await get('Settings')
    expect(Object.keys(body)).toEqual(['components'])
    expect(body.components.schemas['Settings']).toEqual(document.components.schemas['Settings'])
    expect(resolveReferences(body.components.schemas['Settings'], body)).toEqual(
      resolveReferences(document.components.schemas['Settings'], document),
    )
    const names = Object.keys(body.components.schemas)
    const text = JSON.stringify(body)
    expect(text.length).toBeLessThan(JSON.stringify(document).length / 10)
    expect(names.filter((name) => name !== 'Settings' && !text.includes(`/schemas/${name}"`))).toEqual([])
    for (const name of ['Setting', 'toString', '']) expect([name, (await get(name)).status]).toEqual([name, 404])
  })

  it('names each operation once, the verb first', () => {
    const verb =
      /^(answer|approve|cancel|choose|compact|compress|count|create|decide|delete|forget|fork|get|import|list|move|pause|receive|replace|restore|resume|retry|rollback|rotate|run|search|send|steer|stop|store|stream|test|undo|update|verify|write)[A-Z]\w+$/
    expect(withFault(({ operationId }) => !verb.test(operationId))).toEqual([])
    expect(new Set(operations.map(({ operationId }) => operationId)).size).toBe(operations.length)
  })

  it('describes every operation, parameter, response and tag', () => {
    expect(withFault(({ description, summary }) => !description || !summary)).toEqual([])
    expect(
      withFault(({ parameters }) => parameters.some((one) => !one.description || exampleOf(one) === undefined)),
    ).toEqual([])
    expect(withFault(({ responses }) => Object.values(responses).some((one) => !one.description))).toEqual([])
    const described = document.tags.flatMap(({ name, description }) => (description ? [name] : []))
    expect(withFault(({ tags }) => !tags.every((tag) => described.includes(tag)))).toEqual([])
  })

  it('has names and descriptions for the parts of every path', () => {
    for (const one of operations) {
      const inPath = one.parameters.filter((parameter) => parameter.in === 'path')
      const parts = [...one.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({ name, required: true }))
      expect([nameOf(one), inPath]).toMatchObject([nameOf(one), parts])
    }
  })

  it('has examples of requests and responses that fit the schemas of the routes', () => {
    const faults = operations.flatMap((one) => {
      const route = routeOf(one)
      const body = route?.body && misfit(route.body, one.requestBody?.content['application/json']?.example)
      const answers = Object.entries(route?.responses ?? {}).map(
        ([status, { schema }]) =>
          schema && misfit(schema, one.responses[status]?.content?.['application/json']?.example),
      )
      return [body, ...answers].flatMap((fault) => (fault ? [`${nameOf(one)}: ${fault}`] : []))
    })
    expect(faults).toEqual([])
  })

  it('has requests with words of their own where a text is required', () => {
    const filled = operations.filter((one) =>
      /(?<!"type":)"text"[,}\]]/.test(JSON.stringify(one.requestBody?.content['application/json']?.example ?? '')),
    )
    expect(filled.map(({ operationId }) => operationId)).toEqual([])
  })

  it('has examples of parameters that fit the schemas of the routes', () => {
    const faults = operations.flatMap((one) => {
      const given = one.parameters.filter((parameter) => parameter.in === 'query')
      const query = Object.fromEntries(given.map((one) => [one.name, String(exampleOf(one))]))
      const fault = given.length ? misfit(routeOf(one)?.query as z.ZodType, query) : undefined
      return fault ? [`${nameOf(one)}: ${fault}`] : []
    })
    expect(faults).toEqual([])
  })

  it('keeps a stream apart from JSON', () => {
    for (const path of ['/v1/chat/completions', '/v1/responses']) {
      const content = find('post', path)?.responses['200']?.content ?? {}
      expect([path, Object.keys(content)]).toEqual([path, ['application/json', 'text/event-stream']])
    }
    const events = withFault(({ responses }) =>
      Object.values(responses).some(({ content = {} }) => content['text/event-stream']?.schema.type === 'string'),
    )
    expect(events).toEqual([])
  })

  it('names the media types that an export has, one for each format', () => {
    const content = find('get', '/api/sessions/{id}/export')?.responses['200']?.content ?? {}
    expect(Object.entries(content).map(([type, { schema }]) => [type, schema.type])).toEqual([
      ['application/json', 'object'],
      ['application/jsonl', 'string'],
      ['text/markdown', 'string'],
      ['text/html', 'string'],
      ['application/pdf', 'string'],
    ])
  })

  it('marks routes that need no key, and names the scope of the others', () => {
    for (const path of ['/health', '/v1/health', '/docs', '/openapi.json'])
      expect([path, find('get', path)?.security]).toEqual([path, []])
    expect(find('get', '/health/detailed')?.security).toEqual([{ key: ['read'] }])
  })

  it('lists the request headers', () => {
    const headersOf = (method: string, path: string) =>
      find(method, path)?.parameters.flatMap((one) => (one.in === 'header' ? [one.name] : []))
    expect(headersOf('post', '/v1/chat/completions')).toEqual([
      'Idempotency-Key',
      'X-Talaria-Session-Id',
      'X-Hermes-Session-Id',
      'X-Talaria-Toolsets',
    ])
    expect(headersOf('get', '/api/sessions/{id}/events')).toEqual(['Last-Event-ID'])
    expect(headersOf('get', '/api/sessions')).toEqual([])
  })

  it('gives every operation with a key the errors of a key', () => {
    const missing = (one: Described) =>
      one.security.length > 0 && ['401', '403', '429'].some((status) => !one.responses[status])
    expect(withFault(missing)).toEqual([])
  })

  it('names the deployment as its server', async () => {
    const { renderDocument } = await loadOpenapi()
    const rendered = JSON.stringify(renderDocument([...routes, ...openRoutes], 'https://agent.example.com'))
    expect(rendered).toContain('"servers":[{"url":"https://agent.example.com"')
    expect(rendered).toContain(`baseURL: 'https://agent.example.com/v1'`)
    expect(rendered).not.toContain('$URL')
    // The format says it, and the pattern of a time has 400 characters.
    expect(rendered).not.toMatch(/"format":"date(?:-time)?","pattern"/)
    // Sent whole to every generator of clients. A jump here is a schema that is written out more than once.
    expect(rendered.length).toBeLessThan(700_000)
  })
})

/** Why a value does not fit a schema. */
function misfit(schema: z.ZodType, value: unknown): string | undefined {
  const { error } = schema.safeParse(value)
  return error && `${error.issues[0]?.path.join('.')}: ${error.issues[0]?.message}`
}
