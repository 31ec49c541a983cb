/**
 * Dialect `bedrock-converse`: ConverseStream of Amazon Bedrock over plain HTTP, signed with keys of an account
 * or with a bearer key of Bedrock itself.
 */

import { Bounded } from '../../model/bounded.ts'
import { AwsClient } from 'aws4fetch'
import type { Dialect, Endpoint } from '../../model/dialect.ts'
import { bodyOf } from './body.ts'
import { bounded } from '../shared/limit-body.ts'
import { readConverse } from './stream.ts'

/** Sends a request as it is. There is no SDK here that would do it. */
export type Send = (request: Request) => Promise<Response>

export const bedrockConverse = (send: Send): Dialect => ({
  async call(request, endpoint, { signal, ...listening }) {
    const url = `${endpoint.baseUrl.replace(/\/+$/, '')}/model/${encodeURIComponent(request.model)}/converse-stream`
    const init = {
      method: 'POST',
      // An address that was checked must not lead to another one.
      redirect: 'manual' as const,
      headers: {
        ...endpoint.headers,
        'content-type': 'application/json',
        accept: 'application/vnd.amazon.eventstream',
      },
      body: bodyOf(request, endpoint.quirks),
      signal,
    }
    return readConverse(bounded(await send(await authorized(url, init, endpoint))), listening)
  },
})

type Init = RequestInit & { readonly headers: Readonly<Record<string, string>> }

/** `ACCESS_KEY_ID:SECRET[:SESSION_TOKEN]` signs; anything else is a bearer key, which has no colon in it. */
async function authorized(url: string, init: Init, { baseUrl, key }: Endpoint): Promise<Request> {
  const signer = key.includes(':') ? signerFor(key, regionOf(baseUrl)) : undefined
  if (signer) return signer.sign(url, init)
  return new Request(url, { ...init, headers: { ...init.headers, authorization: `Bearer ${key}` } })
}

/** https://bedrock-runtime.<region>.amazonaws.com, with or without more around it. */
export const regionOf = (baseUrl: string): string =>
  /bedrock-runtime[\w-]*\.([a-z\d-]+)\./.exec(baseUrl)?.[1] ?? 'us-east-1'

/** One signer per key and isolate: the key that is derived for a day is kept in it. */
const signers = new Bounded<string, AwsClient>(200)

function signerFor(key: string, region: string): AwsClient {
  const name = `${region} ${key}`
  let signer = signers.get(name)
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
    signers.set(name, signer)
  }
  return signer
}
