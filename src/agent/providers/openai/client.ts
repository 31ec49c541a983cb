/** Creates clients of the official OpenAI SDK for both OpenAI dialects. It sends requests and parses errors. */

import { BoundedMap } from '#agent/core/bounded-map.ts'
import type { OpenAI } from 'openai'
import { limitBody } from '../shared/limit-body.ts'
import { sendWithOption } from '../shared/send-option.ts'
import type { Endpoint } from '#agent/core/dialect.ts'

/** The part of the SDK that the dialects use. */
export type OpenAiSdk = { readonly OpenAI: typeof OpenAI }

export type GetClient = (endpoint: Endpoint) => OpenAI

/** Limits error bodies, which the SDK reads as a whole, and sends through the `send` of a call. */
const boundedClient = ({ OpenAI: Client }: OpenAiSdk) =>
  class extends Client {
    override async fetchWithTimeout(...request: Parameters<OpenAI['fetchWithTimeout']>): Promise<Response> {
      const [url, init, , controller] = request
      return limitBody(await (sendWithOption(url, init, controller) ?? super.fetchWithTimeout(...request)))
    }
  }

const requestTimeoutMs = 1_800_000

const maxClients = 200

/** Keeps one client per endpoint, because creating a client takes longer than sending a request. */
export function createClients(sdk: OpenAiSdk): GetClient {
  const BoundedClient = boundedClient(sdk)
  const clients = new BoundedMap<string, OpenAI>(maxClients)
  return ({ baseUrl, key, headers }) => {
    const cacheKey = JSON.stringify([baseUrl, key, headers])
    let client = clients.get(cacheKey)
    if (!client) {
      client = new BoundedClient({
        baseURL: baseUrl,
        apiKey: key || 'none',
        defaultHeaders: headers,
        maxRetries: 0, // the turn machine decides about retries
        timeout: requestTimeoutMs,
        // The base URL was checked before. A redirect would bypass that check.
        fetchOptions: { redirect: 'manual' },
        dangerouslyAllowBrowser: true,
      })
      clients.set(cacheKey, client)
    }
    return client
  }
}
