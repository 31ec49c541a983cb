/** Carries the authority of a request without a body to an object. Only the worker reaches objects, so it is not signed. */

import type { Authority } from '#agent/core/permission/authority.ts'

export const authorityHeader = 'x-talaria-authority'

export const encodeAuthority = (authority: Authority): string => encodeURIComponent(JSON.stringify(authority))

export const decodeAuthority = (header: string | null): Authority | undefined =>
  header === null ? undefined : (JSON.parse(decodeURIComponent(header)) as Authority)
