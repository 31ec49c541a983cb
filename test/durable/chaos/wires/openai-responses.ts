/** Implements the wire of `openai-responses`: events that add, extend and complete items. */

import { failing, stream, whole } from '../bytes.ts'
import { broken, harmless } from '../outcomes.ts'
import type { End, Wire } from '../wire.ts'

const event = (type: string, fields: object = {}): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`

const message = { id: 'msg_1', type: 'message', role: 'assistant' }
const text = (delta: string) =>
  event('response.output_text.delta', { item_id: 'msg_1', output_index: 0, content_index: 0, delta })
const open = [
  event('response.created', { response: { id: 'resp_1', status: 'in_progress', output: [] } }),
  event('response.output_item.added', { output_index: 0, item: { ...message, status: 'in_progress', content: [] } }),
]
const callItem = (index: number, id: string, name: string) => ({
  id: `fc_${index}`,
  type: 'function_call',
  call_id: id,
  name,
})
const begun = (index: number, id: string, name: string, args: string) => [
  event('response.output_item.added', { output_index: index, item: { ...callItem(index, id, name), arguments: '' } }),
  event('response.function_call_arguments.delta', { item_id: `fc_${index}`, output_index: index, delta: args }),
]
const counts = { input_tokens: 100, output_tokens: 10, total_tokens: 110, input_tokens_details: { cached_tokens: 40 } }
const completed = event('response.completed', { response: { id: 'resp_1', status: 'completed', usage: counts } })
const filtered = event('response.incomplete', {
  response: { id: 'resp_1', status: 'incomplete', incomplete_details: { reason: 'content_filter' }, usage: counts },
})
const ends: Readonly<Record<End, string>> = { stop: completed, tools: completed, filter: filtered }
const said = [...open, text('All is well.')]

export const openaiResponses: Wire = {
  name: 'openai-responses',
  error: (code, message_, headers) => failing(code, { error: { message: message_ } }, headers),
  stream,
  open,
  text,
  call: (index, id, name, args) => [
    ...begun(index + 1, id, name, args),
    event('response.output_item.done', {
      output_index: index + 1,
      item: { ...callItem(index + 1, id, name), arguments: args, status: 'completed' },
    }),
  ],
  callBegun: (id, name, args) => begun(1, id, name, args),
  end: (why) => [ends[why]],
  halfFrame: ['event: response.output_text.delta\ndata: {"type":"respon'],
  halfCharacter: ['data: {"type":"response.output_text.delta","output_index":0,"delta":"Gr', new Uint8Array([0xc3])],
  overloaded: event('error', { code: 'overloaded_error', message: 'Overloaded' }),
  failedInside: whole('{"status":"failed","error":{"code":"server_error","message":"Broken."}}', 'application/json'),
  signsOfLife: { comments: ':\n\n', 'events without a word': event('response.queued') },
  refusal: [
    event('response.refusal.delta', { item_id: 'msg_1', output_index: 0, content_index: 0, delta: 'I cannot.' }),
    completed,
  ],
  unreadable: ['event: response.output_text.delta\ndata: {"type":"response.output_text.delta","delta":NaN}\n\n'],
  own: [
    harmless('usage missing', stream(...said, event('response.completed', { response: { status: 'completed' } }))),
    harmless('events that nobody knows', stream(...said, event('response.hologram.delta', { delta: 'x' }), completed)),
    broken('an answer that is over and has not ended', stream(...open, 'data: [DONE]\n\n')),
  ],
}
