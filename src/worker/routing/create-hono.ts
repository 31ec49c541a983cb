/** Creates an application with the middlewares of every request. */

import { Hono } from 'hono'
import { getPath } from 'hono/utils/url'
import { cors } from '../cors.ts'
import { renderError } from '../errors.ts'
import { refuseLoops } from '../refuse-loops.ts'
import { assignRequestId } from '../request-id.ts'
import type { App, OpenRoute, Route } from '../route.ts'

export function createHono(routes: readonly (Route | OpenRoute)[]): App {
  const app: App = new Hono({ getPath: normalizePath })
  app.onError(renderError)
  app.use(assignRequestId)
  app.use(cors)
  app.use(refuseLoops)
  for (const route of routes) route.mount(app)
  return app
}

/** Accepts base addresses that end with a slash or repeat /v1, because clients append their paths to them. */
export function normalizePath(request: Request): string {
  const path = getPath(request)
  if (!/^\/+v1\//.test(path)) return path
  const single = path.replace(/\/{2,}/g, '/').replace(/^(?:\/v1)+(?=\/)/, '/v1')
  return single.endsWith('/') ? single.slice(0, -1) : single
}
