/** Measures the similarity of two texts by edit distance, from 0 to 1. Only the first 500 characters count. */

const maxComparedChars = 500

export function similarity(one: string, other: string): number {
  const [a, b] = [one.slice(0, maxComparedChars), other.slice(0, maxComparedChars)]
  const maxLength = Math.max(a.length, b.length)
  return maxLength === 0 ? 1 : 1 - editDistance(a, b) / maxLength
}

function editDistance(a: string, b: string): number {
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
