/**
 * Converts errors of the `AI` binding. The binding throws a number and a text ("3040: Capacity temporarily exceeded")
 * without a status: https://developers.cloudflare.com/workers-ai/platform/errors/. The table maps each number to the
 * status and code that the classifier reads.
 */

import { ErrorInBody } from '../shared/error-in-body.ts'

type StatusAndCode = { readonly status: number; readonly code?: string }

const errorNumbers: Readonly<Record<number, StatusAndCode>> = {
  3003: { status: 400 }, // missing headers or body
  3006: { status: 413 }, // request too large
  3007: { status: 408 }, // timeout
  3008: { status: 408 }, // aborted by Workers AI
  3023: { status: 403 }, // account blocked
  3036: { status: 429, code: 'insufficient_quota' }, // daily allocation of neurons used up
  3039: { status: 400 }, // missing fine-tune files
  // Documented as 429, but the limit is the capacity of Workers AI, not the rate of this account.
  3040: { status: 503, code: 'overloaded_error' },
  3041: { status: 403 }, // private model of another account
  3042: { status: 404, code: 'model_not_found' },
  3043: { status: 500 }, // internal error
  4006: { status: 429, code: 'insufficient_quota' }, // daily allocation of neurons used up
  5004: { status: 400 }, // invalid data
  5005: { status: 405 }, // model does not support fine-tunes
  5007: { status: 404, code: 'model_not_found' },
  5016: { status: 403 }, // model terms not accepted
  5018: { status: 403 }, // private model of another account
  5019: { status: 405 }, // SDK version too old
  // AI Gateway guardrails: prompt blocked, response blocked.
  2016: { status: 400, code: 'content_policy_violation' },
  2017: { status: 400, code: 'content_policy_violation' },
}

/** Adds the status and code for the number of the error. Returns other errors unchanged. */
export function toProviderError(error: unknown): Error {
  const text = getMessage(error)
  const number = findErrorNumber(error, text)
  const mapped = number === undefined ? recognizeHtmlPage(text) : errorNumbers[number]
  if (!mapped) return error instanceof Error ? error : new ErrorInBody({ ...(error as object), message: text })
  const converted = new ErrorInBody({ message: text, ...mapped, number })
  return error instanceof Error ? Object.assign(converted, { cause: error }) : converted
}

/** An HTML page comes from a proxy, not from a model. */
const recognizeHtmlPage = (text: string): StatusAndCode | undefined =>
  /^\s*<(!doctype|html)/i.test(text) ? { status: 502 } : undefined

function getMessage(error: unknown): string {
  if (typeof error === 'string') return error
  const message = typeof error === 'object' && error !== null && 'message' in error ? error.message : undefined
  return typeof message === 'string' && message ? message : 'The AI binding failed.'
}

/** Finds the first documented number before a colon. Other numbers may precede it. */
function findErrorNumber(error: unknown, text: string): number | undefined {
  const code = typeof error === 'object' && error !== null && 'code' in error ? Number(error.code) : NaN
  if (code in errorNumbers) return code
  for (const [, digits] of text.matchAll(/\b(\d{4})\s*:/g)) if (Number(digits) in errorNumbers) return Number(digits)
  return undefined
}
