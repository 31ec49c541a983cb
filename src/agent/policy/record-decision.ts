/** Adds the approval decision about a call to the turn's record. */

import { decided } from '../model/turn.ts'
import type { AfterEffect } from './policy.ts'

export const recordDecision: AfterEffect = ({ turn, result }) =>
  'decision' in result ? { turn: decided(turn, result.decision) } : undefined
