/** What calls of a model cost: tokens as the provider counted them, money in USD. */

export type Counts = {
  readonly input: number
  /** Reasoning is part of it. */
  readonly output: number
  readonly cachedRead: number
  readonly cachedWrite: number
  readonly reasoning: number
  readonly costUsd: number
  /** actual: the provider said so; estimated: from prices; unknown: no price is known; included: free. */
  readonly costStatus: 'actual' | 'estimated' | 'unknown' | 'included'
}

/** Calls of one model for one task. `cut`: calls whose usage never came, counted by estimate. */
export type Tally = Counts & { readonly calls: number; readonly cut: number }

/**
 * `by`: the same, apart for each model and task; the keys are those of `tallyKey`. `hourWrite`: the part of
 * `cachedWrite` that is kept for an hour, which is dearer; known until the call has its price.
 */
export type Usage = Counts & { readonly by?: Readonly<Record<string, Tally>>; readonly hourWrite?: number }

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
export function addUsage(a: Usage, b: Usage): Usage {
  const sum = addCounts(a, b)
  return a.by || b.by ? { ...sum, by: addTallies(a.by ?? {}, b.by ?? {}) } : sum
}

const addCounts = (a: Counts, b: Counts): Counts => ({
  input: a.input + b.input,
  output: a.output + b.output,
  cachedRead: a.cachedRead + b.cachedRead,
  cachedWrite: a.cachedWrite + b.cachedWrite,
  reasoning: a.reasoning + b.reasoning,
  costUsd: a.costUsd + b.costUsd,
  costStatus: certainty[Math.max(certainty.indexOf(a.costStatus), certainty.indexOf(b.costStatus))] ?? 'unknown',
})

function addTallies(a: NonNullable<Usage['by']>, b: NonNullable<Usage['by']>): NonNullable<Usage['by']> {
  const sum: Record<string, Tally> = { ...a }
  for (const [key, tally] of Object.entries(b)) {
    const known = sum[key]
    sum[key] = known
      ? { ...addCounts(known, tally), calls: known.calls + tally.calls, cut: known.cut + tally.cut }
      : tally
  }
  return sum
}

/** Ids of models have no spaces: the task, if it is not the conversation itself, stands behind one. */
export const tallyKey = (model: string, task?: string): string => (task ? `${model} ${task}` : model)

export function readTallyKey(key: string): { readonly model: string; readonly task: string | null } {
  const space = key.indexOf(' ')
  return space < 0 ? { model: key, task: null } : { model: key.slice(0, space), task: key.slice(space + 1) }
}

/** One call, as the sum of itself. */
export function usageOfCall({ by: _by, hourWrite: _hourWrite, ...counts }: Usage, key: string, cut = false): Usage {
  return { ...counts, by: { [key]: { ...counts, calls: 1, cut: cut ? 1 : 0 } } }
}

export const tokensUsed = ({ input, output, cachedRead, cachedWrite }: Counts): number =>
  input + output + cachedRead + cachedWrite
