/**
 * Creates clients of the official OpenAI SDK for both OpenAI dialects. The SDK builds addresses and headers and makes the
 * errors; streamed calls are sent here.
 */

import { BoundedMap } from '#agent/core/bounded-map.ts'
import type { OpenAI } from 'openai'
import { limitBody } from '../shared/limit-body.ts'
import { sendWithOption } from '../shared/send-option.ts'
import type { Endpoint, SendRequest } from '#agent/core/dialect.ts'

/** The part of the SDK that the dialects use. */
export type OpenAiSdk = { readonly OpenAI: typeof OpenAI; readonly fetch: Fetch }

/** The platform's `fetch`. */
type Fetch = (url: string, init: RequestInit) => Promise<Response>

export type StreamedCall = {
  readonly body: Uint8Array | ReadableStream<Uint8Array>
  readonly signal: AbortSignal
  /** Replaces the platform's `fetch`. */
  readonly send?: SendRequest | undefined
}

export type OpenAiClient = OpenAI & {
  /** Sends a call and returns its response. Throws the errors of the SDK. */
  readonly openStream: (path: string, call: StreamedCall) => Promise<Response>
}

export type GetClient = (endpoint: Endpoint) => OpenAiClient

type BuiltRequest = Awaited<ReturnType<OpenAI['buildRequest']>>

const streamHeaders = { 'content-type': 'application/json', accept: 'text/event-stream' }

/** Limits error bodies, which are read as a whole, and sends through the `send` of a call. */
const boundedClient = ({ OpenAI: Client, fetch: platformFetch }: OpenAiSdk) =>
  class extends Client {
    /** By path: apart from its body, a call is the same each time. */
    readonly #built = new Map<string, Promise<BuiltRequest>>()

    override async fetchWithTimeout(...request: Parameters<OpenAI['fetchWithTimeout']>): Promise<Response> {
      const [url, init, , controller] = request
      return limitBody(await (sendWithOption(url, init, controller) ?? super.fetchWithTimeout(...request)))
    }

    /**
     * The SDK would build the headers again and add a timer, listeners and weak references for each call. Its caller ends a
     * call that takes too long by the signal.
     */
    async openStream(path: string, { body, signal, send }: StreamedCall): Promise<Response> {
      let building = this.#built.get(path)
      if (!building)
        this.#built.set(path, (building = this.buildRequest({ method: 'post', path, headers: streamHeaders })))
      const { url, req } = await building
      const init = { ...req, body, signal } as RequestInit
      const start = async () => (send ? send(new Request(url, init)) : platformFetch(url, init))
      const response = limitBody(await start().catch(throwConnectionError))
      if (response.ok) return response
      const text = await response.text().catch((error: unknown) => String(error))
      const json = parseJson(text)
      throw this.makeStatusError(response.status, json as object, json ? undefined : text, response.headers)
    }
  }

/** `Error.cause` has what the platform says about the connection. */
function throwConnectionError(cause: unknown): never {
  throw Object.assign(new Error('Connection error.', { cause }), { name: 'APIConnectionError' })
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined // The error is made of the text.
  }
}

const requestTimeoutMs = 1_800_000

const maxClients = 200

/** Keeps one client per endpoint, because creating a client takes longer than sending a request. */
export function createClients(sdk: OpenAiSdk): GetClient {
  const BoundedClient = boundedClient(sdk)
  const clients = new BoundedMap<string, OpenAiClient>(maxClients)
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
