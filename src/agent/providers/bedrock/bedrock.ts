/**
 * Implements the dialect `bedrock-converse`: ConverseStream of Amazon Bedrock over HTTP. It signs requests with AWS
 * access keys, or sends a Bedrock API key as a bearer token.
 */

import { BoundedMap } from '#agent/core/bounded-map.ts'
import { AwsClient } from 'aws4fetch'
import type { Dialect, Endpoint, SendRequest } from '#agent/core/dialect.ts'
import { renderConverseBody } from './body.ts'
import { limitBody } from '../shared/limit-body.ts'
import { readConverseReply, readConverseStream } from './stream.ts'

/** `platformSend` is the platform's `fetch`: `src/agent` has no access to the network. */
export const bedrockConverse = (platformSend: SendRequest): Dialect => ({
  async call(request, endpoint, { signal, send = platformSend, ...readOptions }) {
    const isWhole = request.repairs?.stream === 'off'
    const path = `/model/${encodeURIComponent(request.model)}/${isWhole ? 'converse' : 'converse-stream'}`
    const url = endpoint.baseUrl.replace(/\/+$/, '') + path
    const init = {
      method: 'POST',
      // The base URL was checked before. A redirect would bypass that check.
      redirect: 'manual' as const,
      headers: {
        ...endpoint.headers,
        'content-type': 'application/json',
        accept: isWhole ? 'application/json' : 'application/vnd.amazon.eventstream',
      },
      body: renderConverseBody(request, endpoint.quirks),
      signal,
    }
    const response = limitBody(await send(await authorize(url, init, endpoint)))
    return (isWhole ? readConverseReply : readConverseStream)(response, readOptions)
  },
})

type Init = RequestInit & { readonly headers: Readonly<Record<string, string>> }

/** A key `ACCESS_KEY_ID:SECRET[:SESSION_TOKEN]` signs the request. A key without a colon is a bearer token. */
async function authorize(url: string, init: Init, { baseUrl, key, region = 'us-east-1' }: Endpoint): Promise<Request> {
  const signer = key.includes(':') ? getSigner(key, parseRegion(baseUrl) ?? region) : undefined
  if (signer) return signer.sign(url, init)
  return new Request(url, { ...init, headers: { ...init.headers, authorization: `Bearer ${key}` } })
}

/** Parses the region of `https://bedrock-runtime.<region>.amazonaws.com`, also with a prefix or suffix. */
export const parseRegion = (baseUrl: string): string | undefined =>
  /bedrock-runtime[\w-]{0,20}\.([a-z\d-]{1,40})\./.exec(baseUrl)?.[1]

/** One signer per key and isolate, because it caches the signing key that it derives for each day. */
const signers = new BoundedMap<string, AwsClient>(200)

function getSigner(key: string, region: string): AwsClient {
  const cacheKey = `${region} ${key}`
  let signer = signers.get(cacheKey)
  if (!signer) {
    const [accessKeyId = '', secretAccessKey = '', sessionToken] = key.split(':')
    signer = new AwsClient({
      accessKeyId,
      secretAccessKey,
      ...(sessionToken && { sessionToken }),
      service: 'bedrock',
      region,
      retries: 0,
    })
    signers.set(cacheKey, signer)
  }
  return signer
}
