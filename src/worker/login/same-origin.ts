/** Recognises requests of our own page, by headers that no script can set. */

import { isLocalHost } from '#agent/core/local-address.ts'

type Headed = Pick<Request, 'headers' | 'url' | 'method'>

/** Whether the request comes from a page of another origin. Clients without a browser send neither header. */
export function isForeign({ headers, url }: Headed): boolean {
  const site = headers.get('sec-fetch-site')
  if (site !== null) return site !== 'same-origin' && site !== 'none'
  const origin = headers.get('origin')
  return origin !== null && origin !== new URL(url).origin
}

/** Whether a page of another origin sends the request, or one whose name resolves to this server. */
export function isForeignPage(request: Headed, publicUrl: string | undefined): boolean {
  const host = publicUrl && URL.parse(publicUrl)?.host
  const { host: asked, hostname } = new URL(request.url)
  return isForeign(request) || (Boolean(host) && asked !== host && !isLocalHost(hostname))
}

/** Whether a cookie counts. `none` is an address that a person has entered: it may only read. */
export function isSameOrigin({ headers, url, method }: Headed): boolean {
  const site = headers.get('sec-fetch-site')
  if (site !== null) return site === 'same-origin' || (site === 'none' && method === 'GET')
  return isOwnOrigin({ headers, url })
}

/** Browsers always send the origin of a WebSocket. */
export const isOwnOrigin = ({ headers, url }: Omit<Headed, 'method'>): boolean =>
  headers.get('origin') === new URL(url).origin
