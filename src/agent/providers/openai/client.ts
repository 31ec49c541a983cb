/** The official OpenAI SDK, as both of its dialects use it: it carries requests and errors, and nothing else. */

import { Bounded } from '../../model/bounded.ts'
import OpenAI from 'openai'
import { bounded } from '../shared/limit-body.ts'
import type { Endpoint } from '../../model/dialect.ts'

/** It reads errors by itself. */
class Client extends OpenAI {
  override async fetchWithTimeout(...request: Parameters<OpenAI['fetchWithTimeout']>): Promise<Response> {
    return bounded(await super.fetchWithTimeout(...request))
  }
}

/** One client per endpoint and isolate: building one costs more than a request. */
const clients = new Bounded<string, OpenAI>(200)

export function clientFor({ baseUrl, key, headers }: Endpoint): OpenAI {
  const name = JSON.stringify([baseUrl, key, headers])
  let client = clients.get(name)
  if (!client) {
    client = new Client({
      baseURL: baseUrl,
      apiKey: key || 'none',
      defaultHeaders: headers,
      maxRetries: 0, // we alone retry
      timeout: 1_800_000,
      // An address that was checked must not lead to another one.
      fetchOptions: { redirect: 'manual' },
      dangerouslyAllowBrowser: true,
    })
    clients.set(name, client)
  }
  return client
}
