/**
 * Refuses requests to hosts outside of this machine that no stand-in has answered, without looking the host up: no result
 * of a test depends on the network.
 */

const local = /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/
export const isOutside = ({ protocol, hostname }: URL): boolean => /^https?:$/.test(protocol) && !local.test(hostname)
const behind = globalThis.fetch

globalThis.fetch = async (input: RequestInfo | URL, init?: RequestInit) => {
  const url = new URL(input instanceof Request ? input.url : String(input))
  if (!isOutside(url)) return behind(input, init)
  const method = (init?.method ?? (input instanceof Request ? input.method : 'GET')).toUpperCase()
  throw new TypeError(
    `${method} ${url.origin}${url.pathname} is outside of this machine: give it a stand-in (test/support)`,
  )
}
