/** Skips models without a usable key before a model call. Without any such model the route stays. */

import type { View } from '../model/ports.ts'
import type { Turn } from '../model/turn.ts'
import type { OnEnter } from './policy.ts'

export const selectUsableModel: OnEnter = (turn, step, view) => {
  if (step.do !== 'call-model') return turn
  return { ...turn, route: { ...turn.route, model: findUsableModel(turn, view, turn.route.model) ?? turn.route.model } }
}

/** Finds the first model from this index on that has a key which the turn does not avoid. */
export function findUsableModel({ route: { avoid } }: Turn, { chain }: View, from: number): number | undefined {
  const index = chain.findIndex(({ keys }, model) => model >= from && keys.some((key) => !avoid.includes(key)))
  return index < 0 ? undefined : index
}
