import { describe, expect, it } from 'vitest'
import { type Message, userText } from '#agent/core/message.ts'
import type { Segment } from '#agent/core/turn.ts'
import { noUsage } from '#agent/core/usage.ts'
import {
  renderConversation,
  renderInput,
  renderOutput,
  type StoredPart,
} from '#agent/public-api/responses/stored-items.ts'

const look = { type: 'call' as const, id: 'c1', name: 'look', input: { at: 'a' } }
const mine = { type: 'call' as const, id: 'c2', name: 'mine', input: {}, owner: 'client' as const }
const result = (callId: string, text: string, failed = false): Message => ({
  role: 'tool',
  callId,
  name: 'x',
  content: [{ type: 'text', text }],
  failed,
})
const reply = (...content: Extract<Message, { role: 'assistant' }>['content'][number][]): Message => ({
  role: 'assistant',
  content,
  stop: 'end',
})
const text = (value: string) => ({ type: 'text' as const, text: value })

const partOf = (messages: readonly Message[], more: Partial<StoredPart> = {}): StoredPart => ({
  messages: messages.map((message, at) => ({ sessionId: 's', seq: at + 1, message })),
  segments: [],
  index: 0,
  settled: [],
  mayApprove: true,
  ...more,
})
const segment = (messageSeq: number, callIds: readonly string[], waitsFor: Segment['waitsFor']): Segment => ({
  endedAt: 0,
  messageSeq,
  callIds,
  waitsFor,
  usage: noUsage,
})

describe('renderOutput()', () => {
  it('renders thinking, texts and calls of the agent with their results', () => {
    const messages = [
      userText('hi'),
      reply({ type: 'thinking', text: 'hm' }, text('I '), text('look.'), look),
      result('c1', 'a tree'),
      reply(text('A tree.')),
    ]
    const items = renderOutput(partOf(messages))
    expect(items).toMatchObject([
      { type: 'reasoning', summary: [{ text: 'hm' }] },
      { type: 'message', content: [{ text: 'I look.' }] },
      { type: 'mcp_call', name: 'look', arguments: '{"at":"a"}', output: 'a tree', status: 'completed', error: null },
      { type: 'message', content: [{ text: 'A tree.' }] },
    ])
    expect(new Set(items.map(({ id }) => id)).size).toBe(4)
    expect(renderInput(partOf(messages))).toMatchObject([{ role: 'user', content: [{ text: 'hi' }] }])
  })

  it('shows a failed call, one without a result, and truncates a long one', () => {
    const calls = ['c1', 'c2', 'c3'].map((id) => ({ ...look, id }))
    const long = 'x'.repeat(200_000)
    const items = renderOutput(partOf([reply(...calls), result('c1', 'no', true), result('c2', long)]))
    expect(items).toMatchObject([
      { status: 'failed', output: null, error: { content: [{ text: 'no' }] } },
      { status: 'completed', error: null },
      { status: 'incomplete', output: null, error: null },
    ])
    expect(JSON.stringify(items[1]).length).toBeLessThan(101_000)
  })

  it('tells calls of the client from calls of the agent, and repeats none in the next part', () => {
    const messages = [
      userText('go'),
      reply(look, mine),
      result('c1', 'a tree'),
      result('c2', 'done'),
      reply(text('Ok.')),
    ]
    const segments = [segment(2, ['c2'], ['client'])]
    const first = renderOutput(partOf(messages, { segments }))
    expect(first.map(({ type }) => type)).toEqual(['mcp_call', 'function_call'])
    const second = partOf(messages, { segments, index: 1 })
    expect(renderOutput(second)).toMatchObject([{ type: 'message', content: [{ text: 'Ok.' }] }])
    const call = first[1] as { call_id: string }
    expect(renderInput(second)).toMatchObject([{ type: 'function_call_output', call_id: call.call_id, output: 'done' }])
  })

  it('asks for an approval, and shows the approved call in the next part with the id of the request', () => {
    const messages = [userText('go'), reply(look), result('c1', 'a tree'), reply(text('Ok.'))]
    const segments = [segment(2, ['c1'], ['approval'])]
    const [request] = renderOutput(partOf(messages, { segments }))
    expect(request).toMatchObject({ type: 'mcp_approval_request', name: 'look', server_label: 'talaria' })
    const [call] = renderOutput(partOf(messages, { segments, index: 1 }))
    expect(call).toMatchObject({ type: 'mcp_call', approval_request_id: request?.id, output: 'a tree' })
    const [notice] = renderOutput(partOf(messages, { segments, mayApprove: false }))
    expect(notice).toMatchObject({ type: 'message', content: [{ text: expect.stringContaining('approve') }] })
  })

  it('shows a question as text', () => {
    const asks = { type: 'call' as const, id: 'q', name: 'clarify', input: { question: 'Which?', choices: ['a', 'b'] } }
    const segments = [segment(2, ['q'], ['question'])]
    const messages = [userText('go'), reply(asks), result('q', '{}'), reply(text('Ok.'))]
    expect(renderOutput(partOf(messages, { segments }))).toMatchObject([
      { type: 'message', content: [{ text: 'Which?\n- a\n- b' }] },
    ])
    expect(renderOutput(partOf(messages, { segments, index: 1 }))).toMatchObject([{ content: [{ text: 'Ok.' }] }])
  })
})

it('renderConversation() lists what was said by people and the agent, with results of the client', () => {
  const { messages } = partOf([
    userText('hi'),
    userText('not typed', 'nudge'),
    reply(mine),
    result('c2', 'done'),
    reply(text('Ok.')),
  ])
  expect(renderConversation(messages).map(({ type }) => type)).toEqual([
    'message',
    'function_call',
    'function_call_output',
    'message',
  ])
})
