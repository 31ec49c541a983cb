/** Stands in for vendors of media: answers requests to their addresses, and records what they are sent. */

import { atFileEnd } from './file-end.ts'

export type VendorCall = {
  readonly method: string
  readonly url: string
  readonly key: string
  readonly body: string
  readonly form: FormData | undefined
}

type Respond = (call: VendorCall) => Response | Promise<Response> | undefined

const hosts =
  /^https:\/\/(?:queue\.fal\.run|files\.fal\.media|api\.elevenlabs\.io|api\.deepgram\.com|api\.groq\.com|generativelanguage\.googleapis\.com|pictures\.example\.org|model\.test\/v1\/(?:images|audio|videos))/

export const vendors = {
  calls: [] as VendorCall[],
  respond: (() => undefined) as Respond,
  begin(respond: Respond): void {
    vendors.calls = []
    vendors.respond = respond
  },
}

atFileEnd(() => vendors.begin(() => undefined))

const keyHeaders = ['authorization', 'x-api-key', 'xi-api-key', 'x-goog-api-key']

async function record(request: Request): Promise<VendorCall> {
  const isForm = request.headers.get('content-type')?.startsWith('multipart/form-data') === true
  const key = keyHeaders.map((name) => request.headers.get(name)).find((value) => value !== null) ?? ''
  const form = isForm ? await request.formData() : undefined
  return { method: request.method, url: request.url, key, form, body: form ? '' : await request.text() }
}

const outside = globalThis.fetch
globalThis.fetch = async (input, init) => {
  // Reading a request of others would take its body away.
  if (!hosts.test(input instanceof Request ? input.url : String(input))) return outside(input, init)
  const request = new Request(input as RequestInfo, init)
  const call = await record(request)
  vendors.calls.push(call)
  return (
    (await vendors.respond(call)) ?? Response.json({ error: { message: `not scripted: ${call.url}` } }, { status: 404 })
  )
}

/** The JSON that a call has sent. */
export const sentTo = (part: string): readonly Record<string, unknown>[] =>
  vendors.calls
    .filter(({ url, method }) => method === 'POST' && url.includes(part))
    .map(({ body }) => JSON.parse(body) as Record<string, unknown>)
