import { describe, expect, it } from 'vitest'
import type { ModelRequest, Quirks } from '#agent/core/dialect.ts'
import { userText } from '#agent/core/message.ts'
import { findAnthropicViolations } from '../fakes/anthropic.ts'
import { fullTranscript, renderJson } from '../support/anthropic-requests.ts'
import { assistantCalls, assistantText, toolResult } from '../support/requests.ts'

describe('resolveOptions', () => {
  const foreignTurn = [userText('go'), assistantCalls('c1'), toolResult('c1', 'one')]
  const cases: readonly (readonly [string, Partial<ModelRequest>, Quirks, object])[] = [
    ['sends no thinking or temperature by default', {}, {}, { max_tokens: 10_000 }],
    ['sends a budget', { reasoningEffort: 'high' }, {}, { thinking: { type: 'enabled', budget_tokens: 8_000 } }],
    [
      'sends a larger budget with more output tokens',
      { reasoningEffort: 'high', maxTokens: 64_000 },
      {},
      { thinking: { budget_tokens: 20_000 } },
    ],
    ['sends no budget without room for it', { reasoningEffort: 'high', maxTokens: 1_000 }, {}, { thinking: undefined }],
    ['sends no budget for the effort none', { reasoningEffort: 'none' }, {}, { thinking: undefined }],
    [
      'sends adaptive thinking',
      { reasoningEffort: 'high' },
      { reasoning: 'adaptive' },
      { thinking: { type: 'adaptive', display: 'summarized' }, output_config: { effort: 'high' } },
    ],
    [
      'disables adaptive thinking',
      { reasoningEffort: 'none' },
      { reasoning: 'adaptive' },
      { thinking: { type: 'disabled' } },
    ],
    [
      'sends a clamped effort',
      { reasoningEffort: 'xhigh' },
      { reasoning: 'effort', efforts: ['low', 'medium', 'high'] },
      { thinking: undefined, output_config: { effort: 'high' } },
    ],
    [
      'converts an effort that the API does not support',
      { reasoningEffort: 'ultra' },
      { reasoning: 'effort' },
      { output_config: { effort: 'max' } },
    ],
    [
      'sends no effort when the quirks forbid it',
      { reasoningEffort: 'high' },
      { reasoning: 'none' },
      { thinking: undefined, output_config: undefined },
    ],
    ['sends a temperature', { temperature: 0.3 }, {}, { temperature: 0.3 }],
    [
      'sends no temperature with thinking',
      { temperature: 0.3, reasoningEffort: 'low' },
      {},
      { temperature: undefined },
    ],
    [
      'sends no temperature to models that refuse it',
      { temperature: 0.3 },
      { temperature: 'omitted' },
      { temperature: undefined },
    ],
    ['sends the only temperature that the model accepts', { temperature: 0.3 }, { temperature: 1 }, { temperature: 1 }],
    [
      'sends the default output limit',
      { maxTokens: undefined },
      { defaultMaxTokens: 128_000 },
      { max_tokens: 128_000 },
    ],
    [
      'keeps thinking off during a turn that another model began',
      { reasoningEffort: 'high', transcript: foreignTurn },
      {},
      { thinking: undefined },
    ],
    [
      'enables thinking again in the next turn',
      { reasoningEffort: 'high', transcript: [...foreignTurn, assistantText('so'), userText('and?')] },
      {},
      { thinking: { type: 'enabled' } },
    ],
    [
      'keeps thinking on during a turn that began with thinking',
      {
        reasoningEffort: 'high',
        transcript: [...fullTranscript.slice(0, 4), assistantCalls('c3'), toolResult('c3', 'three')],
      },
      {},
      { thinking: { type: 'enabled' } },
    ],
    [
      'keeps thinking off when a repair removes it',
      { reasoningEffort: 'high', transcript: fullTranscript, repairs: { thinking: 'left-out' } },
      {},
      { thinking: undefined },
    ],
  ]
  it.each(cases)('%s', (_name, more, quirks, expected) => {
    const body = renderJson(more, quirks)
    const absent = { thinking: undefined, output_config: undefined, temperature: undefined }
    expect({ ...absent, ...body }).toMatchObject(expected)
    expect(findAnthropicViolations(body)).toEqual([])
  })
})
