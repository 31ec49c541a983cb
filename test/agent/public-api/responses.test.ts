import type OpenAI from 'openai'
import { describe, expect, it } from 'vitest'
import type { Event, PlacedEvent, RunEnded } from '../../../src/agent/model/event.ts'
import { noUsage } from '../../../src/agent/model/usage.ts'
import { renderRunItems, type ResponseHead } from '../../../src/agent/public-api/responses.ts'
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
type Told = OpenAI.Responses.ResponseStreamEvent

/** What clients read of these events of a run. */
function told(...events: readonly Event[]): readonly Told[] {
  const render = createResponseRenderer(head)
  const text = events
    .map((event, at) => render({ ...event, seq: at + 1, at: '', run_id: 'run_1', session_id: 'ses_1' } as PlacedEvent))
    .join('')
  return text
    .split('\n\n')
    .filter(Boolean)
    .map((frame) => {
      const [, name, data = ''] = /^event: (\S+)\ndata: (.*)$/s.exec(frame) ?? []
      const event = JSON.parse(data) as Told
      expect(event.type).toBe(name)
      return event
    })
}
const begun: Event = { type: 'run.started', input: 'hi' }
const says = (delta: string): Event => ({ type: 'message.delta', delta })
const end = (output: string, more: Partial<RunEnded> = {}): Event => ({
  type: 'run.completed',
  output,
  usage: { ...noUsage, input: 70, cachedRead: 30, output: 20, reasoning: 5 },
  exit_reason: 'answered',
  completed: true,
  ...more,
})
const started: Event = { type: 'tool.started', call_id: 'c1', tool: 'look', input: { at: 'a' } }
const completed: Event = {
  type: 'tool.completed',
  call_id: 'c1',
  tool: 'look',
  failed: false,
  duration_ms: 1,
  preview: 'a tree',
}
const whole = (events: readonly Told[]) => {
  const last = events.at(-1)
  return last && 'response' in last ? last.response : undefined
}

describe('the events of a response', () => {
  it('open, grow and close every item, in numbered order', () => {
    const events = told(begun, { type: 'reasoning.delta', delta: 'hm' }, says('Hel'), says('lo'), end('Hello'))
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
    expect(whole(events)).toMatchObject({
      id: 'resp_1.ses_1',
      status: 'completed',
      output: [
        { type: 'reasoning', summary: [{ text: 'hm' }] },
        { type: 'message', status: 'completed', content: [{ type: 'output_text', text: 'Hello' }] },
      ],
      usage: { input_tokens: 100, input_tokens_details: { cached_tokens: 30 }, output_tokens: 20, total_tokens: 120 },
    })
  })

  it('show tools that ran as completed items between the words', () => {
    const events = told(begun, says('I look.'), started, completed, says('A tree.'), end('A tree.'))
    expect(whole(events)?.output.map((item) => [item.type, 'status' in item && item.status])).toEqual([
      ['message', 'completed'],
      ['function_call', 'completed'],
      ['function_call_output', 'completed'],
      ['message', 'completed'],
    ])
    expect(whole(events)?.output[1]).toMatchObject({ call_id: 'c1', name: 'look', arguments: '{"at":"a"}' })
    expect(whole(events)?.output[2]).toMatchObject({ call_id: 'c1', output: 'a tree' })
    const places = events.flatMap((event) => ('output_index' in event ? [event.output_index] : []))
    expect(new Set(places)).toEqual(new Set([0, 1, 2, 3]))
  })

  it('leave what was given up out of the whole', () => {
    const events = told(
      begun,
      says('Wro'),
      { type: 'turn.restarted', from_seq: 1, reason: 'x' },
      says('Right'),
      end('Right'),
    )
    const done = events.flatMap((event) => (event.type === 'response.output_item.done' ? [event.item] : []))
    expect(done.map((item) => 'status' in item && item.status)).toEqual(['incomplete', 'completed'])
    expect(whole(events)?.output).toHaveLength(1)
    expect(whole(events)?.output[0]).toMatchObject({ content: [{ text: 'Right' }] })
  })

  it('say an answer that was not heard', () => {
    const events = told(begun, says('I look.'), started, completed, end('Nothing there.'))
    expect(events.filter(({ type }) => type === 'response.output_text.delta')).toMatchObject([
      { delta: 'I look.' },
      { delta: 'Nothing there.' },
    ])
    expect(whole(events)?.output.at(-1)).toMatchObject({ content: [{ text: 'Nothing there.' }] })
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
  ])('end as it ended: %s', (_name, more, type, expected) => {
    const events = told(begun, says('half'), end('half', more))
    expect(events.at(-1)?.type).toBe(type)
    expect(whole(events)).toMatchObject(expected)
  })
})

describe('what is stored of a run', () => {
  it('is the same items', () => {
    const calls = [{ id: 'c1', type: 'function', function: { name: 'look', arguments: '{}' } }]
    const items = renderRunItems([
      { id: 'm1', role: 'user', content: 'hi' },
      { id: 'm2', role: 'assistant', content: 'I look.', reasoning: 'hm', tool_calls: calls },
      { id: 'm3', role: 'tool', content: 'a tree', tool_call_id: 'c1' },
      { id: 'm4', role: 'assistant', content: null },
      { id: 'm5', role: 'assistant', content: 'A tree.' },
    ])
    expect(items.map(({ type }) => type)).toEqual([
      'reasoning',
      'message',
      'function_call',
      'function_call_output',
      'message',
    ])
    expect(new Set(items.map(({ id }) => id)).size).toBe(5)
  })
})
