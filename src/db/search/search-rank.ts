/**
 * Ranks the candidates of a search. Every figure comes from rows of one tenant. The ranking of FTS5 (bm25) counts the rows
 * of all tenants, so its order would tell what others wrote (docs/adr/0023).
 */

import type { HistoryHit } from '#agent/core/tool.ts'
import type { TermMatch } from './snippet.ts'

/** A hit with what ranks it. */
export type Candidate = {
  readonly hit: HistoryHit
  readonly kind: 'title' | 'message' | 'tool'
  /** The terms of the query in their order. */
  readonly terms: readonly TermMatch[]
  /** Characters of the text that was matched. */
  readonly length: number
  /** The sum of the rarities of the terms that are in its session. */
  readonly coverage: number
}

const dayMs = 24 * 60 * 60 * 1000
const kindPoints = { title: 2, message: 1, tool: 0 } as const
const kindFactor = { title: 1.5, message: 1, tool: 0.8 } as const
/** The usual parameters of bm25: how fast repetitions saturate, and how much length counts. */
const saturation = 1.2
const lengthShare = 0.75
/** A hit of this moment counts a quarter more than an old one; half of that is left after a month. */
const recencyShare = 0.25
const recencyDays = 30

/**
 * Sorts candidates, best first. Equal ones are sorted by time, newest first. `rarities`: of the terms, or undefined when
 * only the candidates themselves are known.
 */
export function rankCandidates<C extends Candidate>(
  candidates: readonly C[],
  now: number,
  rarities?: readonly number[],
): readonly C[] {
  const isRanked = candidates.some(({ terms }) => terms.length > 1)
  const score = isRanked ? createScore(candidates, now, rarities) : scoreForm
  return candidates
    .map((candidate) => ({ candidate, score: score(candidate) }))
    .toSorted((a, b) => b.score - a.score || Date.parse(b.candidate.hit.at) - Date.parse(a.candidate.hit.at))
    .map(({ candidate }) => candidate)
}

/** Scores a single term: the exact form first, then titles, messages, results of tools. */
const scoreForm = ({ terms, kind }: Candidate): number => sumStrictness(terms) * 2 + kindPoints[kind]

export const sumStrictness = (terms: readonly TermMatch[]): number =>
  terms.reduce((sum, { strictness }) => sum + (strictness === 0 ? 0 : strictness + 1), 0)

/**
 * Scores several terms as bm25: a rare term counts more than a common one. What its session has in all is added, so that a
 * session with all terms in several messages precedes one with some of them.
 */
function createScore(
  candidates: readonly Candidate[],
  now: number,
  known?: readonly number[],
): (candidate: Candidate) => number {
  const averageLength = candidates.reduce((sum, { length }) => sum + length, 1) / Math.max(1, candidates.length)
  const termCount = Math.max(...candidates.map(({ terms }) => terms.length))
  const rarities = known ?? Array.from({ length: termCount }, (_, i) => getRarity(candidates, i))
  return ({ terms, length, kind, hit, coverage }) => {
    const relativeLength = 1 - lengthShare + (lengthShare * length) / averageLength
    const termScore = ({ strictness, count }: TermMatch, i: number) =>
      ((rarities[i] ?? 0) * formFactor(strictness) * count * (saturation + 1)) / (count + saturation * relativeLength)
    const sum = terms.reduce((total, term, i) => total + termScore(term, i), 0)
    const ageDays = Math.max(0, now - Date.parse(hit.at)) / dayMs
    return coverage + sum * kindFactor[kind] * (1 + (recencyShare * recencyDays) / (recencyDays + ageDays))
  }
}

/** The exact word counts a little more than another form of it, and a part of a word less. */
const formFactor = (strictness: number): number => [0.9, 0.7, 0.95, 1][strictness] ?? 1

function getRarity(candidates: readonly Candidate[], term: number): number {
  const matching = candidates.filter(({ terms }) => (terms[term]?.count ?? 0) > 0).length
  return Math.log(1 + (candidates.length - matching + 0.5) / (matching + 0.5))
}
