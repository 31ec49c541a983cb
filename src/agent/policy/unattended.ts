/**
 * Limits turns that no person has started: of processes, jobs, batches, webhooks and subagents. Without any setting they have
 * default limits, so that a process that reports for ever cannot spend for ever.
 */

import type { Authority } from '#agent/core/permission/authority.ts'
import type { Limits } from '#agent/core/settings.ts'
import { isUsedUp } from '#agent/core/usage.ts'

/** Sources of sessions in which no person is present. */
const unattendedSources: ReadonlySet<string> = new Set(['cron', 'job', 'batch', 'subagent', 'webhook', 'learning'])

export const isUnattendedSource = (source: string): boolean => unattendedSources.has(source)

/** Whether no person has started a turn: by the source of its session, or the principal of its authority. */
export const isUnattendedTurn = (source: string, authority: Authority | undefined): boolean =>
  isUnattendedSource(source) || ['job', 'process', 'session'].includes(authority?.principal.kind ?? '')

/**
 * Whether work that the session has begun itself starts a turn: a process, a subagent or a background turn. Jobs have
 * their own times.
 */
export const startsItself = (kind: string, { principal }: Authority): boolean =>
  principal.kind === 'process' || (kind === 'injected' && principal.kind !== 'job')

/** A job may run every minute; a tenant may have five of them. */
const defaultTurnsPerHour = 300
/** One session may use this share of the tenant's turns. */
const sessionShare = 1 / 5
const defaultTokensPerDay = 20_000_000
const defaultUsdPerDay = 10

const hourMs = 3_600_000
/** Turns of an hour that a session may start by itself without a pause. */
const freeTurns = 5
const firstPauseMs = 30_000
const maxPauseMs = 600_000

/** The usage of a tenant's unattended turns in the last hour and in the last day. */
export type UnattendedUse = {
  readonly hour: {
    readonly turns: number
    readonly sessionTurns: number
    /** The start of the last turn of the session; 0 when there is none. */
    readonly sessionLastAt: number
  }
  readonly day: { readonly tokens: number; readonly usd: number }
}

/** `retryAfterMs`: when the turn may be tried again. */
export type UnattendedRefusal = { readonly limit: keyof Limits; readonly retryAfterMs: number }

/** The pause after so many turns within an hour that a session has started by itself: 30 s, 1 min … 10 min. */
export const pauseAfter = (turns: number): number =>
  turns < freeTurns ? 0 : Math.min(firstPauseMs * 2 ** (turns - freeTurns), maxPauseMs)

/** Checks the spending of unattended turns before a turn or a call. */
export function findUnattendedOverspending(
  { tokens, usd }: UnattendedUse['day'],
  limits: Limits,
): UnattendedRefusal | undefined {
  if (tokens >= (limits.unattended_tokens_per_day ?? defaultTokensPerDay))
    return { limit: 'unattended_tokens_per_day', retryAfterMs: hourMs }
  if (isUsedUp(usd, limits.unattended_usd_per_day ?? defaultUsdPerDay))
    return { limit: 'unattended_usd_per_day', retryAfterMs: hourMs }
  return undefined
}

/** Checks an unattended turn. `isSelfStarted`: events of the session start it, so it may start turns without an end. */
export function findUnattendedRefusal(
  { hour, day }: UnattendedUse,
  limits: Limits,
  { isSelfStarted, now }: { readonly isSelfStarted: boolean; readonly now: number },
): UnattendedRefusal | undefined {
  const overspent = findUnattendedOverspending(day, limits)
  if (overspent) return overspent
  const limit = 'unattended_turns_per_hour'
  const maxTurns = limits[limit] ?? defaultTurnsPerHour
  if (hour.turns >= maxTurns || hour.sessionTurns >= Math.ceil(maxTurns * sessionShare))
    return { limit, retryAfterMs: maxPauseMs }
  const pauseMs = isSelfStarted ? hour.sessionLastAt + pauseAfter(hour.sessionTurns) - now : 0
  return pauseMs > 0 ? { limit, retryAfterMs: pauseMs } : undefined
}
