import { describe, expect, it } from 'vitest'
import type { ModelRequest, Quirks } from '#agent/core/dialect.ts'
import { assistantMessage, helloMessage, lookResult, renderJson } from '../support/chat-requests.ts'

describe('quirks of chat completions', () => {
  it.each<readonly [string, Quirks, Partial<ModelRequest>, object]>([
    [
      'the role of the system message',
      { systemRole: 'developer' },
      {},
      { messages: [{ role: 'developer' }, { role: 'user' }] },
    ],
    ['the field for the output limit', { maxTokensField: 'max_tokens' }, { maxTokens: 9 }, { max_tokens: 9 }],
    ['a default output limit', { defaultMaxTokens: 7, maxTokensField: 'max_tokens' }, {}, { max_tokens: 7 }],
    [
      'the requested output limit instead of the default',
      { defaultMaxTokens: 7 },
      { maxTokens: 9 },
      { max_completion_tokens: 9 },
    ],
    ['the only accepted temperature', { temperature: 0.5 }, { temperature: 1 }, { temperature: 0.5 }],
    ['a clamped effort', { efforts: ['low', 'high'] }, { reasoningEffort: 'ultra' }, { reasoning_effort: 'high' }],
    ['effort as an object', { reasoning: 'object' }, { reasoningEffort: 'low' }, { reasoning: { effort: 'low' } }],
    ['thinking as a toggle', { reasoning: 'toggle' }, { reasoningEffort: 'low' }, { thinking: { type: 'enabled' } }],
    [
      'a toggle and an effort',
      { reasoning: 'toggle', efforts: ['none', 'high', 'max'] },
      { reasoningEffort: 'ultra' },
      { thinking: { type: 'enabled' }, reasoning_effort: 'max' },
    ],
    [
      'a disabled toggle',
      { reasoning: 'toggle', efforts: ['none', 'high'] },
      { reasoningEffort: 'none' },
      { thinking: { type: 'disabled' } },
    ],
    ['additional body fields', { body: { plugins: [] } }, {}, { plugins: [] }],
  ])('set %s', (_name, quirks, more, expected) => {
    expect(renderJson(more, quirks)).toMatchObject(expected)
  })

  it.each<readonly [string, Quirks, Partial<ModelRequest>, string]>([
    ['a temperature', { temperature: 'omitted' }, { temperature: 1 }, 'temperature'],
    ['an effort', { reasoning: 'none' }, { reasoningEffort: 'low' }, 'reasoning_effort'],
    [
      'an effort with a disabled toggle',
      { reasoning: 'toggle', efforts: ['none'] },
      { reasoningEffort: 'none' },
      'reasoning_effort',
    ],
    ['a toggle without a requested effort', { reasoning: 'toggle' }, {}, 'thinking'],
  ])('omit %s', (_name, quirks, more, field) => {
    expect(renderJson(more, quirks)).not.toHaveProperty(field)
  })

  it('turn all content into parts', () => {
    expect(
      renderJson({ transcript: [helloMessage, assistantMessage, lookResult] }, { content: 'parts' }).messages.map(
        ({ content }) => content,
      ),
    ).toEqual(['Be kind.', 'hello', 'Let me look.', 'a tree'].map((text) => [{ type: 'text', text }]))
  })

  it('keep tool results as text', () => {
    const transcript = [helloMessage, assistantMessage, lookResult]
    expect(renderJson({ transcript }, { content: 'string-results' }).messages.at(-1)).toMatchObject({
      content: 'a tree',
    })
    const repaired = renderJson({ transcript, repairs: { toolContent: 'text' } }, { content: 'parts' })
    expect(repaired.messages.at(-1)).toMatchObject({ content: 'a tree' })
  })
})
