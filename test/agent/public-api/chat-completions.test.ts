import { describe, expect, it } from 'vitest'
import type { SessionEvent, RunEnded } from '../../../src/agent/model/event.ts'
import { noUsage, type Usage } from '../../../src/agent/model/usage.ts'
import {
  createChunkRenderer,
  renderChatCompletion,
  resolveFinishReason,
} from '../../../src/agent/public-api/chat-completions.ts'
import { toOpenAiUsage } from '../../../src/agent/public-api/usage.ts'

const usage: Usage = {
  ...noUsage,
  input: 60,
  output: 10,
  cachedRead: 40,
  reasoning: 3,
  costUsd: 0.5,
  costStatus: 'actual',
}

describe('a chat completion', () => {
  const head = { id: 'chatcmpl-1', created: 5, model: 'talaria' }
  const position = { seq: 1, at: '', run_id: 'r', session_id: 's' }
  const end = (more: Partial<RunEnded> = {}): RunEnded => ({
    type: 'run.completed',
    output: 'Hi.',
    usage,
    exit_reason: 'answered',
    completed: true,
    ...more,
  })
  const events: SessionEvent[] = [
    { ...position, type: 'run.started', input: 'x' },
    { ...position, type: 'reasoning.delta', delta: 'hm' },
    { ...position, type: 'tool.started', call_id: 'c', tool: 'look', input: {} },
    { ...position, type: 'tool.completed', call_id: 'c', tool: 'look', failed: true, duration_ms: 1, preview: '' },
    { ...position, type: 'message.delta', delta: 'Hi.' },
    { ...position, ...end() },
  ]
  const frames = (withUsage: boolean) =>
    events.map(createChunkRenderer(head, withUsage)).join('').split('\n\n').filter(Boolean)
  const dataOf = (frame: string) => JSON.parse(frame.replace(/^(event: .*\n)?data: /, '')) as Record<string, unknown>

  it('is rendered in chunks: the role first, tools as separate events, the finish reason last', () => {
    const chunk = (delta: object, finish: string | null = null) => ({
      id: 'chatcmpl-1',
      object: 'chat.completion.chunk',
      created: 5,
      model: 'talaria',
      choices: [{ index: 0, delta, finish_reason: finish }],
    })
    const all = frames(false)
    expect(all.at(-1)).toBe('data: [DONE]')
    expect(all.slice(0, -1).map(dataOf)).toEqual([
      chunk({ role: 'assistant', reasoning_content: 'hm' }),
      { ...chunk({}), tool: 'look', call_id: 'c', status: 'running' },
      { ...chunk({}), tool: 'look', call_id: 'c', status: 'failed' },
      chunk({ content: 'Hi.' }),
      chunk({}, 'stop'),
    ])
    expect(all.filter((frame) => frame.startsWith('event: hermes.tool.progress\n'))).toHaveLength(2)
  })

  it('has what a tool prints while it runs', () => {
    const render = createChunkRenderer(head, false)
    const frame = render({ ...position, type: 'tool.progress', tool: 'terminal', call_id: 'c', delta: 'a line\n' })
    expect(frame.startsWith('event: hermes.tool.progress\n')).toBe(true)
    expect(dataOf(frame)).toMatchObject({ tool: 'terminal', call_id: 'c', status: 'running', output: 'a line\n' })
  })

  it('starts with the role when the first event is a tool', () => {
    const first = createChunkRenderer(
      head,
      false,
    )({ ...position, type: 'tool.started', tool: 'look', call_id: 'c', input: {} })
    expect(dataOf(first)['choices']).toEqual([{ index: 0, delta: { role: 'assistant' }, finish_reason: null }])
  })

  it('has usage in the last chunk when requested', () => {
    expect(dataOf(frames(true).at(-2) ?? '')).toMatchObject({ choices: [], usage: { total_tokens: 110 } })
    expect(frames(false).some((frame) => frame.includes('usage'))).toBe(false)
  })

  it('is one object without streaming', () => {
    expect(renderChatCompletion(head, end())).toEqual({
      id: 'chatcmpl-1',
      object: 'chat.completion',
      created: 5,
      model: 'talaria',
      choices: [
        {
          index: 0,
          message: { role: 'assistant', content: 'Hi.', refusal: null },
          logprobs: null,
          finish_reason: 'stop',
        },
      ],
      usage: toOpenAiUsage(usage),
    })
  })

  it.each<readonly [string, Partial<RunEnded>]>([
    ['stop', {}],
    ['length', { exit_reason: 'out_of_budget', completed: false }],
    ['stop', { type: 'run.cancelled', exit_reason: 'stopped', completed: false }],
    ['error', { type: 'run.failed', exit_reason: 'failed_rate', completed: false }],
    ['content_filter', { type: 'run.failed', exit_reason: 'failed_refused', completed: false }],
  ])('ends with %s for %j', (reason, more) => {
    expect(resolveFinishReason(end(more))).toBe(reason)
  })
})
