/** Every answer that a test gets by `call` is held against what the OpenAPI document says of its route. */

import { expect } from 'vitest'
import { openRoutes, routes } from '../../src/worker/app.ts'
import { errorShape } from '../../src/worker/openapi.ts'

const patternOf = (path: string) =>
  new RegExp(`^${path.replace(/:\w+\{\.[*+]\}/g, '.*').replace(/:\w+(\{[^}]*\})?/g, '[^/]+')}$`)
const places = [...openRoutes, ...routes].map((route) => ({ route, pattern: patternOf(route.path) }))

export type Told = { readonly response: Response; readonly text: string }

/** Throws where the answer has a field more or less than described, or a status that is not. */
export function expectDescribed(method: string, pathname: string, { response, text }: Told): void {
  const { route } =
    places.find(({ route: one, pattern }) => one.method.toUpperCase() === method && pattern.test(pathname)) ?? {}
  if (!route) return
  const name = `${method} ${route.path} ${response.status}`
  const described = route.responses[response.status]
  const schema = described?.schema ?? (response.status >= 400 && !described ? errorShape : undefined)
  if (schema) {
    const body: unknown = JSON.parse(text)
    // What is not described is left out by the schema.
    expect([name, body]).toEqual([name, schema.parse(body)])
  } else if (!described?.type) expect([name, described && text]).toEqual([name, ''])
}
