import type OpenAI from 'openai'
import { describe, expect, it } from 'vitest'
import type { Event, SessionEvent, RunEnded } from '../../../src/agent/model/event.ts'
import { noUsage } from '../../../src/agent/model/usage.ts'
import { type ResponseHead } from '../../../src/agent/public-api/responses.ts'
import { createResponseRenderer } from '../../../src/agent/public-api/responses-stream.ts'

const head: ResponseHead = {
  id: 'resp_1.ses_1',
  createdAt: 1,
  model: 'talaria',
  previousId: null,
  conversation: null,
  instructions: null,
  metadata: {},
  background: false,
}
type StreamEvent = OpenAI.Responses.ResponseStreamEvent

/** Renders the events of a run and parses the result as a client does. */
function render(...events: readonly Event[]): readonly StreamEvent[] {
  const renderEvent = createResponseRenderer(head)
  const output = events
    .map((event, at) =>
      renderEvent({ ...event, seq: at + 1, at: '', run_id: 'run_1', session_id: 'ses_1' } as SessionEvent),
    )
    .join('')
  return output
    .split('\n\n')
    .filter(Boolean)
    .map((frame) => {
      const [, name, data = ''] = /^event: (\S+)\ndata: (.*)$/s.exec(frame) ?? []
      const event = JSON.parse(data) as StreamEvent
      expect(event.type).toBe(name)
      return event
    })
}
const runStarted: Event = { type: 'run.started', input: 'hi' }
const text = (delta: string): Event => ({ type: 'message.delta', delta })
const end = (output: string, more: Partial<RunEnded> = {}): Event => ({
  type: 'run.completed',
  output,
  usage: { ...noUsage, input: 70, cachedRead: 30, output: 20, reasoning: 5 },
  exit_reason: 'answered',
  completed: true,
  ...more,
})
const toolStarted: Event = { type: 'tool.started', call_id: 'c1', tool: 'look', input: { at: 'a' } }
const toolCompleted: Event = {
  type: 'tool.completed',
  call_id: 'c1',
  tool: 'look',
  failed: false,
  duration_ms: 1,
  preview: 'a tree',
}
const finalResponse = (events: readonly StreamEvent[]) => {
  const last = events.at(-1)
  return last && 'response' in last ? last.response : undefined
}

describe('createResponseRenderer()', () => {
  it('adds, extends and closes every item, with increasing sequence numbers', () => {
    const events = render(runStarted, { type: 'reasoning.delta', delta: 'hm' }, text('Hel'), text('lo'), end('Hello'))
    expect(events.map(({ type }) => type.replace('response.', ''))).toEqual([
      'created',
      'in_progress',
      'output_item.added',
      'reasoning_summary_part.added',
      'reasoning_summary_text.delta',
      'reasoning_summary_text.done',
      'reasoning_summary_part.done',
      'output_item.done',
      'output_item.added',
      'content_part.added',
      'output_text.delta',
      'output_text.delta',
      'output_text.done',
      'content_part.done',
      'output_item.done',
      'completed',
    ])
    expect(events.map(({ sequence_number: n }) => n)).toEqual(events.map((_event, at) => at))
    expect(finalResponse(events)).toMatchObject({
      id: 'resp_1.ses_1',
      status: 'completed',
      output: [
        { type: 'reasoning', summary: [{ text: 'hm' }] },
        { type: 'message', status: 'completed', content: [{ type: 'output_text', text: 'Hello' }] },
      ],
      usage: { input_tokens: 100, input_tokens_details: { cached_tokens: 30 }, output_tokens: 20, total_tokens: 120 },
    })
  })

  it('renders tool calls and results as completed items between messages', () => {
    const events = render(runStarted, text('I look.'), toolStarted, toolCompleted, text('A tree.'), end('A tree.'))
    expect(finalResponse(events)?.output.map((item) => [item.type, 'status' in item && item.status])).toEqual([
      ['message', 'completed'],
      ['function_call', 'completed'],
      ['function_call_output', 'completed'],
      ['message', 'completed'],
    ])
    expect(finalResponse(events)?.output[1]).toMatchObject({ call_id: 'c1', name: 'look', arguments: '{"at":"a"}' })
    expect(finalResponse(events)?.output[2]).toMatchObject({ call_id: 'c1', output: 'a tree' })
    const places = events.flatMap((event) => ('output_index' in event ? [event.output_index] : []))
    expect(new Set(places)).toEqual(new Set([0, 1, 2, 3]))
  })

  it('omits an abandoned answer from the final response', () => {
    const events = render(
      runStarted,
      text('Wro'),
      { type: 'turn.restarted', from_seq: 1, reason: 'x' },
      text('Right'),
      end('Right'),
    )
    const done = events.flatMap((event) => (event.type === 'response.output_item.done' ? [event.item] : []))
    expect(done.map((item) => 'status' in item && item.status)).toEqual(['incomplete', 'completed'])
    expect(finalResponse(events)?.output).toHaveLength(1)
    expect(finalResponse(events)?.output[0]).toMatchObject({ content: [{ text: 'Right' }] })
  })

  it('adds the output when it was not streamed', () => {
    const events = render(runStarted, text('I look.'), toolStarted, toolCompleted, end('Nothing there.'))
    expect(events.filter(({ type }) => type === 'response.output_text.delta')).toMatchObject([
      { delta: 'I look.' },
      { delta: 'Nothing there.' },
    ])
    expect(finalResponse(events)?.output.at(-1)).toMatchObject({ content: [{ text: 'Nothing there.' }] })
  })

  it.each<readonly [string, Partial<RunEnded>, string, object]>([
    [
      'failed',
      { type: 'run.failed', completed: false, error: 'No.' },
      'response.failed',
      { error: { message: 'No.' } },
    ],
    [
      'out of budget',
      { completed: false, exit_reason: 'out_of_budget' },
      'response.incomplete',
      { status: 'incomplete', incomplete_details: { reason: 'max_messages' } },
    ],
    [
      'cut off',
      { completed: false, exit_reason: 'partial' },
      'response.incomplete',
      { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } },
    ],
    ['stopped', { type: 'run.cancelled', completed: false }, 'response.incomplete', { status: 'cancelled' }],
  ])('ends according to the run: %s', (_name, more, type, expected) => {
    const events = render(runStarted, text('half'), end('half', more))
    expect(events.at(-1)?.type).toBe(type)
    expect(finalResponse(events)).toMatchObject(expected)
  })
})
