/**
 * Calls routes of this API for a client of another protocol, as the same key. Scopes, limits, validation and errors are
 * those of the route, because the route itself answers.
 */

import { Hono } from 'hono'
import type { Identity } from '#agent/core/permission/roles.ts'
import { vouchFor } from '../../auth.ts'
import { notFound, renderError } from '../../errors.ts'
import type { ApiRoute, App, RequestContext } from '../../route.ts'

export type ApiCall = {
  readonly method: 'GET' | 'POST' | 'PATCH'
  /** With its query. */
  readonly path: string
  readonly body?: object
}

export type CallApi = (call: ApiCall) => Promise<Response>

let app: App | undefined

/** `ids`: the operations that may be called. */
export function openApi(
  routes: readonly ApiRoute[],
  ids: ReadonlySet<string>,
  { web, identity }: { readonly web: RequestContext; readonly identity: Identity },
): CallApi {
  const api = (app ??= createApi(routes.filter(({ id }) => ids.has(id))))
  return async ({ method, path, body }) => {
    const url = new URL(path, web.req.url)
    // A part `..` of an id or a path would name another route.
    if (url.pathname !== path.replace(/\?.*$/s, '')) return renderError(notFound())
    const request = new Request(url, {
      method,
      headers: { 'content-type': 'application/json', 'x-request-id': web.get('requestId') },
      ...(body && { body: JSON.stringify(body) }),
    })
    vouchFor(request, identity)
    return api.fetch(request, web.env, web.executionCtx)
  }
}

function createApi(routes: readonly ApiRoute[]): App {
  const created: App = new Hono()
  created.onError(renderError)
  created.notFound(() => renderError(notFound()))
  created.use(async (context, next) => {
    context.set('requestId', context.req.header('x-request-id') ?? '')
    await next()
  })
  for (const route of routes) route.mount(created)
  return created
}
