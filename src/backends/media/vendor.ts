/**
 * Defines the port of a media vendor: functions that turn a request into HTTP and an answer into media. They neither
 * send anything nor know keys of others, so that tables can test them.
 */

import { parseJson } from '#agent/core/parse-json.ts'
import * as z from 'zod'
import { decodeBase64Bytes } from '#agent/core/base64.ts'

/** `baseUrl`: without a slash at its end. */
export type MediaAccess = { readonly baseUrl: string; readonly key: string }

export type MediaRequest = {
  readonly url: string
  readonly method: 'GET' | 'POST'
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | FormData | Uint8Array<ArrayBuffer>
}

/** A call of the Workers AI binding. */
export type BindingCall = { readonly model: string; readonly input: Readonly<Record<string, unknown>> }

/** Media in an answer: in it, or at an address that still has to be read. */
export type MediaSource =
  | { readonly kind: 'bytes'; readonly bytes: Uint8Array<ArrayBuffer> }
  | { readonly kind: 'address'; readonly url: string }

export type MediaFailureKind =
  /** There is no vendor with a key. */
  | 'not_configured'
  /** The vendor refuses the content or the parameters. */
  | 'refused'
  | 'auth'
  | 'rate'
  | 'quota'
  /** A spending limit leaves no room. Nothing was sent. */
  | 'limit'
  /** The request was sent and its answer is lost: it may have been paid. */
  | 'unknown'
  /** It was made and paid, and its file cannot be read. To ask again is useless. */
  | 'unreadable'
  | 'failed'

/** Thrown for an expected failure. The message is for the model and for people, and never contains a key. */
export class MediaFailure extends Error {
  override readonly name = 'MediaFailure'
  readonly kind: MediaFailureKind
  /** Seconds. */
  readonly retryAfter: number | undefined

  constructor(kind: MediaFailureKind, message: string, retryAfter?: number) {
    super(message)
    this.kind = kind
    this.retryAfter = retryAfter
  }
}

export const jsonRequest = (
  url: string,
  body: Readonly<Record<string, unknown>>,
  headers: Readonly<Record<string, string>>,
): MediaRequest => ({
  url,
  method: 'POST',
  headers: { 'content-type': 'application/json', ...headers },
  body: JSON.stringify(body),
})

export const bearer = (key: string): Readonly<Record<string, string>> => ({ authorization: `Bearer ${key}` })

/** Checks the shape of an answer. Vendors answer errors with status 200, and HTML where JSON is expected. */
export function parseAnswer<Shape extends z.ZodType>(vendor: string, shape: Shape, answer: unknown): z.infer<Shape> {
  const { success, data } = shape.safeParse(answer)
  if (success) return data
  const message = errorMessageIn(answer)
  throw message === undefined
    ? new MediaFailure('failed', `${vendor} sent an answer of an unexpected form.`)
    : new MediaFailure('refused', `${vendor}: ${message}`)
}

const maxMessageChars = 300
const errorShape = z.union([
  z.object({ error: z.object({ message: z.string() }) }).transform(({ error }) => error.message),
  z.object({ error: z.string() }).transform(({ error }) => error),
  z.object({ detail: z.object({ message: z.string() }) }).transform(({ detail }) => detail.message),
  z.object({ detail: z.array(z.object({ msg: z.string() })).min(1) }).transform(({ detail }) => detail[0]?.msg ?? ''),
  z.object({ detail: z.string() }).transform(({ detail }) => detail),
  z.object({ err_msg: z.string() }).transform(({ err_msg: message }) => message),
  z.object({ message: z.string() }).transform(({ message }) => message),
])

/** The message of an error as the vendors write it. */
const errorMessageIn = (answer: unknown): string | undefined =>
  errorShape.safeParse(answer).data?.slice(0, maxMessageChars)

/** Decodes media in an answer. Vendors also send what is no base64. */
export function decodeMedia(vendor: string, data: string): Uint8Array<ArrayBuffer> {
  try {
    return decodeBase64Bytes(data)
  } catch {
    throw new MediaFailure('failed', `${vendor} sent media that are not valid base64.`)
  }
}

const failureKinds: Readonly<Record<number, MediaFailureKind>> = {
  400: 'refused',
  401: 'auth',
  402: 'quota',
  403: 'auth',
  404: 'refused',
  413: 'refused',
  422: 'refused',
  429: 'rate',
}

/** Creates the failure for a status that is no success. `text`: the body, which may be JSON. */
export function getFailure(vendor: string, response: Pick<Response, 'status' | 'headers'>, text: string): MediaFailure {
  const { status, headers } = response
  const kind = failureKinds[status] ?? 'failed'
  const retryAfter = Number(headers.get('retry-after'))
  const message = errorMessageIn(parseJson(text)) ?? `it answered with status ${status}`
  return new MediaFailure(kind, `${vendor}: ${message}`, retryAfter > 0 ? retryAfter : undefined)
}
