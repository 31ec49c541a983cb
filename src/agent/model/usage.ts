/** What calls of a model cost: tokens as the provider counted them, money in USD. */

export type Usage = {
  readonly input: number
  readonly output: number
  readonly cachedRead: number
  readonly cachedWrite: number
  readonly reasoning: number
  readonly costUsd: number
  /** actual: the provider said so; estimated: from prices; unknown: no price is known; included: free. */
  readonly costStatus: 'actual' | 'estimated' | 'unknown' | 'included'
}

export const noUsage: Usage = {
  input: 0,
  output: 0,
  cachedRead: 0,
  cachedWrite: 0,
  reasoning: 0,
  costUsd: 0,
  costStatus: 'included',
}

const certainty = ['included', 'actual', 'estimated', 'unknown'] as const

/** The sum is as certain as its least certain part. */
export const addUsage = (a: Usage, b: Usage): Usage => ({
  input: a.input + b.input,
  output: a.output + b.output,
  cachedRead: a.cachedRead + b.cachedRead,
  cachedWrite: a.cachedWrite + b.cachedWrite,
  reasoning: a.reasoning + b.reasoning,
  costUsd: a.costUsd + b.costUsd,
  costStatus: certainty[Math.max(certainty.indexOf(a.costStatus), certainty.indexOf(b.costStatus))] ?? 'unknown',
})
