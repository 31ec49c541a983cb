/**
 * Errors of the `AI` binding. It throws a number and words ("3040: Capacity temporarily exceeded") and no status:
 * https://developers.cloudflare.com/workers-ai/platform/errors/. Here each number gets what the classifier reads.
 */

import { ErrorInBody } from '../openai/chat-stream.ts'

type Meaning = { readonly status: number; readonly code?: string }

const meanings: Readonly<Record<number, Meaning>> = {
  3003: { status: 400 }, // headers or body are missing
  3006: { status: 413 }, // the request is too large
  3007: { status: 408 }, // time-out
  3008: { status: 408 }, // aborted on their side
  3023: { status: 403 }, // the account is blocked
  3036: { status: 429, code: 'insufficient_quota' }, // the neurons of the day are used up
  3039: { status: 400 }, // files of a fine-tune are missing
  // Documented as 429, but it is not this account that asked too much.
  3040: { status: 503, code: 'overloaded_error' },
  3041: { status: 403 }, // a private model of others
  3042: { status: 404, code: 'model_not_found' },
  3043: { status: 500 }, // something broke inside
  4006: { status: 429, code: 'insufficient_quota' }, // the neurons of the day are used up
  5004: { status: 400 }, // invalid data
  5005: { status: 405 }, // no fine-tunes of this model
  5007: { status: 404, code: 'model_not_found' },
  5016: { status: 403 }, // the terms of the model are not agreed to
  5018: { status: 403 }, // a private model of others
  5019: { status: 405 }, // the SDK is too old
  // AI Gateway, guardrails: the prompt, the answer.
  2016: { status: 400, code: 'content_policy_violation' },
  2017: { status: 400, code: 'content_policy_violation' },
}

/** What was thrown, with the status and the code that its number stands for. */
export function workersAiFailure(error: unknown): Error {
  const words = messageOf(error)
  const number = numberIn(error, words)
  const meaning = number === undefined ? pageOf(words) : meanings[number]
  if (!meaning) return error instanceof Error ? error : new ErrorInBody({ ...(error as object), message: words })
  const failure = new ErrorInBody({ message: words, ...meaning, number })
  return error instanceof Error ? Object.assign(failure, { cause: error }) : failure
}

/** What comes as a page was not said by a model, but by something on the way to it. */
const pageOf = (words: string): Meaning | undefined =>
  /^\s*<(!doctype|html)/i.test(words) ? { status: 502 } : undefined

function messageOf(error: unknown): string {
  if (typeof error === 'string') return error
  const message = typeof error === 'object' && error !== null && 'message' in error ? error.message : undefined
  return typeof message === 'string' && message ? message : 'The AI binding failed.'
}

/** The first number before a colon that is one of theirs: others may stand before it. */
function numberIn(error: unknown, words: string): number | undefined {
  const code = typeof error === 'object' && error !== null && 'code' in error ? Number(error.code) : NaN
  if (code in meanings) return code
  for (const [, digits] of words.matchAll(/\b(\d{4})\s*:/g)) if (Number(digits) in meanings) return Number(digits)
  return undefined
}
