/**
 * Limits the work and the output of reading one document. Files are untrusted, and a small one can unpack to a large one
 * or name the same part many times. The reader yields regularly, because locally all isolates share a thread.
 */

export type WorkBudget = {
  /** Takes bytes that an archive has unpacked. Throws a `BudgetError` when there are too many. */
  readonly unpack: (bytes: number) => void
  /** Takes characters of output. False when the output is full. */
  readonly print: (characters: number) => boolean
  /** Must be called for every token. Returns a promise when the reader has to yield. */
  readonly step: () => Promise<void> | undefined
}

export class BudgetError extends Error {
  override readonly name = 'BudgetError'
}

type BudgetLimits = { readonly unpackedBytes: number; readonly characters: number; readonly steps: number }

/** Takes about 5 ms. */
const stepsPerSlice = 10_000

export function createBudget(limits: BudgetLimits, yieldThread: () => Promise<void>): WorkBudget {
  let [unpacked, printed, steps] = [0, 0, 0]
  return {
    unpack(bytes) {
      unpacked += bytes
      if (unpacked > limits.unpackedBytes) throw new BudgetError('The file unpacks to too many bytes.')
    },
    print(characters) {
      printed += characters
      return printed <= limits.characters
    },
    step() {
      if (++steps > limits.steps) throw new BudgetError('The file has too many parts.')
      return steps % stepsPerSlice === 0 ? yieldThread() : undefined
    },
  }
}
