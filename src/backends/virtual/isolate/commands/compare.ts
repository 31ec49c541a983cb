/** Compares two texts line by line and renders hunks as diff and git do. */

import { diffArrays } from 'diff'

/** Lines `[fromA, toA)` of the first text became `[fromB, toB)` of the second. */
export type LineChange = { readonly fromA: number; readonly toA: number; readonly fromB: number; readonly toB: number }
export type Comparison = {
  readonly a: readonly string[]
  readonly b: readonly string[]
  readonly changes: readonly LineChange[]
}

/** After this many differences everything between the common ends is reported as replaced. */
const maxEdits = 1500

/** Splits a text into lines with their line ends, so that a missing last one is a difference. */
export const linesOf = (text: string): string[] => text.match(/[^\n]*\n|[^\n]+$/g) ?? []

export function compare(
  a: readonly string[],
  b: readonly string[],
  same = (x: string, y: string) => x === y,
): Comparison {
  const [start, end] = commonEnds(a, b, same)
  const inner = [a.slice(start, a.length - end), b.slice(start, b.length - end)] as const
  const parts = diffArrays(inner[0], inner[1], { comparator: same, maxEditLength: maxEdits })
  if (!parts) return { a, b, changes: [{ fromA: start, toA: a.length - end, fromB: start, toB: b.length - end }] }
  const changes: LineChange[] = []
  let [atA, atB] = [start, start]
  for (const { added, removed, count = 0 } of parts) {
    const [fromA, fromB] = [atA, atB]
    if (!added) atA += count
    if (!removed) atB += count
    if (!added && !removed) continue
    const last = changes.at(-1)
    if (last && last.toA === fromA && last.toB === fromB) changes[changes.length - 1] = { ...last, toA: atA, toB: atB }
    else changes.push({ fromA, toA: atA, fromB, toB: atB })
  }
  return { a, b, changes }
}

/** Counts the common lines at the beginning and at the end. */
function commonEnds(
  a: readonly string[],
  b: readonly string[],
  same: (x: string, y: string) => boolean,
): [number, number] {
  const shorter = Math.min(a.length, b.length)
  let start = 0
  while (start < shorter && same(a[start] ?? '', b[start] ?? '')) start++
  let end = 0
  while (end < shorter - start && same(a[a.length - 1 - end] ?? '', b[b.length - 1 - end] ?? '')) end++
  return [start, end]
}

const prefixLines = (lines: readonly string[], mark: string): string =>
  lines.map((line) => `${mark}${line}${line.endsWith('\n') ? '' : '\n\\ No newline at end of file\n'}`).join('')

/** Changes with less than twice the context between them belong to one hunk. */
function groupChanges(changes: readonly LineChange[], context: number): LineChange[][] {
  const groups: LineChange[][] = []
  for (const change of changes) {
    const before = groups.at(-1)?.at(-1)
    if (before && change.fromA - before.toA <= context * 2) groups.at(-1)?.push(change)
    else groups.push([change])
  }
  return groups
}

const range = (from: number, to: number): string => {
  const count = to - from
  if (count === 1) return String(from + 1)
  return count === 0 ? `${from},0` : `${from + 1},${count}`
}

/** Returns the last unindented line before a hunk, which usually names the enclosing function. */
function enclosingFunction(a: readonly string[], before: number): string {
  for (let i = before - 1; i >= 0; i--) if (/^[\w$]/.test(a[i] ?? '')) return ` ${(a[i] ?? '').slice(0, 80).trimEnd()}`
  return ''
}

/** Renders the hunks of a unified diff, without its heading. */
export function unifiedHunks({ a, b, changes }: Comparison, context = 3, named = false): string {
  let out = ''
  for (const group of groupChanges(changes, context)) {
    const [first, last] = [group[0], group.at(-1)]
    if (!first || !last) continue
    const before = Math.min(context, first.fromA)
    const [startA, startB] = [first.fromA - before, first.fromB - before]
    const after = Math.min(context, a.length - last.toA)
    out += `@@ -${range(startA, last.toA + after)} +${range(startB, last.toB + after)} @@${named ? enclosingFunction(a, startA) : ''}\n`
    let at = startA
    for (const { fromA, toA, fromB, toB } of group) {
      out +=
        prefixLines(a.slice(at, fromA), ' ') +
        prefixLines(a.slice(fromA, toA), '-') +
        prefixLines(b.slice(fromB, toB), '+')
      at = toA
    }
    out += prefixLines(a.slice(at, at + after), ' ')
  }
  return out
}

const span = (from: number, to: number): string => (to - from > 1 ? `${from + 1},${to}` : String(to > from ? to : from))

/** Renders the hunks of a plain diff: `2c2`, `< old`, `---`, `> new`. */
export function plainHunks({ a, b, changes }: Comparison): string {
  return changes
    .map(({ fromA, toA, fromB, toB }) => {
      const letter = fromA === toA ? 'a' : fromB === toB ? 'd' : 'c'
      const heading = `${span(fromA, toA)}${letter}${span(fromB, toB)}\n`
      return (
        heading +
        prefixLines(a.slice(fromA, toA), '< ') +
        (letter === 'c' ? '---\n' : '') +
        prefixLines(b.slice(fromB, toB), '> ')
      )
    })
    .join('')
}
