/** How alike two short texts are: 1 the same, 0 nothing in common. By edit distance, on at most 500 characters. */

const LONGEST = 500

export function similarity(one: string, other: string): number {
  const [a, b] = [one.slice(0, LONGEST), other.slice(0, LONGEST)]
  const longest = Math.max(a.length, b.length)
  return longest === 0 ? 1 : 1 - distance(a, b) / longest
}

function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const swap = (row[j - 1] ?? 0) + Number(a[i - 1] !== b[j - 1])
      next.push(Math.min(swap, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1))
    }
    row = next
  }
  return row[b.length] ?? 0
}
