/** Sends requests of media vendors, and reads what they answer, with limits of time and size. */

import type { MediaChoice } from '#agent/routing/media-vendors.ts'
import { parseJson } from '#agent/core/parse-json.ts'
import { detectMediaType, type DetectedType } from '#agent/core/media/detect-media-type.ts'
import {
  type BindingCall,
  getFailure,
  MediaFailure,
  type MediaSource,
  type MediaAccess,
  type MediaRequest,
} from '#backends/media/vendor.ts'
import type { AiBinding } from '#agent/providers/workers-ai/workers-ai.ts'
import type { GuardedFetch } from '#durable/platform/guarded-fetch.ts'

export type MediaTransport = {
  readonly env: Pick<Env, 'AI' | 'AI_GATEWAY_ID'>
  readonly guardedFetch: GuardedFetch
  readonly signal?: AbortSignal | undefined
}

export type MadeFile = DetectedType & { readonly bytes: Uint8Array<ArrayBuffer> }

const sendTimeoutMs = 240_000
const downloadTimeoutMs = 120_000
/** An object has 128 MB for the answer, what is decoded of it, and everything else. */
const maxAnswerBytes = 32 * 1024 * 1024
const maxFileBytes = 32 * 1024 * 1024

/** A refusal of one key says nothing about the next one, and nothing was paid. */
const keyFailures: ReadonlySet<string> = new Set(['auth', 'quota', 'rate'])

type SendOptions = { readonly vendor: string; readonly timeoutMs?: number; readonly maxBytes?: number }

/** Sends a request with one key after the other, and returns the first answer that is no error. */
export async function askVendor(
  transport: MediaTransport,
  choice: Pick<MediaChoice, 'baseUrl' | 'keys'>,
  create: (access: MediaAccess) => MediaRequest,
  options: SendOptions,
): Promise<Response> {
  let failure = new MediaFailure('not_configured', `${options.vendor} has no key.`)
  for (const key of choice.keys) {
    const answer = await send(transport, create({ baseUrl: choice.baseUrl, key }), options)
    if (!(answer instanceof MediaFailure)) return answer
    failure = answer
    if (!keyFailures.has(failure.kind)) break
  }
  throw failure
}

async function send(
  { guardedFetch, signal }: MediaTransport,
  { url, method, headers, body }: MediaRequest,
  { vendor, timeoutMs = sendTimeoutMs, maxBytes = maxAnswerBytes }: SendOptions,
): Promise<Response | MediaFailure> {
  try {
    const limits = { timeoutMs, maxBytes, isTrusted: true, ports: 'service' } as const
    const { response } = await guardedFetch({ url, method, headers, body, signal, ...limits })
    return response.ok ? response : getFailure(vendor, response, await response.text())
  } catch (error) {
    throw lostAnswer(vendor, error)
  }
}

const lostAnswer = (vendor: string, error: unknown): MediaFailure =>
  new MediaFailure(
    'unknown',
    `The answer of ${vendor} is lost (${error instanceof Error ? error.message.slice(0, 200) : 'no reason'}). It may have been paid, so it is not asked again by itself.`,
  )

export async function readJson(vendor: string, response: Response): Promise<unknown> {
  const text = await response.text().catch((error: unknown) => {
    throw lostAnswer(vendor, error)
  })
  const answer = parseJson(text)
  if (answer === undefined) throw new MediaFailure('failed', `${vendor} answered with something that is no JSON.`)
  return answer
}

export async function readBytes(vendor: string, response: Response): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = await response.arrayBuffer().catch((error: unknown) => {
    throw lostAnswer(vendor, error)
  })
  return new Uint8Array(bytes)
}

/** Reads media that an answer has or names. An address in an answer is one of a stranger. */
export async function readSource(
  { guardedFetch, signal }: MediaTransport,
  vendor: string,
  source: MediaSource,
): Promise<Uint8Array<ArrayBuffer>> {
  if (source.kind === 'bytes') return source.bytes
  try {
    const { response } = await guardedFetch({
      url: source.url,
      follow: true,
      signal,
      timeoutMs: downloadTimeoutMs,
      maxBytes: maxFileBytes,
    })
    if (response.ok) return new Uint8Array(await response.arrayBuffer())
    throw new FileRefused(response.status)
  } catch (error) {
    const reason = error instanceof Error ? error.message.slice(0, 300) : 'no reason'
    const kind = isFinalRefusal(error) ? 'unreadable' : 'unknown'
    throw new MediaFailure(kind, `${vendor} has made it, but it could not be read: ${reason}.`)
  }
}

class FileRefused extends Error {
  readonly status: number
  constructor(status: number) {
    super(`its server answered ${status}`)
    this.status = status
  }
}

/** Statuses after which the same file may come later. */
const passingStatuses: ReadonlySet<number> = new Set([408, 423, 425, 429])

/** An address that may not be called stays so, and so does a file that is too large, not there or not for us. */
const isFinalRefusal = (error: unknown): boolean =>
  error instanceof FileRefused
    ? error.status >= 400 && error.status < 500 && !passingStatuses.has(error.status)
    : error instanceof Error && (error.name === 'BlockedAddress' || error.name === 'ResponseTooLarge')

/** Refuses bytes that are not of this kind, whatever the answer calls them. */
export function requireType(vendor: string, bytes: Uint8Array<ArrayBuffer>, kind: string): MadeFile {
  const type = detectMediaType(bytes)
  if (type?.mime.startsWith(`${kind}/`)) return { ...type, bytes }
  throw new MediaFailure('unreadable', `${vendor} sent something that is no ${kind} of a known format.`)
}

/** Calls a model of Workers AI. Its answer is a stream of bytes or JSON. */
export async function runBinding(
  { env, signal }: MediaTransport,
  { model, input }: BindingCall,
): Promise<{ readonly bytes: Uint8Array<ArrayBuffer> } | { readonly json: unknown }> {
  if (!env.AI) throw new MediaFailure('not_configured', 'The deployment has no binding AI.')
  const binding = env.AI as unknown as AiBinding
  const gateway = env.AI_GATEWAY_ID ? { gateway: { id: env.AI_GATEWAY_ID } } : {}
  const answer = await binding.run(model, input, { ...gateway, ...(signal && { signal }) }).catch((error: unknown) => {
    throw new MediaFailure('failed', `Workers AI: ${error instanceof Error ? error.message.slice(0, 300) : 'failed'}`)
  })
  if (answer instanceof ReadableStream) return { bytes: await readBytes('Workers AI', new Response(answer)) }
  return answer instanceof Uint8Array ? { bytes: new Uint8Array(answer) } : { json: answer }
}
