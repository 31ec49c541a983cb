/** Passes the `send` of one call through an SDK client, which is shared by calls. */

import type { SendRequest } from '#agent/core/dialect.ts'

/** The SDKs copy these options into the arguments of `fetch`. */
type SdkOption = { readonly fetchOptions?: { readonly redirect: 'manual' } }

/** Returns the options of an SDK request that is sent by `send`. */
export function sendOption(send: SendRequest | undefined): SdkOption {
  if (!send) return {}
  const fetchOptions = { redirect: 'manual', send } as const
  return { fetchOptions }
}

/** Sends the request of an SDK with the `send` of its call; undefined when the call has none. */
export function sendWithOption(
  url: string | URL | Request,
  init: RequestInit | undefined,
  controller: AbortController,
): Promise<Response> | undefined {
  const { send, signal, ...rest } = (init ?? {}) as RequestInit & { readonly send?: SendRequest }
  if (!send) return undefined
  signal?.addEventListener('abort', () => controller.abort(), { once: true })
  return send(new Request(url, { ...rest, signal: controller.signal }))
}
