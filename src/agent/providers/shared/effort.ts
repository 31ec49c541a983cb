/** Clamps a reasoning effort to the levels that a model supports. */

export const efforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max', 'ultra'] as const
export type Effort = (typeof efforts)[number]

const rankOf = (effort: string): number => efforts.indexOf(effort as Effort)

/**
 * Returns the strongest supported level that is not above the requested one, so that no request costs more than
 * intended. Below the weakest supported level it returns the weakest. An unknown level passes unchanged, because the
 * provider may support it, and so does every level when `supported` is empty.
 */
export function clampEffort(
  requested: string | undefined,
  supported: readonly string[] | undefined,
): string | undefined {
  if (requested === undefined || !supported?.length || supported.includes(requested) || rankOf(requested) < 0)
    return requested
  const ordered = supported.toSorted((a, b) => rankOf(a) - rankOf(b))
  return ordered.findLast((effort) => rankOf(effort) <= rankOf(requested)) ?? ordered[0]
}
