/** Builds the answers in which each dialect calls tools, with the arguments as a model writes them. */

import type { RecordedResponse } from './conformance.ts'
import { concatBytes, eventFrame, messageEnd, toolUseBlock } from '../fixtures/bedrock.ts'

/** `json`: the arguments as they are written. */
export type WrittenCall = { readonly id: string; readonly name: string; readonly json: string }
export type AnsweringDialect = 'openai-chat' | 'openai-responses' | 'anthropic' | 'bedrock-converse'
type Answer = (calls: readonly WrittenCall[]) => RecordedResponse

const pieceChars = 7
const splitText = (text: string): readonly string[] => text.match(new RegExp(`[^]{1,${pieceChars}}`, 'gu')) ?? []

const events = (all: readonly object[]): RecordedResponse => ({
  headers: { 'content-type': 'text/event-stream' },
  body: all.map((event) => `data: ${JSON.stringify(event)}\n\n`).join(''),
})
const whole = (body: string): RecordedResponse => ({ headers: { 'content-type': 'application/json' }, body })

/** Renders JSON in which the arguments stand as they are written. */
function renderWithInputs(value: object, calls: readonly WrittenCall[]): string {
  return calls.reduce((json, call, at) => json.replace(`"@${at}"`, () => call.json), JSON.stringify(value))
}

const chatCalls = (calls: readonly WrittenCall[]) =>
  calls.map(({ id, name, json }, index) => ({ index, id, type: 'function', function: { name, arguments: json } }))

const responseItems = (calls: readonly WrittenCall[]) =>
  calls.map(({ id, name, json }, at) => ({
    type: 'function_call',
    id: `fc_${at}`,
    call_id: id,
    name,
    arguments: json,
    status: 'completed',
  }))

const chatUsage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }
const responseUsage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 }

/** Streamed answers: the arguments come in pieces. */
export const streamedAnswers: Readonly<Record<AnsweringDialect, Answer>> = {
  'openai-chat': (calls) =>
    events([
      ...chatCalls(calls).flatMap(({ index, id, type, function: { name, arguments: json } }) => [
        { choices: [{ index: 0, delta: { tool_calls: [{ index, id, type, function: { name, arguments: '' } }] } }] },
        ...splitText(json).map((piece) => ({
          choices: [{ index: 0, delta: { tool_calls: [{ index, function: { arguments: piece } }] } }],
        })),
      ]),
      { choices: [{ index: 0, delta: {}, finish_reason: 'tool_calls' }], usage: chatUsage },
    ]),
  'openai-responses': (calls) =>
    events([
      ...responseItems(calls).flatMap((item, output_index) => [
        { type: 'response.output_item.added', output_index, item: { ...item, arguments: '', status: 'in_progress' } },
        ...splitText(item.arguments).map((delta) => ({
          type: 'response.function_call_arguments.delta',
          output_index,
          item_id: item.id,
          delta,
        })),
        { type: 'response.output_item.done', output_index, item },
      ]),
      { type: 'response.completed', response: { status: 'completed', output: [], usage: responseUsage } },
    ]),
  anthropic: (calls) =>
    events([
      { type: 'message_start', message: { usage: { input_tokens: 1, output_tokens: 1 } } },
      ...calls.flatMap(({ id, name, json }, index) => [
        { type: 'content_block_start', index, content_block: { type: 'tool_use', id, name, input: {} } },
        ...splitText(json).map((partial_json) => ({
          type: 'content_block_delta',
          index,
          delta: { type: 'input_json_delta', partial_json },
        })),
        { type: 'content_block_stop', index },
      ]),
      { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 1 } },
      { type: 'message_stop' },
    ]),
  'bedrock-converse': (calls) => ({
    headers: { 'content-type': 'application/vnd.amazon.eventstream' },
    body: concatBytes(
      eventFrame('messageStart', { role: 'assistant' }),
      ...calls.flatMap(({ id, name, json }, at) => toolUseBlock(at, id, name, ...splitText(json))),
      ...messageEnd('tool_use'),
    ),
  }),
}

/** Streamed answers that are a text. */
export const streamedTexts: Readonly<Record<AnsweringDialect, (text: string) => RecordedResponse>> = {
  'openai-chat': (text) =>
    events([
      { choices: [{ index: 0, delta: { content: text } }] },
      { choices: [{ index: 0, delta: {}, finish_reason: 'stop' }], usage: chatUsage },
    ]),
  'openai-responses': (text) => {
    const place = { output_index: 0, item_id: 'msg_0', content_index: 0 }
    const content = [{ type: 'output_text', text, annotations: [] }]
    const item = { type: 'message', id: 'msg_0', role: 'assistant', status: 'completed', content }
    return events([
      { type: 'response.output_text.delta', ...place, delta: text },
      { type: 'response.output_item.done', output_index: 0, item },
      { type: 'response.completed', response: { status: 'completed', output: [], usage: responseUsage } },
    ])
  },
  anthropic: (text) =>
    events([
      { type: 'message_start', message: { usage: { input_tokens: 1, output_tokens: 1 } } },
      { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text } },
      { type: 'content_block_stop', index: 0 },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 1 } },
      { type: 'message_stop' },
    ]),
  'bedrock-converse': (text) => ({
    headers: { 'content-type': 'application/vnd.amazon.eventstream' },
    body: concatBytes(
      eventFrame('messageStart', { role: 'assistant' }),
      eventFrame('contentBlockDelta', { contentBlockIndex: 0, delta: { text } }),
      eventFrame('contentBlockStop', { contentBlockIndex: 0 }),
      ...messageEnd('end_turn'),
    ),
  }),
}

/** Answers without a stream. Two dialects hold the arguments as an object. */
export const wholeAnswers: Readonly<Record<AnsweringDialect, Answer>> = {
  'openai-chat': (calls) => {
    const message = { role: 'assistant', content: null, tool_calls: chatCalls(calls) }
    return whole(JSON.stringify({ choices: [{ index: 0, message, finish_reason: 'tool_calls' }], usage: chatUsage }))
  },
  'openai-responses': (calls) =>
    whole(JSON.stringify({ status: 'completed', output: responseItems(calls), usage: responseUsage })),
  anthropic: (calls) => {
    const content = calls.map(({ id, name }, at) => ({ type: 'tool_use', id, name, input: `@${at}` }))
    const usage = { input_tokens: 1, output_tokens: 1 }
    const message = { id: 'msg_1', type: 'message', role: 'assistant', content, stop_reason: 'tool_use', usage }
    return whole(renderWithInputs(message, calls))
  },
  'bedrock-converse': (calls) => {
    const content = calls.map(({ id, name }, at) => ({ toolUse: { toolUseId: id, name, input: `@${at}` } }))
    const usage = { inputTokens: 1, outputTokens: 1, totalTokens: 2 }
    return whole(renderWithInputs({ output: { message: { content } }, stopReason: 'tool_use', usage }, calls))
  },
}
