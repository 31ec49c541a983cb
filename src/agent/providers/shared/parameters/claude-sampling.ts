/** Adapts parameters to the limits of Claude, on every provider that serves it. */

import type { ModelParameters } from '#agent/core/request/model-parameters.ts'
import { omitUndefined } from '../../catalog/json-values.ts'

type Sampling = { readonly temperature: number | undefined; readonly parameters: ModelParameters }
type ClaudeSampling = Pick<ModelParameters, 'topP' | 'topK' | 'user' | 'serviceTier'> & {
  readonly temperature?: number
  readonly stop?: readonly string[]
}

/** With thinking, Claude refuses a temperature, `top_k`, and a lower `top_p`. */
const minTopPWithThinking = 0.95

/** Newer models refuse `top_p` beside a temperature, and stop sequences of white space alone. */
export function toClaudeSampling({ temperature, parameters }: Sampling, isThinking: boolean): ClaudeSampling {
  const { topP, topK, user, serviceTier } = parameters
  const stop = parameters.stop?.filter((sequence) => /\S/.test(sequence))
  const canSetTopP = isThinking ? (topP ?? 0) >= minTopPWithThinking : temperature === undefined
  return omitUndefined<ClaudeSampling>({
    temperature: isThinking || temperature === undefined ? undefined : Math.min(1, temperature),
    topP: canSetTopP ? topP : undefined,
    topK: isThinking ? undefined : topK,
    stop: stop?.length ? stop : undefined,
    user,
    serviceTier,
  })
}
