/** Creates clients of the official OpenAI SDK for both OpenAI dialects. It sends requests and parses errors. */

import { BoundedMap } from '../../model/bounded-map.ts'
import OpenAI from 'openai'
import { limitBody } from '../shared/limit-body.ts'
import type { Endpoint } from '../../model/dialect.ts'

/** The SDK reads whole error bodies. This limits them. */
class BoundedClient extends OpenAI {
  override async fetchWithTimeout(...request: Parameters<OpenAI['fetchWithTimeout']>): Promise<Response> {
    return limitBody(await super.fetchWithTimeout(...request))
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
