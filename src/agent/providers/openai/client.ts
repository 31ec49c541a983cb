/** Creates clients of the official OpenAI SDK for both OpenAI dialects. It sends requests and parses errors. */

import { BoundedMap } from '../../model/bounded-map.ts'
import OpenAI from 'openai'
import { limitBody } from '../shared/limit-body.ts'
import { sendWithOption } from '../shared/send-option.ts'
import type { Endpoint } from '../../model/dialect.ts'

/** Limits error bodies, which the SDK reads as a whole, and sends through the `send` of a call. */
class BoundedClient extends OpenAI {
  override async fetchWithTimeout(...request: Parameters<OpenAI['fetchWithTimeout']>): Promise<Response> {
    const [url, init, , controller] = request
    return limitBody(await (sendWithOption(url, init, controller) ?? super.fetchWithTimeout(...request)))
  }
}

const requestTimeoutMs = 1_800_000

/** One client per endpoint and isolate, because creating a client takes longer than sending a request. */
const clients = new BoundedMap<string, OpenAI>(200)

export function getClient({ baseUrl, key, headers }: Endpoint): OpenAI {
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
