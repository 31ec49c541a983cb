/** Tests our own chat completions API and its usage. */

import { describe, expect, it } from 'vitest'
import type { PlacedEvent, RunEnded } from '../../../../src/agent/model/event.ts'
import { addUsage, noUsage, type Usage } from '../../../../src/agent/model/usage.ts'
import { createChunkRenderer, renderChatCompletion, resolveFinishReason } from '../../../../src/agent/public-api/chat-completions.ts'
import { toOpenAiUsage, toPublicUsage } from '../../../../src/agent/public-api/usage.ts'

const used: Usage = {
  ...noUsage,
  input: 60,
  output: 10,
  cachedRead: 40,
  reasoning: 3,
  costUsd: 0.5,
  costStatus: 'actual',
}

describe('usage', () => {
  it('is as certain as its least certain part', () => {
    expect(addUsage(used, { ...used, costStatus: 'unknown' })).toEqual({
      ...used,
      input: 120,
      output: 20,
      cachedRead: 80,
      reasoning: 6,
      costUsd: 1,
      costStatus: 'unknown',
    })
  })
  it('is shown by our names and by those of OpenAI', () => {
    expect(toPublicUsage(used)).toEqual({
      input: 60,
      output: 10,
      cached_read: 40,
      cached_write: 0,
      reasoning: 3,
      cost_usd: 0.5,
      cost_status: 'actual',
    })
    expect(toOpenAiUsage(used)).toEqual({
      prompt_tokens: 100,
      completion_tokens: 10,
      total_tokens: 110,
      prompt_tokens_details: { cached_tokens: 40 },
      completion_tokens_details: { reasoning_tokens: 3 },
    })
  })
})

describe('a run as a chat completion', () => {
  const head = { id: 'chatcmpl-1', created: 5, model: 'talaria' }
  const place = { seq: 1, at: '', run_id: 'r', session_id: 's' }
  const end = (more: Partial<RunEnded> = {}): RunEnded => ({
    type: 'run.completed',
    output: 'Hi.',
    usage: used,
    exit_reason: 'answered',
    completed: true,
    ...more,
  })
  const events: PlacedEvent[] = [
    { ...place, type: 'run.started', input: 'x' },
    { ...place, type: 'reasoning.delta', delta: 'hm' },
    { ...place, type: 'tool.started', call_id: 'c', tool: 'look', input: {} },
    { ...place, type: 'tool.completed', call_id: 'c', tool: 'look', failed: true, duration_ms: 1, preview: '' },
    { ...place, type: 'message.delta', delta: 'Hi.' },
    { ...place, ...end() },
  ]
  const frames = (withUsage: boolean) => events.map(createChunkRenderer(head, withUsage)).join('').split('\n\n').filter(Boolean)
  const dataOf = (frame: string) => JSON.parse(frame.replace(/^(event: .*\n)?data: /, '')) as Record<string, unknown>

  it('is chunks: the role first, tools as events of their own, the reason last', () => {
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

  it('begins with the role when the first that happens is a tool', () => {
    const first = createChunkRenderer(head, false)({ ...place, type: 'tool.started', tool: 'look', call_id: 'c', input: {} })
    expect(dataOf(first)['choices']).toEqual([{ index: 0, delta: { role: 'assistant' }, finish_reason: null }])
  })

  it('has usage on a last chunk when it was asked for', () => {
    expect(dataOf(frames(true).at(-2) ?? '')).toMatchObject({ choices: [], usage: { total_tokens: 110 } })
    expect(frames(false).some((frame) => frame.includes('usage'))).toBe(false)
  })

  it('is one object when it is not streamed', () => {
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
      usage: toOpenAiUsage(used),
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
