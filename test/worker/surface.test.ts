/** Tests static files and errors of unknown paths. */

import { createExecutionContext } from 'cloudflare:test'
import { describe, expect, it } from 'vitest'
import { createApp } from '#worker/app.ts'
import { bindings, type ErrorBody } from './client.ts'

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
