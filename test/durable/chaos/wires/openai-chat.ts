/** Implements the wire of `openai-chat`: server-sent chunks. */

import { failing, stream, whole } from '../bytes.ts'
import { broken, halved, harmless } from '../outcomes.ts'
import type { Wire } from '../wire.ts'

/** One frame with these fields beside `choices`. */
export const frame = (choice: object, more: object = {}): string =>
  `data: ${JSON.stringify({ id: 'c', object: 'chat.completion.chunk', choices: [{ index: 0, ...choice }], ...more })}\n\n`
export const text = (content: string, more: object = {}): string => frame({ delta: { content } }, more)
export const finish = (reason = 'stop'): string => frame({ delta: {}, finish_reason: reason })
export const usage = (fields: object): string => `data: ${JSON.stringify({ choices: [], usage: fields })}\n\n`
export const done = 'data: [DONE]\n\n'
/** A fragment of a call, its arguments exactly as written here. */
export const fragment = (index: number, id: string, name: string, args: string): string =>
  frame({ delta: { tool_calls: [{ index, id, type: 'function', function: { name, arguments: args } }] } })

const reasons = { stop: 'stop', tools: 'tool_calls', filter: 'content_filter' } as const
const counts = { prompt_tokens: 100, completion_tokens: 10, prompt_tokens_details: { cached_tokens: 40 } }
const answerText = text('All is well.')

const bytewise = (content: string) =>
  stream(...[...new TextEncoder().encode(content)].map((byte) => new Uint8Array([byte])))

export const openaiChat: Wire = {
  name: 'openai-chat',
  error: (code, message, headers) => failing(code, { error: { message } }, headers),
  stream,
  open: [],
  text,
  call: (index, id, name, args) => [fragment(index, id, name, args)],
  callBegun: (id, name, args) => [fragment(0, id, name, args)],
  end: (why) => [finish(reasons[why]), usage(counts), done],
  halfFrame: ['data: {"id":"c","choi'],
  halfCharacter: ['data: {"choices":[{"delta":{"content":"Gr', new Uint8Array([0xc3])],
  overloaded: 'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n',
  failedInside: whole('{"error":{"message":"Upstream failed.","code":502}}', 'application/json'),
  signsOfLife: { comments: ':\n\n', 'chunks without a word': 'data: {"id":"c","choices":[]}\n\n' },
  refusal: [frame({ delta: { refusal: 'I cannot help with that.' } }), finish(), done],
  unreadable: ['data: {"id":"c","created":NaN,"choices":[{"index":0,"delta":{"content":"x"}}]}\n\n', done],
  own: [
    broken('no choices', stream('data: {"id":"c","choices":[]}\n\n', done)),
    harmless('no [DONE]', stream(answerText, finish())),
    halved('neither [DONE] nor a reason for the end', stream(text('Half of it: '))),
    harmless('usage missing', stream(answerText, finish(), done)),
    harmless('usage null', stream(answerText, finish(), 'data: {"choices":[],"usage":null}\n\n', done)),
    harmless(
      'model switched in the middle',
      stream(text('All is', { model: 'a' }), text(' well.', { model: 'b' }), finish(), done),
    ),
    harmless('an answer in bytes', bytewise(`${answerText}${finish()}${done}`)),
  ],
}

/** Counts that cannot be: taken with the answer, but never into the books. */
export const absurdUsage: readonly (readonly [name: string, frame: string])[] = [
  ['negative', usage({ prompt_tokens: -5, completion_tokens: -7, prompt_tokens_details: { cached_tokens: -3 } })],
  [
    'more from the cache than there was',
    usage({ prompt_tokens: 5, completion_tokens: 1, prompt_tokens_details: { cached_tokens: 9 } }),
  ],
  ['huge', usage({ prompt_tokens: 1e308, completion_tokens: 1e308 })],
  ['infinite', 'data: {"choices":[],"usage":{"prompt_tokens":1e999,"completion_tokens":1e999}}\n\n'],
  ['words', usage({ prompt_tokens: 'many', completion_tokens: '12' })],
]
