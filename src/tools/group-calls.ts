/**
 * Splits a batch of calls into groups that may run concurrently. The calls of a group are consecutive and touch no
 * resource in common. A call that must run alone is a group of its own, and no call moves past it.
 */

/** Canonical names of resources, such as paths. 'alone' conflicts with everything. */
export type TouchedResources = readonly string[] | 'nothing' | 'alone'

export function groupCalls<Call>(
  calls: readonly Call[],
  touchedBy: (call: Call) => TouchedResources,
  maxConcurrent: number,
): readonly (readonly Call[])[] {
  const groups: Call[][] = []
  let touchedByGroup: Set<string> | 'alone' = 'alone'
  for (const call of calls) {
    const touches = touchedBy(call)
    const lastGroup = groups.at(-1)
    const canJoin =
      lastGroup &&
      lastGroup.length < maxConcurrent &&
      touchedByGroup !== 'alone' &&
      touches !== 'alone' &&
      !overlaps(touches, touchedByGroup)
    if (canJoin) lastGroup.push(call)
    else {
      groups.push([call])
      touchedByGroup = touches === 'alone' ? 'alone' : new Set()
    }
    if (touchedByGroup !== 'alone' && typeof touches !== 'string') for (const name of touches) touchedByGroup.add(name)
  }
  return groups
}

const overlaps = (touches: readonly string[] | 'nothing', touchedByGroup: ReadonlySet<string>) =>
  touches !== 'nothing' && touches.some((name) => touchedByGroup.has(name))
