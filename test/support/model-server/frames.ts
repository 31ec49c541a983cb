/**
 * Renders a reply once as a template of its response bytes. Each request only inserts its completion id and call ids, so
 * that no JSON is rendered per chunk or request.
 */

import { splitChunks, type Reply } from './reply.ts'

/** Placeholder of the completion id in a template. It cannot occur in JSON. */
const idMark = '\u0001'

export type Frames = {
  /** One entry per chunk of content, split at the id. The first also carries the role. */
  readonly chunks: readonly (readonly string[])[]
  /** All chunks after the first, joined, for replies without timing. */
  readonly rest: readonly string[]
  readonly finish: readonly string[]
  readonly completionTokens: number
}

const event = (choice: string): string =>
  `data: {"id":"chatcmpl-${idMark}","object":"chat.completion.chunk","created":1750000000,"model":"bench",` +
  `"choices":[{"index":0,${choice}}]}\n\n`
const delta = (fields: object): string => event(`"delta":${JSON.stringify(fields)},"finish_reason":null`)

const argumentsOf = (input: unknown): string => (typeof input === 'string' ? input : JSON.stringify(input))
export const callId = (n: number): string => `call_${idMark}_${n}`

const callEvents = (reply: Reply): string[] =>
  (reply.calls ?? []).flatMap(({ name, input }, index) => {
    const json = argumentsOf(input)
    const half = Math.ceil(json.length / 2)
    const call = { index, id: callId(index), type: 'function', function: { name, arguments: '' } }
    const fragments = [json.slice(0, half), json.slice(half)].filter((fragment) => fragment !== '')
    return [
      // JSON.stringify escapes the mark: put it back, it is never sent as it is.
      delta({ tool_calls: [call] }).replaceAll('\\u0001', idMark),
      ...fragments.map((fragment) => delta({ tool_calls: [{ index, function: { arguments: fragment } }] })),
    ]
  })

export const finishOf = (reply: Reply): string => reply.finish ?? (reply.calls?.length ? 'tool_calls' : 'stop')

const make = (reply: Reply): Frames => {
  const role = delta({ role: 'assistant', content: reply.calls?.length ? null : '' })
  const chunks = [
    ...splitChunks(reply.reasoning).map((reasoning_content) => delta({ reasoning_content })),
    ...splitChunks(reply.text).map((content) => delta({ content })),
    ...callEvents(reply),
  ]
  const [first = '', ...others] = chunks
  return {
    chunks: [role + first, ...others].map((chunk) => chunk.split(idMark)),
    rest: others.join('').split(idMark),
    finish: event(`"delta":{},"finish_reason":"${finishOf(reply)}"`).split(idMark),
    completionTokens: chunks.length,
  }
}

const made = new WeakMap<Reply, Frames>()
export const framesOf = (reply: Reply): Frames => {
  const known = made.get(reply)
  if (known) return known
  const frames = make(reply)
  made.set(reply, frames)
  return frames
}

export type Tokens = { readonly prompt: number; readonly completion: number; readonly cached: number }

export const tokensOf = (reply: Reply, bytes: number): Tokens => ({
  prompt: reply.usage?.prompt ?? Math.ceil(bytes / 4),
  completion: reply.usage?.completion ?? framesOf(reply).completionTokens,
  cached: reply.usage?.cached ?? 0,
})

const usageJson = ({ prompt, completion, cached }: Tokens): string =>
  `{"prompt_tokens":${prompt},"completion_tokens":${completion},"total_tokens":${prompt + completion},` +
  `"prompt_tokens_details":{"cached_tokens":${cached}}}`

export const usageFrame = (id: string, tokens: Tokens): string =>
  `data: {"id":"chatcmpl-${id}","object":"chat.completion.chunk","created":1750000000,"model":"bench","choices":[],` +
  `"usage":${usageJson(tokens)}}\n\n`

export const wholeCompletion = (reply: Reply, id: string, tokens: Tokens): string => {
  const calls = (reply.calls ?? []).map(({ name, input }, n) => ({
    id: callId(n).replace(idMark, id),
    type: 'function',
    function: { name, arguments: argumentsOf(input) },
  }))
  const reasoning = splitChunks(reply.reasoning).join('')
  const message = {
    role: 'assistant',
    content: calls.length ? null : splitChunks(reply.text).join(''),
    ...(calls.length && { tool_calls: calls }),
    ...(reasoning && { reasoning_content: reasoning }),
  }
  const choice = { index: 0, message, finish_reason: finishOf(reply) }
  const head = { id: `chatcmpl-${id}`, object: 'chat.completion', created: 1750000000, model: 'bench' }
  return `${JSON.stringify({ ...head, choices: [choice] }).slice(0, -1)},"usage":${usageJson(tokens)}}`
}
