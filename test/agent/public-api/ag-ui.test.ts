/** Tests what user interfaces of AG-UI get of a run: every event fits the schema of the official package. */

import { EventSchemas } from '@ag-ui/core/schemas'
import { describe, expect, it } from 'vitest'
import { AgUiRenderer, readLastMessage, renderAgUiEvent } from '#agent/public-api/ag-ui.ts'

const names = { threadId: 't', runId: 'r' }
const usage = { input: 1, output: 1 }

/** The types of the events, each after its schema was checked. */
function render(...events: readonly object[]): readonly string[] {
  const renderer = new AgUiRenderer(names)
  const rendered = events.flatMap((event) => renderer.render(event as Record<string, unknown>))
  const all = [...renderer.begin(), ...rendered, ...renderer.breakOff()]
  return all.map((event) => {
    const fits = EventSchemas.safeParse(event)
    expect([event, fits.error?.message]).toEqual([event, undefined])
    const { type } = event
    const shown = event['delta'] ?? event['content'] ?? event['message'] ?? event['name'] ?? event['toolCallName']
    return shown === undefined ? type : `${type} ${JSON.stringify(shown)}`
  })
}

const text = (delta: string) => ({ type: 'message.delta', delta })
const done = { type: 'run.completed', output: 'Hello', usage }

describe('a run', () => {
  it.each<[string, readonly object[], readonly string[]]>([
    [
      'that streams its answer',
      [text('Hel'), text('lo'), done],
      [
        'RUN_STARTED',
        'TEXT_MESSAGE_START',
        'TEXT_MESSAGE_CONTENT "Hel"',
        'TEXT_MESSAGE_CONTENT "lo"',
        'TEXT_MESSAGE_END',
        'RUN_FINISHED',
      ],
    ],
    [
      'whose answer comes whole',
      [done],
      ['RUN_STARTED', 'TEXT_MESSAGE_START', 'TEXT_MESSAGE_CONTENT "Hello"', 'TEXT_MESSAGE_END', 'RUN_FINISHED'],
    ],
    [
      'that thinks, calls a tool, and answers',
      [
        { type: 'reasoning.delta', delta: 'Hm' },
        { type: 'tool.started', call_id: 'c1', tool: 'todo', input: { a: 1 } },
        { type: 'tool.progress', call_id: 'c1', delta: 'x' },
        { type: 'tool.completed', call_id: 'c1', tool: 'todo', preview: 'ok' },
        text('Hello'),
        done,
      ],
      [
        'RUN_STARTED',
        'REASONING_START',
        'REASONING_MESSAGE_START',
        'REASONING_MESSAGE_CONTENT "Hm"',
        'REASONING_MESSAGE_END',
        'REASONING_END',
        'TOOL_CALL_START "todo"',
        'TOOL_CALL_ARGS "{\\"a\\":1}"',
        'TOOL_CALL_END',
        'TOOL_CALL_RESULT "ok"',
        'TEXT_MESSAGE_START',
        'TEXT_MESSAGE_CONTENT "Hello"',
        'TEXT_MESSAGE_END',
        'RUN_FINISHED',
      ],
    ],
    [
      'that waits for a person',
      [text('May I?'), { type: 'approval.request', approval_id: 'a' }, done],
      [
        'RUN_STARTED',
        'TEXT_MESSAGE_START',
        'TEXT_MESSAGE_CONTENT "May I?"',
        'TEXT_MESSAGE_END',
        'CUSTOM "approval.request"',
        'RUN_FINISHED',
      ],
    ],
    [
      'that fails',
      [{ type: 'run.failed', error: 'No model.', exit_reason: 'error' }],
      ['RUN_STARTED', 'RUN_ERROR "No model."'],
    ],
    [
      'that is stopped',
      [text('He'), { type: 'run.cancelled' }],
      ['RUN_STARTED', 'TEXT_MESSAGE_START', 'TEXT_MESSAGE_CONTENT "He"', 'TEXT_MESSAGE_END', 'RUN_FINISHED'],
    ],
    ['whose stream breaks off', [], ['RUN_STARTED', 'RUN_ERROR "The stream broke off. The run goes on."']],
    [
      'with events that nobody knows',
      [{ type: 'later.event' }, { type: 'constructor' }, {}, done, text('late')],
      ['RUN_STARTED', 'TEXT_MESSAGE_START', 'TEXT_MESSAGE_CONTENT "Hello"', 'TEXT_MESSAGE_END', 'RUN_FINISHED'],
    ],
  ])('%s', (_, events, expected) => expect(render(...events)).toEqual(expected))
})

it('writes one line of data for each event', () => {
  expect(renderAgUiEvent({ type: 'CUSTOM', value: 'a\nb' })).toBe('data: {"type":"CUSTOM","value":"a\\nb"}\n\n')
})

it.each([
  [
    [
      { role: 'user', content: 'a' },
      { role: 'assistant', content: 'b' },
      { role: 'user', content: 'c' },
    ],
    'c',
  ],
  [[{ role: 'user', content: [{ type: 'text', text: 'a' }, { type: 'image' }, { type: 'text', text: 'b' }] }], 'a\nb'],
  [[{ role: 'assistant', content: 'b' }], undefined],
  [[{ role: 'user', content: 7 }], undefined],
  [[null, 'x'], undefined],
])('reads the last message of %j as %j', (messages, expected) => expect(readLastMessage(messages)).toBe(expected))
