import { describe, expect, it } from 'vitest'
import type { SessionEvent, RunEnded } from '#agent/core/event.ts'
import { noUsage, type Usage } from '#agent/core/usage.ts'
import { createChunkRenderer, renderChatCompletion, resolveFinishReason } from '#agent/public-api/chat-completions.ts'
import { toOpenAiUsage } from '#agent/public-api/usage.ts'

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
  const source = { usageBefore: () => undefined, describeWaiting: () => 'May it?' }
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
    events
      .map(createChunkRenderer(head, source, withUsage))
      .join('')
      .split('\n\n')
      .filter(Boolean)
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
    const render = createChunkRenderer(head, source, false)
    const frame = render({ ...position, type: 'tool.progress', tool: 'terminal', call_id: 'c', delta: 'a line\n' })
    expect(frame.startsWith('event: hermes.tool.progress\n')).toBe(true)
    expect(dataOf(frame)).toMatchObject({ tool: 'terminal', call_id: 'c', status: 'running', output: 'a line\n' })
  })

  it('starts with the role when the first event is a tool', () => {
    const first = createChunkRenderer(
      head,
      source,
      false,
    )({ ...position, type: 'tool.started', tool: 'look', call_id: 'c', input: {} })
    expect(dataOf(first)['choices']).toEqual([{ index: 0, delta: { role: 'assistant' }, finish_reason: null }])
  })

  it('has usage in the last chunk when requested', () => {
    expect(dataOf(frames(true).at(-2) ?? '')).toMatchObject({ choices: [], usage: { total_tokens: 110 } })
    expect(frames(false).some((frame) => frame.includes('usage'))).toBe(false)
  })

  it('is one object without streaming', () => {
    const part = { output: 'Hi.', calls: [], usage, end: end() }
    expect(renderChatCompletion(head, part)).toEqual({
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

  describe('that waits for its caller', () => {
    const waiting = { ...position, type: 'run.waiting', segment: 0, waits_for: ['client'], usage } as const
    const asked = { ...position, type: 'client_call.request', call_id: 'c', tool: 'look', input: '{"a":1}' } as const
    const choicesOf = (text: string) =>
      text
        .split('\n\n')
        .filter((frame) => frame.startsWith('data: {'))
        .map((frame) => (dataOf(frame)['choices'] as { delta: object; finish_reason: string | null }[])[0])

    it('ends with the calls of the client', () => {
      const text = [asked, waiting].map(createChunkRenderer(head, source, false)).join('')
      expect(choicesOf(text)).toEqual([
        {
          index: 0,
          delta: {
            role: 'assistant',
            content: null,
            tool_calls: [{ index: 0, id: 'c', type: 'function', function: { name: 'look', arguments: '' } }],
          },
          finish_reason: null,
        },
        { index: 0, delta: { tool_calls: [{ index: 0, function: { arguments: '{"a":1}' } }] }, finish_reason: null },
        { index: 0, delta: {}, finish_reason: 'tool_calls' },
      ])
    })

    it.each([
      ['the text alone', [], 'May it?'],
      [
        'the text after the answer so far',
        [{ ...position, type: 'message.delta', delta: 'Hm.' } as const],
        '\n\nMay it?',
      ],
    ])('for a person ends with %s', (_case, before, content) => {
      const text = [...before, waiting].map(createChunkRenderer(head, source, false)).join('')
      expect(choicesOf(text).at(-2)).toMatchObject({ delta: { content } })
      expect(choicesOf(text).at(-1)).toMatchObject({ finish_reason: 'stop' })
    })

    it('counts the usage of its part alone', () => {
      const part = { ...source, usageBefore: () => ({ ...noUsage, input: 50 }) }
      expect(createChunkRenderer(head, part, true)(waiting)).toContain('"prompt_tokens":50')
    })
  })

  it.each<readonly [string, Partial<RunEnded>]>([
    ['stop', {}],
    ['length', { exit_reason: 'out_of_budget', completed: false }],
    ['stop', { type: 'run.cancelled', exit_reason: 'stopped', completed: false }],
    ['length', { exit_reason: 'partial', completed: false }],
    ['content_filter', { type: 'run.failed', exit_reason: 'failed_refused', completed: false }],
  ])('ends with %s for %j', (reason, more) => {
    expect(resolveFinishReason(end(more))).toBe(reason)
  })
})
