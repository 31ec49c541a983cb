/** Calculates medians and their intervals by order statistics, which assume no distribution of the noise. */

export type Estimate = { readonly median: number; readonly low: number; readonly high: number; readonly n: number }

export const sorted = (values: readonly number[]): number[] => values.toSorted((a, b) => a - b)

export const median = (values: readonly number[]): number => quantile(values, 0.5)

export const quantile = (values: readonly number[], q: number): number => {
  const ordered = sorted(values)
  const at = (ordered.length - 1) * q
  const below = ordered[Math.floor(at)] ?? NaN
  const above = ordered[Math.ceil(at)] ?? NaN
  return below + (above - below) * (at - Math.floor(at))
}

/** How many values may be left out on each side so that the rest covers the median with 95 %. */
const spare = (n: number): number => {
  let term = 0.5 ** n
  let below = 0
  let k = 0
  while (below + term <= 0.025) {
    below += term
    term = (term * (n - k)) / (k + 1)
    k++
  }
  return Math.max(0, k - 1)
}

export const estimate = (values: readonly number[]): Estimate => {
  const ordered = sorted(values)
  const k = spare(ordered.length)
  return {
    median: median(ordered),
    low: ordered[k] ?? NaN,
    high: ordered[ordered.length - 1 - k] ?? NaN,
    n: ordered.length,
  }
}
