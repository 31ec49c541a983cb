/** Resolves the parameters of a request that its model accepts. */

import type { ModelRequest, Quirks } from '#agent/core/dialect.ts'
import type { ModelParameters } from '#agent/core/request/model-parameters.ts'

type Resolved = { readonly temperature: number | undefined; readonly parameters: ModelParameters }

const samplingNames: ReadonlySet<string> = new Set<keyof ModelParameters>([
  'topP',
  'topK',
  'topA',
  'minP',
  'typicalP',
  'presencePenalty',
  'frequencyPenalty',
  'repetitionPenalty',
  'logitBias',
])
const serverNames: ReadonlySet<string> = new Set<keyof ModelParameters>([
  'topK',
  'topA',
  'minP',
  'typicalP',
  'repetitionPenalty',
])

export function resolveParameters(request: ModelRequest, quirks: Quirks): Resolved {
  const { parameters = {}, repairs } = request
  if (repairs?.parameters) return { temperature: resolveFixed(quirks), parameters: {} }
  const hasNoSampling = quirks.temperature === 'omitted'
  const isAccepted = (name: string) =>
    !(hasNoSampling && samplingNames.has(name)) && !(quirks.serverParameters === 'omitted' && serverNames.has(name))
  return {
    temperature: hasNoSampling ? undefined : (resolveFixed(quirks) ?? request.temperature),
    parameters: Object.fromEntries(Object.entries(parameters).filter(([name]) => isAccepted(name))) as ModelParameters,
  }
}

/** The only temperature that the model accepts. */
const resolveFixed = ({ temperature }: Quirks): number | undefined =>
  typeof temperature === 'number' ? temperature : undefined
