/** Adds the approval decision about a call to the turn's record. */

import { addDecision } from '#agent/core/turn.ts'
import type { AfterEffect } from '../policy.ts'

export const recordDecision: AfterEffect = ({ turn, result }) =>
  'decision' in result ? { turn: addDecision(turn, result.decision) } : undefined
