/** The options of a call as the Messages API takes them: how much is written, how hard is thought, how warm. */

import type { MessageCreateParamsStreaming } from '@anthropic-ai/sdk/resources/messages'
import type { ModelRequest, Quirks } from '../../model/dialect.ts'
import type { Message } from '../../model/message.ts'
import { clampEffort } from '../shared/effort.ts'
import { claudeEffort, mayThink, thinkingBudget } from '../shared/claude-thinking.ts'

type Params = MessageCreateParamsStreaming
type Options = Pick<Params, 'max_tokens' | 'thinking' | 'output_config'> & { readonly temperature?: number }

const usualMaxTokens = 32_000

export function optionsOf(request: ModelRequest, quirks: Quirks, clean: readonly Message[], by: string): Options {
  const max_tokens = request.maxTokens ?? quirks.defaultMaxTokens ?? usualMaxTokens
  const thought = thinkingOf(request, quirks, max_tokens, mayThink(clean, by))
  const temperature = quirks.temperature ?? request.temperature
  // Who thinks chooses the temperature by itself.
  const isFree = thought.thinking === undefined || thought.thinking.type === 'disabled'
  return { max_tokens, ...thought, ...(isFree && typeof temperature === 'number' && { temperature }) }
}

/**
 * Claude that is not to think refuses its own thinking in the answer it is in the middle of. Models that think
 * unless they are told not to, and those of other makers, have to get it back.
 */
export function takesThinking(model: string, { reasoning = 'budget' }: Quirks, { thinking }: Options): boolean {
  if (thinking) return thinking.type !== 'disabled'
  return reasoning !== 'budget' || !/claude/i.test(model)
}

function thinkingOf(request: ModelRequest, quirks: Quirks, maxTokens: number, isWhole: boolean): Thought {
  const { reasoning = 'budget', efforts } = quirks
  const effort = clampEffort(request.reasoningEffort, efforts)
  if (effort === undefined || reasoning === 'none') return {}
  if (reasoning !== 'budget') return inWords(effort, reasoning === 'adaptive')
  const budget_tokens = thinkingBudget(effort, maxTokens)
  const isBroken = request.repairs?.thinking === 'left-out' || !isWhole
  return budget_tokens === undefined || isBroken ? {} : { thinking: { type: 'enabled', budget_tokens } }
}

type Thought = Pick<Options, 'thinking' | 'output_config'>

function inWords(effort: string, isAdaptive: boolean): Thought {
  if (effort === 'none') return isAdaptive ? { thinking: { type: 'disabled' } } : {}
  return {
    // What is thought is told: some models keep it to themselves unless they are asked.
    ...(isAdaptive && { thinking: { type: 'adaptive', display: 'summarized' } }),
    output_config: { effort: claudeEffort(effort) as Effort },
  }
}

type Effort = NonNullable<NonNullable<Params['output_config']>['effort']>
