/** How hard a model thinks, in the words all providers share, clamped to those that the model knows. */

const efforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max', 'ultra'] as const
export type Effort = (typeof efforts)[number]

const strength = (effort: string): number => efforts.indexOf(effort as Effort)

/**
 * What the model knows, or the next weaker of it, so that nobody pays for more than was asked for; below the
 * weakest, the weakest. Words that are none of ours are passed on: the provider may know them. Without a
 * list everything is passed on.
 */
export function clampEffort(asked: string | undefined, known: readonly string[] | undefined): string | undefined {
  if (asked === undefined || !known?.length || known.includes(asked) || strength(asked) < 0) return asked
  const ordered = known.toSorted((a, b) => strength(a) - strength(b))
  return ordered.findLast((effort) => strength(effort) <= strength(asked)) ?? ordered[0]
}
