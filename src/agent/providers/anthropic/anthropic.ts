/**
 * Implements the dialect `anthropic`: the streamed Messages API of Anthropic and compatible hosts. The official SDK
 * sends requests and parses errors. The body is rendered and the stream is read here.
 */

import { BoundedMap } from '#agent/core/bounded-map.ts'
import { rethrowAsAbort } from '../shared/abort-error.ts'
import type { BaseAnthropic } from '@anthropic-ai/sdk/client'
import type { Dialect, Endpoint } from '#agent/core/dialect.ts'
import { resolveSealIssuer } from './blocks.ts'
import { renderMessagesBody } from './body.ts'
import { limitBody } from '../shared/limit-body.ts'
import { requestBodies } from '../shared/request-bodies.ts'
import { sendOption, sendWithOption } from '../shared/send-option.ts'
import { readMessagesStream } from './stream.ts'

/** The part of the SDK that the dialect uses. */
export type AnthropicSdk = { readonly BaseAnthropic: typeof BaseAnthropic }

export const createAnthropic = (sdk: AnthropicSdk): Dialect => ({
  async call(request, endpoint, { signal, send, ...readOptions }) {
    const issuer = resolveSealIssuer(request.model, endpoint.baseUrl)
    const post = (body: object) =>
      getClient(endpoint, sdk)
        .post('/v1/messages', {
          ...sendOption(send),
          body,
          headers: {
            'content-type': 'application/json',
            accept: 'text/event-stream',
            ...renderBetaHeader(endpoint, request.repairs?.longContext === 'off'),
          },
          stream: true,
          signal,
        })
        .asResponse()
    const render = () => renderMessagesBody(request, endpoint.quirks, issuer)
    const response = await requestBodies.send(render, post, readOptions.sleep).catch(rethrowAsAbort(signal))
    return readMessagesStream(response, readOptions, issuer)
  },
})

/**
 * All compatible hosts support this version, and it accepts a temperature. A provider's profile can set a later version
 * as a header.
 */
const apiVersion = '2023-06-01'

/** Limits error bodies, which the SDK reads as a whole, and sends through the `send` of a call. */
const boundedClient = ({ BaseAnthropic: Client }: AnthropicSdk) =>
  class extends Client {
    override async fetchWithTimeout(...request: Parameters<BaseAnthropic['fetchWithTimeout']>): Promise<Response> {
      const [url, init, , controller] = request
      return limitBody(await (sendWithOption(url, init, controller) ?? super.fetchWithTimeout(...request)))
    }
  }

const requestTimeoutMs = 1_800_000

/** One client per endpoint and isolate, because creating a client takes longer than sending a request. */
const clients = new BoundedMap<string, BaseAnthropic>(200)

/** Uses the base client without its resource classes, which would triple the bundled code. */
function getClient({ baseUrl, key, headers, quirks }: Endpoint, sdk: AnthropicSdk): BaseAnthropic {
  const name = JSON.stringify([baseUrl, key, headers, quirks?.bearer])
  let client = clients.get(name)
  if (!client) {
    const isBearer = quirks?.bearer === true
    const apiKey = key || 'none'
    const BoundedClient = boundedClient(sdk)
    client = new BoundedClient({
      baseURL: baseUrl.replace(/\/v1(\/messages)?\/?$/, ''),
      ...(isBearer ? { authToken: apiKey } : { apiKey }),
      defaultHeaders: {
        'anthropic-version': apiVersion,
        // The SDK alone sends an API key as `Authorization`, which some hosts do not read.
        ...(!isBearer && { 'x-api-key': apiKey, authorization: null }),
        ...headers,
      },
      maxRetries: 0, // the turn machine decides about retries
      timeout: requestTimeoutMs,
      // The base URL was checked before. A redirect would bypass that check.
      fetchOptions: { redirect: 'manual' },
      // Nothing reads the spans and log lines, and they copy headers and bodies.
      openTelemetry: false,
      logLevel: 'off',
    })
    clients.set(name, client)
  }
  return client
}

const betaHeaderName = 'anthropic-beta'

/** Removes the beta of the long context window for accounts without access to it. */
function renderBetaHeader({ headers }: Endpoint, isLongContextOff: boolean): Readonly<Record<string, string | null>> {
  const name = Object.keys(headers).find((header) => header.toLowerCase() === betaHeaderName)
  if (!isLongContextOff || name === undefined) return {}
  const remainingBetas = (headers[name] ?? '').split(',').filter((beta) => !beta.trim().startsWith('context-1m'))
  return { [betaHeaderName]: remainingBetas.join(',') || null }
}
