/**
 * What an error of a provider or of the network means, in the vocabulary of the policies. Statuses
 * first, then the words of the message: providers agree on the former more than on the latter.
 */

import { APIConnectionError, APIConnectionTimeoutError, APIError, APIUserAbortError } from 'openai'
import { Dropped } from '../model/dialect.ts'
import type { Failure, FailureKind } from '../model/failure.ts'

const byWords: readonly (readonly [FailureKind, RegExp])[] = [
  [
    'quota',
    /insufficient_quota|insufficient (credits|balance)|credit balance|exceeded your current quota|payment required/i,
  ],
  [
    'too-long',
    /context.?(length|window)|maximum context|prompt is too long|input is too long|too many tokens|reduce the length/i,
  ],
  ['overloaded', /overloaded|at capacity|over capacity/i],
  ['rate', /rate.?limit|too many requests|throttl|try again in/i],
  ['missing-model', /model.{0,40}(not found|does not exist|not exist)|no such model|unknown model|not a valid model/i],
  ['refused', /content.?(policy|filter)|flagged by|safety system/i],
  ['auth', /invalid api key|incorrect api key|unauthorized|authentication/i],
]

const byStatus: Readonly<Record<number, FailureKind>> = {
  401: 'auth',
  402: 'quota',
  403: 'auth',
  404: 'missing-model',
  408: 'network',
  413: 'too-long',
  429: 'rate',
  503: 'overloaded',
  529: 'overloaded',
}

export function classify(error: unknown): Failure {
  if (error instanceof APIUserAbortError || (error instanceof Error && error.name === 'AbortError'))
    return { kind: 'aborted', message: '' }
  if (error instanceof APIConnectionTimeoutError)
    return { kind: 'network', message: 'the provider did not answer in time' }
  if (error instanceof APIConnectionError || error instanceof Dropped || error instanceof TypeError)
    return { kind: 'network', message: messageOf(error) }
  const status = statusOf(error)
  const message = messageOf(error)
  const retryAfterMs = error instanceof APIError ? retryAfter(error.headers) : undefined
  return {
    kind: kindOf(status, message),
    message: message.slice(0, 500),
    ...(status !== undefined && { status }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  }
}

/** Statuses under which providers report more than one thing: the words decide. */
const ambiguous = new Set([400, 404, 413, 429])

function kindOf(status: number | undefined, message: string): FailureKind {
  const words = byWords.find(([, pattern]) => pattern.test(message))?.[0]
  if (status === undefined) return words ?? 'network'
  const plain = byStatus[status] ?? (status >= 500 ? 'overloaded' : 'invalid')
  return ambiguous.has(status) || status >= 500 ? (words ?? plain) : plain
}

const statusOf = (error: unknown): number | undefined =>
  typeof error === 'object' && error !== null && 'status' in error && typeof error.status === 'number'
    ? error.status
    : undefined

const messageOf = (error: unknown): string => {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause.message : ''
  const text = error instanceof Error ? error.message : String(error)
  return cause && !text.includes(cause) ? `${text} ${cause}` : text
}

function retryAfter(headers: Headers | undefined): number | undefined {
  const ms = Number(headers?.get('retry-after-ms') ?? Number.NaN)
  if (ms >= 0) return ms
  const seconds = Number(headers?.get('retry-after') ?? Number.NaN)
  return seconds >= 0 ? seconds * 1_000 : undefined
}
