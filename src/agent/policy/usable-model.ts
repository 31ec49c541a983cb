/** Skips models without a usable key before a model call. Without any such model the route stays. */

import type { View } from '#agent/core/ports.ts'
import type { Turn } from '#agent/core/turn.ts'
import type { OnEnter } from './policy.ts'

export const selectUsableModel: OnEnter = (turn, step, view) => {
  if (step.do !== 'call-model') return turn
  const model = findUsableModel(turn, view, turn.route.model) ?? turn.route.model
  return model === turn.route.model ? turn : moveToModel(turn, view, model, 'no usable key')
}

/** Changes the model of the turn, and records the names of both. */
export function moveToModel(turn: Turn, { chain }: View, model: number, reason: string): Turn {
  const nameOf = (index: number) => chain[index]?.id ?? ''
  const fallback = { from: nameOf(turn.route.model), to: nameOf(model), reason }
  return { ...turn, route: { ...turn.route, model, fallback } }
}

/** Finds the first model from this index on that has a key which the turn does not avoid. */
export function findUsableModel({ route: { avoid } }: Turn, { chain }: View, from: number): number | undefined {
  const index = chain.findIndex(({ keys }, model) => model >= from && keys.some((key) => !avoid.includes(key)))
  return index < 0 ? undefined : index
}
