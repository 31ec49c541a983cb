/** Tells which part of an unfinished answer subscribers have got. */

import type { Turn } from '#agent/core/turn.ts'

/** An answer in a format is sent when it is whole. */
export const getSentDraft = ({ draft = '', options }: Turn): string => (options.answerFormat ? '' : draft)
