/**
 * Which calls of a batch may run side by side: consecutive ones that touch nothing in common. A call
 * that must be alone is a group of its own, and nothing moves past it.
 */

export type TouchedResources = readonly string[] | 'nothing' | 'alone'

export function groupCalls<Call>(
  calls: readonly Call[],
  touched: (call: Call) => TouchedResources,
  width: number,
): readonly (readonly Call[])[] {
  const groups: Call[][] = []
  let taken: Set<string> | 'alone' = 'alone'
  for (const call of calls) {
    const touches = touched(call)
    const last = groups.at(-1)
    const joins = last && last.length < width && taken !== 'alone' && touches !== 'alone' && !overlaps(touches, taken)
    if (joins) last.push(call)
    else {
      groups.push([call])
      taken = touches === 'alone' ? 'alone' : new Set()
    }
    if (taken !== 'alone' && typeof touches !== 'string') for (const name of touches) taken.add(name)
  }
  return groups
}

const overlaps = (touches: readonly string[] | 'nothing', taken: ReadonlySet<string>) =>
  touches !== 'nothing' && touches.some((name) => taken.has(name))
