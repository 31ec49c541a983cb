/** Finds the existing tool that a model most likely meant by an unknown name. */

const minSimilarity = 0.7
/** A longer name is not a misspelled one. */
const maxNameChars = 200

export function repairToolName(name: string, toolNames: Iterable<string>): string | undefined {
  if (name.length > maxNameChars) return undefined
  const names = [...toolNames]
  const has = new Set(names)
  for (const candidate of candidates(name)) if (has.has(candidate)) return candidate
  const plain = plainForm(name)
  let best: { readonly name: string; readonly score: number } | undefined
  for (const one of names) {
    const score = similarity(plain, one)
    if (score >= minSimilarity && score > (best?.score ?? 0)) best = { name: one, score }
  }
  return best?.name
}

function* candidates(name: string): Generator<string> {
  yield name.trim()
  const cut = name.split(/["'<>(\s]/)[0] ?? ''
  yield cut
  const plain = plainForm(cut)
  yield plain
  const once = withoutTool(plain)
  yield once
  yield withoutTool(once)
}

const withoutTool = (name: string) => name.replace(/_?tool$/, '').replace(/^tool_?/, '')

const plainForm = (name: string) =>
  name
    .trim()
    .replace(/([a-z0-9])([A-Z])/g, '$1_$2')
    .toLowerCase()
    .replace(/[-\s.]+/g, '_')

/** Computes the share of common letter pairs (Dice coefficient), 0 to 1. */
function similarity(a: string, b: string): number {
  const [pairsA, pairsB] = [pairs(a), pairs(b)]
  let shared = 0
  for (const [pair, times] of pairsA) shared += Math.min(times, pairsB.get(pair) ?? 0)
  const all = Math.max(1, a.length - 1 + b.length - 1)
  return (2 * shared) / all
}

function pairs(text: string): Map<string, number> {
  const found = new Map<string, number>()
  for (let i = 0; i + 1 < text.length; i++) {
    const pair = text.slice(i, i + 2)
    found.set(pair, (found.get(pair) ?? 0) + 1)
  }
  return found
}
