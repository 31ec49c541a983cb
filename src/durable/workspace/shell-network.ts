/** Gives curl, wget and git of the virtual shell a network: the guarded fetch of the tenant. */

import type { Network } from '#backends/virtual/network.ts'
import type { GuardedFetch } from '#durable/platform/guarded-fetch.ts'

export const shellNetwork = (guardedFetch: GuardedFetch): Network => ({
  async fetch({ url, method, headers, body, follow, timeoutMs }, signal) {
    const { response, url: lastUrl } = await guardedFetch({ url, method, headers, body, follow, timeoutMs, signal })
    const { status, statusText } = response
    const bytes = new Uint8Array(await response.arrayBuffer())
    return { status, statusText, headers: Object.fromEntries(response.headers), body: bytes, url: lastUrl }
  },
})
