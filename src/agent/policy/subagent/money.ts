/** Divides what is left of a parent's limits among its subagents, so that all together cannot exceed them. */

import type { Limits } from '#agent/core/settings.ts'
import { type Counts, tokensUsed } from '#agent/core/usage.ts'

/** The money that a subagent may spend. Absent: no limit of the parent applies. */
export type SubagentGrant = { readonly usd?: number; readonly tokens?: number }

export type ParentSpending = {
  /** Both contain the usage of ended subagents. */
  readonly turn: Counts
  readonly session: Counts
  /** The money that the unfinished subagents may still spend. */
  readonly granted: readonly SubagentGrant[]
}

/** `shares`: the number of subagents that start with what is left. */
export function grantFor(limits: Limits, spending: ParentSpending, shares: number): SubagentGrant {
  const { turn, session, granted } = spending
  const usd = getLeast([
    [limits.usd_per_turn, turn.costUsd],
    [limits.usd_per_session, session.costUsd],
  ])
  const tokens = getLeast([
    [limits.tokens_per_turn, tokensUsed(turn)],
    [limits.tokens_per_session, tokensUsed(session)],
  ])
  const held = (unit: keyof SubagentGrant) => granted.reduce((sum, grant) => sum + (grant[unit] ?? 0), 0)
  return {
    ...(usd !== undefined && { usd: share(usd - held('usd'), shares) }),
    ...(tokens !== undefined && { tokens: Math.floor(share(tokens - held('tokens'), shares)) }),
  }
}

/** Whether nothing is left to start with. */
export const isExhausted = ({ usd, tokens }: SubagentGrant): boolean =>
  (usd !== undefined && usd <= 0) || (tokens !== undefined && tokens < 1)

/** The limits of the subagent's session. */
export const limitsOfGrant = ({ usd, tokens }: SubagentGrant): Limits => ({
  ...(usd !== undefined && { usd_per_session: usd }),
  ...(tokens !== undefined && { tokens_per_session: tokens }),
})

const share = (left: number, shares: number): number => Math.max(0, left) / Math.max(1, shares)

function getLeast(limits: readonly (readonly [limit: number | undefined, used: number])[]): number | undefined {
  const left = limits.flatMap(([limit, used]) => (limit === undefined ? [] : [limit - used]))
  return left.length ? Math.min(...left) : undefined
}
