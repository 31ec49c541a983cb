/** Checks responses against the schemas of their routes, which the OpenAPI document is made of. */

import { expect } from 'vitest'
import { openRoutes, routes } from '#worker/app.ts'
import { errorShape } from '#worker/openapi/error-responses.ts'

const compilePattern = (path: string) =>
  new RegExp(`^${path.replace(/:\w+\{\.[*+]\}/g, '.*').replace(/:\w+(\{[^}]*\})?/g, '[^/]+')}$`)
const documentedRoutes = [...openRoutes, ...routes].map((route) => ({ route, pattern: compilePattern(route.path) }))

export type ReceivedResponse = { readonly response: Response; readonly text: string }

/** Fails when a response has other fields than its schema, or an undocumented status. */
export function expectDocumented(method: string, pathname: string, { response, text }: ReceivedResponse): void {
  const { route } =
    documentedRoutes.find(({ route: one, pattern }) => one.method.toUpperCase() === method && pattern.test(pathname)) ??
    {}
  if (!route) return
  const name = `${method} ${route.path} ${response.status}`
  const described = route.responses[response.status]
  const schema = described?.schema ?? (response.status >= 400 && !described ? errorShape : undefined)
  // Some routes answer with JSON or with bytes.
  const types = [described?.type ?? []].flat()
  const isBytes = types.includes(response.headers.get('content-type') ?? '')
  if (schema && !isBytes) {
    const body: unknown = JSON.parse(text)
    // Parsing drops undocumented fields, so the comparison finds them.
    expect([name, body]).toEqual([name, schema.parse(body)])
  } else if (!described?.type) expect([name, described && text]).toEqual([name, ''])
}
