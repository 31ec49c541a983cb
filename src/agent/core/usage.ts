/** Adds up the usage of model calls: tokens as the provider counts them, and cost in USD. */

export type Counts = {
  readonly input: number
  /** Includes reasoning tokens. */
  readonly output: number
  readonly cachedRead: number
  readonly cachedWrite: number
  readonly reasoning: number
  readonly costUsd: number
  /** actual: reported by the provider; estimated: from prices; unknown: no price is known; included: free. */
  readonly costStatus: 'actual' | 'estimated' | 'unknown' | 'included'
}

/** The calls of one model for one task. `cut`: calls with an estimated usage, because the provider reported none. */
export type Tally = Counts & { readonly calls: number; readonly cut: number }

/**
 * `by`: the usage by model and task, with keys of `tallyKey`. `hourWrite`: the part of `cachedWrite` that is cached for
 * an hour at a higher price. `webSearches`: searches of the provider itself. Both are present only until the call is
 * priced.
 */
export type Usage = Counts & {
  readonly by?: Readonly<Record<string, Tally>>
  readonly hourWrite?: number
  readonly webSearches?: number
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

/** A billionth of a dollar: sums of prices differ from the exact ones in their last digits. Tokens are whole. */
const tolerance = 1e-9

export const isUsedUp = (used: number, max: number): boolean => used >= max - tolerance
export const isAbove = (amount: number, max: number): boolean => amount > max + tolerance

const certainty = ['included', 'actual', 'estimated', 'unknown'] as const

/** Adds usage. The cost of the sum is as certain as its least certain part. */
export function addUsage(a: Usage, b: Usage): Usage {
  const sum = addCounts(a, b)
  return a.by || b.by ? { ...sum, by: addTallies(a.by ?? {}, b.by ?? {}) } : sum
}

/** Returns what was used after `earlier`, a part of `total`. */
export const usageSince = (total: Counts, earlier: Counts = noUsage): Usage => ({
  input: total.input - earlier.input,
  output: total.output - earlier.output,
  cachedRead: total.cachedRead - earlier.cachedRead,
  cachedWrite: total.cachedWrite - earlier.cachedWrite,
  reasoning: total.reasoning - earlier.reasoning,
  costUsd: total.costUsd - earlier.costUsd,
  costStatus: total.costStatus,
})

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

/** Joins model and task with a space, which no model id contains. The conversation itself has no task. */
export const tallyKey = (model: string, task?: string): string => (task ? `${model} ${task}` : model)

export function readTallyKey(key: string): { readonly model: string; readonly task: string | null } {
  const space = key.indexOf(' ')
  return space < 0 ? { model: key, task: null } : { model: key.slice(0, space), task: key.slice(space + 1) }
}

/** Creates the usage of one call, with its entry by model and task. */
export function usageOfCall(
  { by: _by, hourWrite: _hourWrite, webSearches: _webSearches, ...counts }: Usage,
  key: string,
  cut = false,
): Usage {
  return { ...counts, by: { [key]: { ...counts, calls: 1, cut: cut ? 1 : 0 } } }
}

export const tokensUsed = ({ input, output, cachedRead, cachedWrite }: Counts): number =>
  input + output + cachedRead + cachedWrite
