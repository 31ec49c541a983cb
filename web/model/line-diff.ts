/** Compares two texts line by line and returns a unified diff without line numbers, for previews before saving. */

const maxCells = 4_000_000

/** Empty when the texts are equal. */
export function diffLines(before: string, after: string): string {
  if (before === after) return ''
  const [old, now] = [before.split('\n'), after.split('\n')]
  let start = 0
  while (start < old.length && start < now.length && old[start] === now[start]) start++
  let end = 0
  while (end < old.length - start && end < now.length - start && old.at(-1 - end) === now.at(-1 - end)) end++
  const middle = compare(old.slice(start, old.length - end), now.slice(start, now.length - end))
  const context = (lines: readonly string[]) => lines.map((line) => ` ${line}`)
  return [
    ...context(old.slice(Math.max(0, start - 3), start)),
    ...middle,
    ...context(old.slice(old.length - end, old.length - end + 3)),
  ].join('\n')
}

type Lengths = { readonly at: (one: number, other: number) => number }

/** The lengths of the longest common subsequences of the rests of both texts. */
function measure(old: readonly string[], now: readonly string[]): Lengths {
  const width = now.length + 1
  const lengths = new Uint32Array((old.length + 1) * width)
  const at = (one: number, other: number) => lengths[one * width + other] ?? 0
  for (let one = old.length - 1; one >= 0; one--)
    for (let other = now.length - 1; other >= 0; other--)
      lengths[one * width + other] =
        old[one] === now[other] ? at(one + 1, other + 1) + 1 : Math.max(at(one + 1, other), at(one, other + 1))
  return { at }
}

/** Texts that are too large are replaced as a whole. */
function compare(old: readonly string[], now: readonly string[]): readonly string[] {
  const removed = old.map((line) => `-${line}`)
  const added = now.map((line) => `+${line}`)
  if ((old.length + 1) * (now.length + 1) > maxCells) return [...removed, ...added]
  const { at } = measure(old, now)
  const lines: string[] = []
  let [one, other] = [0, 0]
  while (one < old.length && other < now.length) {
    if (old[one] === now[other]) {
      lines.push(` ${old[one++]}`)
      other++
    } else if (at(one + 1, other) >= at(one, other + 1)) lines.push(removed[one++] ?? '')
    else lines.push(added[other++] ?? '')
  }
  return [...lines, ...removed.slice(one), ...added.slice(other)]
}

/** The merge patch (RFC 7386) that makes `after` of `before`. Undefined when they are equal. */
export function patchBetween(before: unknown, after: unknown): unknown {
  if (!isObject(before) || !isObject(after)) return JSON.stringify(before) === JSON.stringify(after) ? undefined : after
  const patch: Record<string, unknown> = {}
  for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const change = Object.hasOwn(after, name) ? patchBetween(before[name], after[name]) : null
    if (change !== undefined) patch[name] = change
  }
  return Object.keys(patch).length ? patch : undefined
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
