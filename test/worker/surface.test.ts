/** Tests static files, errors of unknown paths, and the OpenAPI document. */

import { createExecutionContext } from 'cloudflare:test'
import { describe, expect, it } from 'vitest'
import { createApp } from '../../src/worker/app.ts'
import { bindings, call, type ErrorBody } from './client.ts'

describe('paths without a route', () => {
  const files: Pick<Fetcher, 'fetch'> = {
    fetch: async (request) => {
      const { method, url } = request as Request
      if (new URL(url).pathname !== '/index.html') return new Response(null, { status: 404 })
      return method === 'GET' ? new Response('a page') : new Response(null, { status: 405 })
    },
  }
  const ask = async (method: string, path: string) =>
    createApp().fetch(
      new Request(`https://talaria.test${path}`, { method }),
      { ...bindings, ASSETS: files as Fetcher },
      createExecutionContext(),
    )

  it('static files are served', async () => {
    expect(await (await ask('GET', '/index.html')).text()).toBe('a page')
  })

  it.each([
    ['GET', '/nothing', 404],
    ['GET', '/api', 404],
    ['POST', '/index.html', 404],
    ['GET', '/webhooks/x', 404],
    ['POST', '/health', 405],
    ['PUT', '/docs', 405],
    ['POST', '/health/detailed', 405],
    ['POST', '/health/other', 404],
  ])('%s %s is an error like every other', async (method, path, status) => {
    const answer = await ask(method, path)
    const { error } = await answer.json<ErrorBody>()
    expect([answer.status, error.code]).toEqual([status, status === 404 ? 'not_found' : 'method_not_allowed'])
    expect(answer.headers.get('allow')).toBe(status === 405 ? 'GET' : null)
  })
})

describe('the OpenAPI document', () => {
  type Operation = {
    readonly security?: readonly object[]
    readonly parameters: readonly { readonly name: string; readonly in: string }[]
    readonly responses: Record<string, { readonly content?: Record<string, object> }>
  }
  type Paths = Record<string, Record<string, Operation>>
  const paths = async () => (await call<{ paths: Paths }>('GET', '/openapi.json', { key: null })).body.paths
  const operation = async (method: string, path: string) => (await paths())[path]?.[method]
  const headersOf = async (method: string, path: string) =>
    (await operation(method, path))?.parameters.flatMap((one) => (one.in === 'header' ? [one.name] : []))

  it('describes no response as an empty object', async () => {
    const empty = Object.entries(await paths()).flatMap(([path, methods]) =>
      Object.values(methods)
        .flatMap(({ responses }) => Object.values(responses))
        .filter(({ content = {} }) => JSON.stringify(content).includes('"properties":{},"additionalProperties":false'))
        .map(() => path),
    )
    expect(empty).toEqual([])
  })

  it('has every route that is mounted, and no other', async () => {
    const listed = Object.entries(await paths()).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path.replace(/\{\w+\}/g, '*')}`),
    )
    const mounted = createApp()
      .routes.filter(({ method }) => method !== 'ALL')
      .map(({ method, path }) => `${method} ${path.replace(/:\w+(\{[^}]*\})?/g, '*')}`)
    expect(listed.toSorted()).toEqual(mounted.toSorted())
  })

  it('marks routes that need no key', async () => {
    for (const path of ['/health', '/v1/health', '/docs', '/openapi.json'])
      expect([path, (await operation('get', path))?.security]).toEqual([path, []])
    expect((await operation('get', '/health/detailed'))?.security).toBe(undefined)
  })

  it('lists the request headers', async () => {
    expect(await headersOf('post', '/v1/chat/completions')).toEqual([
      'Idempotency-Key',
      'X-Talaria-Session-Id',
      'X-Hermes-Session-Id',
      'X-Talaria-Toolsets',
    ])
    expect(await headersOf('get', '/api/sessions/{id}/events')).toEqual(['Last-Event-ID'])
    expect(await headersOf('get', '/api/sessions')).toEqual([])
  })

  it('lists both response types of streamable routes', async () => {
    for (const path of ['/v1/chat/completions', '/v1/responses']) {
      const content = (await operation('post', path))?.responses['200']?.content ?? {}
      expect([path, Object.keys(content)]).toEqual([path, ['application/json', 'text/event-stream']])
    }
  })
})
