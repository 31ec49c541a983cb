/**
 * Dialect `anthropic`: the Messages API, streamed, of Anthropic and of the hosts that speak as it does. The
 * SDK carries requests and errors; the body is put together and the stream is read here.
 */

import { Bounded } from '../../model/bounded.ts'
import { cancelled } from '../shared/abort-error.ts'
import { BaseAnthropic } from '@anthropic-ai/sdk/client'
import type { Dialect, Endpoint } from '../../model/dialect.ts'
import { sealerOf } from './blocks.ts'
import { bodyOf } from './body.ts'
import { bounded } from '../shared/limit-body.ts'
import { readMessages } from './stream.ts'

export const anthropic: Dialect = {
  async call(request, endpoint, { signal, ...listening }) {
    const by = sealerOf(request.model, endpoint.baseUrl)
    const response = await clientFor(endpoint)
      .post('/v1/messages', {
        body: bodyOf(request, endpoint.quirks, by),
        headers: {
          'content-type': 'application/json',
          accept: 'text/event-stream',
          ...betaHeader(endpoint, request.repairs?.longContext === 'off'),
        },
        stream: true,
        signal,
      })
      .asResponse()
      .catch(cancelled(signal))
    return readMessages(response, listening, by)
  },
}

/**
 * The version that every host of this dialect knows, and under which a temperature may be given. Later ones
 * are asked for by the provider's profile, as a header.
 */
const version = '2023-06-01'

/** It reads errors by itself. */
class Client extends BaseAnthropic {
  override async fetchWithTimeout(...request: Parameters<BaseAnthropic['fetchWithTimeout']>): Promise<Response> {
    return bounded(await super.fetchWithTimeout(...request))
  }
}

/** One client per endpoint and isolate: building one costs more than a request. */
const clients = new Bounded<string, BaseAnthropic>(200)

/** The client without its resources, a third of the whole: paths and bodies are ours. */
function clientFor({ baseUrl, key, headers, quirks }: Endpoint): BaseAnthropic {
  const name = JSON.stringify([baseUrl, key, headers, quirks?.bearer])
  let client = clients.get(name)
  if (!client) {
    const isBearer = quirks?.bearer === true
    const secret = key || 'none'
    client = new Client({
      baseURL: baseUrl.replace(/\/v1(\/messages)?\/?$/, ''),
      ...(isBearer ? { authToken: secret } : { apiKey: secret }),
      defaultHeaders: {
        'anthropic-version': version,
        // By itself the SDK says `Authorization` for both, which not every host of this dialect reads.
        ...(!isBearer && { 'x-api-key': secret, authorization: null }),
        ...headers,
      },
      maxRetries: 0, // we alone retry
      timeout: 1_800_000,
      // An address that was checked must not lead to another one.
      fetchOptions: { redirect: 'manual' },
      // Spans and log lines would copy headers and bodies for nobody.
      openTelemetry: false,
      logLevel: 'off',
    })
    clients.set(name, client)
  }
  return client
}

const betas = 'anthropic-beta'

/** The beta of the long window is left out for accounts that may not use it. */
function betaHeader({ headers }: Endpoint, isShort: boolean): Readonly<Record<string, string | null>> {
  const name = Object.keys(headers).find((header) => header.toLowerCase() === betas)
  if (!isShort || name === undefined) return {}
  const left = (headers[name] ?? '').split(',').filter((beta) => !beta.trim().startsWith('context-1m'))
  return { [betas]: left.join(',') || null }
}
