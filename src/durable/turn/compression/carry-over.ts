/**
 * Collects what outlives a compression outside its summary. A new source is one function and one word in the list. The
 * texts are part of the message with the summary, so they stay the same until the next compression.
 */

import { renderGoal } from '#agent/schedule/goal/goal-text.ts'
import { renderEffects } from '#agent/prompt/compression/effects.ts'
import type { TurnSession } from '../turn-session.ts'

/** `effects`: one line for each call with an effect that was replaced so far. */
export type CarryOverContext = {
  readonly session: TurnSession
  readonly effects: readonly string[]
  readonly maxChars: number
}

/** Renders one text; undefined when there is nothing to carry over. It may read another object. */
export type CarryOverSource = (context: CarryOverContext) => Promise<string | undefined> | string | undefined

const openTodos: CarryOverSource = ({ session, maxChars }) => {
  const open = session.meta.todos.filter(({ status }) => status === 'pending' || status === 'in_progress')
  if (!open.length) return undefined
  const lines = open.map(({ id, content, status }) => `- [${status}] ${id}: ${content}`)
  return `The todo list, without what is done or cancelled:\n${lines.join('\n')}`.slice(0, maxChars)
}

const activeGoal: CarryOverSource = ({ session, maxChars }) => {
  const { goal } = session.meta
  const isOpen = goal && goal.state.at !== 'done' && goal.state.at !== 'draft'
  return isOpen ? renderGoal(goal).slice(0, maxChars) : undefined
}

const effects: CarryOverSource = ({ effects: lines, maxChars }) => renderEffects(lines, maxChars)

const sources: readonly CarryOverSource[] = [activeGoal, openTodos, effects]

/** A source that fails is left out: a compression must not fail for it. */
export async function collectCarryOver(
  context: CarryOverContext,
  from: readonly CarryOverSource[] = sources,
): Promise<readonly string[]> {
  const texts = await Promise.allSettled(from.map(async (source) => source(context)))
  return texts.flatMap((text) => (text.status === 'fulfilled' && text.value ? [text.value] : []))
}
