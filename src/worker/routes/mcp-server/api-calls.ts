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
  readonly headers?: Readonly<Record<string, string>>
}

export type CallApi = (call: ApiCall) => Promise<Response>

/** By the operations that they have. */
const apps = new WeakMap<ReadonlySet<string>, App>()

/** `ids`: the operations that may be called. */
export function openApi(
  routes: readonly ApiRoute[],
  ids: ReadonlySet<string>,
  { web, identity }: { readonly web: RequestContext; readonly identity: Identity },
): CallApi {
  const api = apps.get(ids) ?? createApi(routes.filter(({ id }) => ids.has(id)))
  apps.set(ids, api)
  return async ({ method, path, body, headers }) => {
    const url = new URL(path, web.req.url)
    // A part `..` of an id or a path would name another route.
    if (url.pathname !== path.replace(/\?.*$/s, '')) return renderError(notFound())
    const request = new Request(url, {
      method,
      headers: { ...headers, 'content-type': 'application/json', 'x-request-id': web.get('requestId') },
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
