/** The numbers of the settings, as the policies want them. Made once per settings. */

import { type GuardThresholds, type LoopLimits, defaultLimits } from '../../agent/model/ports.ts'
import type { Settings } from '../../agent/model/settings.ts'

const made = new WeakMap<Settings, LoopLimits>()

export function loopLimits(settings: Settings): LoopLimits {
  let limits = made.get(settings)
  if (!limits) made.set(settings, (limits = make(settings)))
  return limits
}

const inMs = (seconds: number | undefined) => (seconds === undefined ? undefined : seconds * 1_000)

function make({ agent, compression, tool_loop_guardrails: guard }: Settings): LoopLimits {
  const standard = defaultLimits
  const { max_wait_seconds: wait, max_turn_seconds: most } = agent ?? {}
  return {
    maxWaitMs: inMs(wait) ?? standard.maxWaitMs,
    ...(most !== undefined && { maxTurnMs: most * 1_000 }),
    compression: {
      enabled: compression?.enabled ?? standard.compression.enabled,
      threshold: compression?.threshold ?? standard.compression.threshold,
    },
    guard: guardLimits(guard),
  }
}

type Guard = NonNullable<Settings['tool_loop_guardrails']>

function guardLimits(guard: Guard = {}): LoopLimits['guard'] {
  const standard = defaultLimits.guard
  return {
    warn: guard.warnings_enabled ?? standard.warn,
    stop: guard.hard_stop_enabled ?? standard.stop,
    warnAfter: thresholds(guard.warn_after, standard.warnAfter),
    stopAfter: thresholds(guard.hard_stop_after, standard.stopAfter),
    perTurn: {
      ...standard.perTurn,
      ...(guard.max_web_searches !== undefined && { web_search: guard.max_web_searches }),
      ...(guard.max_subagents !== undefined && { delegate_task: guard.max_subagents }),
    },
  }
}

const thresholds = (set: Guard['warn_after'], standard: GuardThresholds): GuardThresholds => ({
  exact: set?.exact_failure ?? standard.exact,
  tool: set?.same_tool_failure ?? standard.tool,
  same: set?.idempotent_no_progress ?? standard.same,
})
