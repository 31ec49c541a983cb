/** Keeps how people rate answers, for exports and for the next review of the conversation. */

import { type Authority, hasScope } from '#agent/core/permission/authority.ts'
import { textIn } from '#agent/core/message.ts'
import type { RatedAnswer } from '#agent/skills/learning/review.ts'
import { clock } from '#durable/platform/clock.ts'
import type { Rating } from '#durable/storage/session-metadata.ts'
import type { Session } from '../session.ts'

export type RatingView = { readonly value: Rating['value']; readonly note: string | null }

/** The oldest ones are dropped. */
export const maxRatings = 500

const viewRating = ({ value, note }: Rating): RatingView => ({ value, note: note ?? null })

export const findRating = ({ meta }: Pick<Session, 'meta'>, seq: number): RatingView | undefined => {
  const found = meta.ratings?.find((one) => one.seq === seq)
  return found && viewRating(found)
}

/** Replaces the rating of an answer; undefined removes it. `missing`: the number is that of no answer. */
export function rateAnswer(
  session: Session,
  seq: number,
  rating: Omit<Rating, 'seq' | 'at' | 'isReviewed'> | undefined,
): 'rated' | 'missing' {
  const [entry] = session.journal.entriesAt([seq])
  if (entry?.message.role !== 'assistant' || textIn(entry.message) === '') return 'missing'
  const others = (session.meta.ratings ?? []).filter((one) => one.seq !== seq)
  const added = rating ? [{ ...rating, seq, at: clock.now() }] : []
  session.updateMeta({ ratings: [...others, ...added].slice(-maxRatings) })
  return 'rated'
}

const isOpen = ({ isReviewed, authority }: Rating): boolean => isReviewed !== true && hasScope(authority, 'write')

/**
 * Returns the ratings that no review has seen, and marks them as seen. A key that may not write what the agent learns has
 * no say in it.
 */
export function takeRatings(session: Session): {
  readonly answers: readonly RatedAnswer[]
  readonly authorities: readonly Authority[]
} {
  const { ratings = [] } = session.meta
  const open = ratings.filter(isOpen)
  const texts = new Map(session.journal.entriesAt(open.map(({ seq }) => seq)).map((one) => [one.seq, one.message]))
  session.updateMeta({ ratings: ratings.map((one) => (isOpen(one) ? { ...one, isReviewed: true } : one)) })
  const answers = open.flatMap(({ seq, value, note }): readonly RatedAnswer[] => {
    const message = texts.get(seq)
    return message ? [{ value, note, answer: textIn(message) }] : []
  })
  return { answers, authorities: open.map(({ authority }) => authority) }
}

export const hasOpenRatings = ({ meta }: Pick<Session, 'meta'>): boolean => meta.ratings?.some(isOpen) ?? false
