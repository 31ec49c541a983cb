/** Matches paths with the routes of a list. */

import type { OpenRoute, ApiRoute } from '../route.ts'

export type KnownRoute = { readonly method: string; readonly path: string; readonly pattern: RegExp }

/** Matches the paths of a route. */
export const compileRoute = ({ path, method }: Pick<ApiRoute | OpenRoute, 'path' | 'method'>): KnownRoute => ({
  method: method.toUpperCase(),
  path: path.replace(/:(\w+)(\{[^}]*\})?/g, '{$1}'),
  pattern: new RegExp(`^${path.replace(/:\w+\{\.[*+]\}/g, '.*').replace(/:\w+/g, '[^/]+')}$`),
})
