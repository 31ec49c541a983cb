/** Converts settings into the limits of the loop, once per settings object. */

import { type GuardThresholds, type LoopLimits, defaultLimits } from '#agent/core/ports.ts'
import type { Settings } from '#agent/core/settings.ts'

const cache = new WeakMap<Settings, LoopLimits>()

export function loopLimits(settings: Settings): LoopLimits {
  let limits = cache.get(settings)
  if (!limits) cache.set(settings, (limits = convert(settings)))
  return limits
}

const toMs = (seconds: number | undefined) => (seconds === undefined ? undefined : seconds * 1_000)

function convert({ agent, compression, models = {}, tool_loop_guardrails: guard }: Settings): LoopLimits {
  const standard = defaultLimits
  const { max_wait_seconds: wait, max_turn_seconds: turn } = agent ?? {}
  return {
    maxWaitMs: toMs(wait) ?? standard.maxWaitMs,
    ...(turn !== undefined && { maxTurnMs: turn * 1_000 }),
    compression: {
      enabled: compression?.enabled ?? standard.compression.enabled,
      ...listThresholds(compression),
      models: Object.fromEntries(Object.entries(models).map(([id, model]) => [id, listThresholds(model.compression)])),
    },
    guard: guardLimits(guard),
  }
}

const listThresholds = ({ threshold, threshold_tokens: tokens }: NonNullable<Settings['compression']> = {}) => ({
  ...(threshold !== undefined && { threshold }),
  ...(tokens !== undefined && { thresholdTokens: tokens }),
})

type LoopGuard = NonNullable<Settings['tool_loop_guardrails']>

function guardLimits(guard: LoopGuard = {}): LoopLimits['guard'] {
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

const thresholds = (set: LoopGuard['warn_after'], standard: GuardThresholds): GuardThresholds => ({
  exact: set?.exact_failure ?? standard.exact,
  tool: set?.same_tool_failure ?? standard.tool,
  same: set?.idempotent_no_progress ?? standard.same,
})
