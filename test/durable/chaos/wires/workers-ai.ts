/**
 * Implements the wire of `workers-ai`: error numbers with texts, and the stream format of models without the OpenAI
 * format.
 */

import { failing, stream } from '../bytes.ts'
import { broken, halved, harmless } from '../outcomes.ts'
import type { Wire } from '../wire.ts'
import { openaiChat } from './openai-chat.ts'

const frame = (fields: object): string => `data: ${JSON.stringify(fields)}\n\n`
const text = (words: string) => frame({ response: words })
const usage = frame({ response: '', usage: { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 } })
const done = 'data: [DONE]\n\n'
const finish = (reason: string) => frame({ choices: [{ index: 0, delta: {}, finish_reason: reason }] })
const reasons = { stop: 'stop', tools: 'tool_calls', filter: 'content_filter' } as const

/** The numbers that stand for what other providers say with a status. */
const numbers: Readonly<Record<number, number>> = {
  400: 5004,
  402: 3036,
  403: 5016,
  404: 5007,
  408: 3007,
  413: 3006,
  500: 3043,
  503: 3040,
}
const failure = (internalCode: number | undefined, description: string) => ({
  name: 'AiError',
  internalCode,
  description,
})

const noKey = 'the binding needs no key'
const noNumber = 'no number stands for it'
const noHeader = 'the binding hands no headers on'
const noAddress = 'the binding has no address'

export const workersAi: Wire = {
  name: 'workers-ai',
  provider: 'workers-ai',
  error: (code, message) => failing(code, failure(numbers[code], message)),
  stream,
  open: [],
  text,
  // Calls come in the form of chat completions: only there can they come in pieces, or with words that are no JSON.
  call: openaiChat.call,
  callBegun: openaiChat.callBegun,
  end: (why) => [finish(reasons[why]), usage, done],
  halfFrame: ['data: {"respon'],
  halfCharacter: ['data: {"response":"Gr', new Uint8Array([0xc3])],
  overloaded: frame({ success: false, errors: [{ code: 3040, message: 'Capacity temporarily exceeded.' }] }),
  failedInside: stream(frame({ success: false, errors: [{ code: 3043, message: 'Internal server error' }] })),
  signsOfLife: { comments: ':\n\n', 'pieces without a word': frame({ response: '' }) },
  refusal: [finish('content_filter'), done],
  unreadable: ['data: {"response":NaN}\n\n', done],
  own: [
    harmless('usage missing', stream(text('All is well.'), finish('stop'), done)),
    harmless('no word on why it ends', stream(text('All is well.'), usage, done)),
    halved('neither [DONE] nor a reason for the end', stream(text('Half of it: '))),
    broken('nothing but the end', stream(done)),
  ],
  cannot: {
    '401': noKey,
    '409': noNumber,
    '422': noNumber,
    '429 with Retry-After in seconds': noHeader,
    '429 with Retry-After as a date': noHeader,
    '429 with an absurd Retry-After': noHeader,
    '529': 'it is 3040, as 503 is',
    refused: noAddress,
    certificate: noAddress,
    'redirect without an end': noAddress,
    'redirect to nowhere': noAddress,
  },
}
