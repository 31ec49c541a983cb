import type OpenAI from 'openai'
import { describe, expect, it } from 'vitest'
import type { Event, SessionEvent, RunEnded } from '#agent/core/event.ts'
import { noUsage } from '#agent/core/usage.ts'
import type { ResponseHead } from '#agent/public-api/responses/response.ts'
import { createResponseRenderer, type ResponseSource } from '#agent/public-api/responses/stream.ts'

const head: ResponseHead = { id: 'resp_1.ses_1', createdAt: 1, options: {} }
const source: ResponseSource = {
  sessionId: 'ses_1',
  head: () => head,
  resultOf: () => undefined,
  wasApproved: () => false,
  endedAt: () => 5_000,
  usageBefore: () => undefined,
  mayApprove: () => true,
}
type StreamEvent = OpenAI.Responses.ResponseStreamEvent

const render = (...events: readonly Event[]) => renderFor(source, ...events)

/** Renders the events of a run and parses the result as a client does. */
function renderFor(from: ResponseSource, ...events: readonly Event[]): readonly StreamEvent[] {
  const renderEvent = createResponseRenderer(from)
  const output = events
    .map((event, at) =>
      renderEvent({
        ...event,
        seq: at + 1,
        at: '2026-01-01T00:00:00.000Z',
        run_id: 'run_1',
        session_id: 'ses_1',
      } as SessionEvent),
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
const text = (delta: string): Event => ({ type: 'message.delta', delta, step: 2 })
const end = (output: string, more: Partial<RunEnded> = {}): Event => ({
  type: 'run.completed',
  output,
  usage: { ...noUsage, input: 70, cachedRead: 30, output: 20, reasoning: 5 },
  exit_reason: 'answered',
  completed: true,
  ...more,
})
const toolStarted: Event = { type: 'tool.started', call_id: 'c1', tool: 'look', input: { at: 'a' }, step: 2 }
const toolCompleted: Event = {
  type: 'tool.completed',
  call_id: 'c1',
  tool: 'look',
  failed: false,
  duration_ms: 1,
  preview: 'a tree',
  step: 2,
}
const finalResponse = (events: readonly StreamEvent[]) => {
  const last = events.at(-1)
  return last && 'response' in last ? last.response : undefined
}

describe('createResponseRenderer()', () => {
  it('adds, extends and closes every item, with increasing sequence numbers', () => {
    const events = render(
      runStarted,
      { type: 'reasoning.delta', delta: 'hm', step: 2 },
      text('Hel'),
      text('lo'),
      end('Hello'),
    )
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
      ['mcp_call', 'completed'],
      ['message', 'completed'],
    ])
    expect(finalResponse(events)?.output[1]).toMatchObject({
      name: 'look',
      arguments: '{"at":"a"}',
      output: 'a tree',
      server_label: 'talaria',
    })
    const types = events.map(({ type }) => type.replace('response.', '')).filter((type) => type.startsWith('mcp'))
    expect(types).toEqual([
      'mcp_call.in_progress',
      'mcp_call_arguments.delta',
      'mcp_call_arguments.done',
      'mcp_call.completed',
    ])
    const places = events.flatMap((event) => ('output_index' in event ? [event.output_index] : []))
    expect(new Set(places)).toEqual(new Set([0, 1, 2]))
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

  it('takes the whole result of a call, and its id stays in every part', () => {
    const whole = { ...source, resultOf: () => ({ text: 'a tall tree', failed: false }), wasApproved: () => true }
    const [, , , item] = renderFor(whole, runStarted, toolStarted, toolCompleted, end('')).slice(-4)
    expect(item && 'response' in item && item.response.output[0]).toMatchObject({
      output: 'a tall tree',
      approval_request_id: expect.stringMatching(/^mcpr_2_/),
      id: expect.stringMatching(/^mcp_2_/),
    })
  })

  it('ends a part with the calls of the client, an approval or a question, as completed', () => {
    const asked: Event = { type: 'client_call.request', call_id: 'c2', tool: 'mine', input: '{"a":1}', step: 2 }
    const waiting: Event = { type: 'run.waiting', segment: 0, waits_for: ['client'], usage: { ...noUsage, output: 7 } }
    const events = render(runStarted, text('I ask.'), asked, waiting)
    expect(finalResponse(events)).toMatchObject({
      status: 'completed',
      usage: { output_tokens: 7 },
      output: [{ type: 'message' }, { type: 'function_call', name: 'mine', arguments: '{"a":1}', status: 'completed' }],
    })
    const approval = {
      type: 'approval.request' as const,
      approval_id: 'ses_1.run_1.2.c1',
      call_id: 'c1',
      tool: 'look',
      input: {},
      risk: 'high' as const,
      reasons: [],
      choices: [],
      created_at: 0,
    } as unknown as Event
    expect(finalResponse(render(runStarted, approval, waiting))?.output).toMatchObject([
      { type: 'mcp_approval_request', id: expect.stringMatching(/^mcpr_2_/), name: 'look' },
    ])
    const hidden = renderFor({ ...source, mayApprove: () => false }, runStarted, approval, waiting)
    expect(finalResponse(hidden)?.output).toMatchObject([{ type: 'message' }])
    const question: Event = {
      type: 'question.request',
      question_id: 'ses_1.run_1.2.q',
      question: 'Which?',
      choices: [],
      multi_select: false,
    }
    expect(finalResponse(render(runStarted, question, waiting))?.output).toMatchObject([
      { type: 'message', content: [{ text: 'Which?' }] },
    ])
  })

  it('numbers the events behind a discarded answer alike, whether or not its deltas are there', () => {
    const restarted: Event = { type: 'turn.restarted', from_seq: 1, reason: 'x' }
    const after = (events: readonly StreamEvent[]) =>
      events.filter(({ sequence_number: n }) => n >= 16).map(({ type, sequence_number: n }) => [type, n])
    const renderEvent = createResponseRenderer(source)
    const replayed = [runStarted, restarted, text('Right'), end('Right')]
      .map((event, at) =>
        renderEvent({
          ...event,
          seq: [1, 4, 5, 6][at],
          at: '2026-01-01T00:00:00.000Z',
          run_id: 'run_1',
          session_id: 'ses_1',
        } as SessionEvent),
      )
      .join('')
    const numbers = [...replayed.matchAll(/"sequence_number":(\d+)/g)].map(([, n]) => Number(n)).filter((n) => n >= 16)
    const live = after(render(runStarted, text('Wr'), text('ong'), restarted, text('Right'), end('Right')))
    expect(numbers).toEqual(live.map(([, n]) => n))
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
