/** Resolves the options of a request to the Messages API: output length, thinking, sampling and the answer's format. */

import type { MessageCreateParamsStreaming } from '@anthropic-ai/sdk/resources/messages'
import type { ModelRequest, Quirks } from '#agent/core/dialect.ts'
import type { Message } from '#agent/core/message.ts'
import { clampEffort } from '../shared/effort.ts'
import { toClaudeEffort, canThink, resolveThinkingBudget } from '../shared/claude-thinking.ts'
import { renderOutputFormat, renderSampling, renderToolRules } from './sampling.ts'

type Params = MessageCreateParamsStreaming
type Options = Pick<Params, 'max_tokens' | 'thinking' | 'output_config' | 'tool_choice'> &
  ReturnType<typeof renderSampling>

const defaultMaxTokens = 32_000

export function resolveOptions(
  request: ModelRequest,
  quirks: Quirks,
  transcript: readonly Message[],
  issuer: string,
): Options {
  const max_tokens = request.maxTokens ?? quirks.defaultMaxTokens ?? defaultMaxTokens
  const thinkingOptions = resolveThinking(request, quirks, max_tokens, canThink(transcript, issuer))
  const isThinking = thinkingOptions.thinking !== undefined && thinkingOptions.thinking.type !== 'disabled'
  const output_config = { ...thinkingOptions.output_config, ...renderOutputFormat(request, quirks).output_config }
  return {
    max_tokens,
    ...thinkingOptions,
    ...(Object.keys(output_config).length && { output_config }),
    ...renderSampling(request, quirks, isThinking),
    ...renderToolRules(request, isThinking),
  }
}

/**
 * Returns whether earlier thinking may be sent back. Without thinking enabled, Claude refuses thinking blocks in the
 * current turn. Models that think by default, and models of other makers, require them.
 */
export function acceptsThinking(model: string, { reasoning = 'budget' }: Quirks, { thinking }: Options): boolean {
  if (thinking) return thinking.type !== 'disabled'
  return reasoning !== 'budget' || !/claude/i.test(model)
}

function resolveThinking(
  request: ModelRequest,
  quirks: Quirks,
  maxTokens: number,
  canThinkNow: boolean,
): ThinkingOptions {
  const { reasoning = 'budget', efforts } = quirks
  const effort = clampEffort(request.reasoningEffort, efforts)
  if (effort === undefined || reasoning === 'none') return {}
  if (reasoning !== 'budget') return renderEffort(effort, reasoning === 'adaptive')
  const budget_tokens = resolveThinkingBudget(effort, maxTokens)
  const isThinkingOff = request.repairs?.thinking === 'left-out' || !canThinkNow
  return budget_tokens === undefined || isThinkingOff ? {} : { thinking: { type: 'enabled', budget_tokens } }
}

type ThinkingOptions = Pick<Options, 'thinking' | 'output_config'>

function renderEffort(effort: string, isAdaptive: boolean): ThinkingOptions {
  if (effort === 'none') return isAdaptive ? { thinking: { type: 'disabled' } } : {}
  return {
    // Some models do not return their thinking unless `display` is set.
    ...(isAdaptive && { thinking: { type: 'adaptive', display: 'summarized' } }),
    output_config: { effort: toClaudeEffort(effort) as Effort },
  }
}

type Effort = NonNullable<NonNullable<Params['output_config']>['effort']>
