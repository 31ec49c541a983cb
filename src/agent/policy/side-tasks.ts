/**
 * Decides about side calls: their timeouts, the models to ask in order, and the next step after a failure. A side call
 * never fails a turn.
 */

import type { FailureKind } from '#agent/core/failure.ts'
import type { SideTask } from '#agent/core/settings.ts'

const timeoutSeconds: Record<SideTask, number> = {
  compression: 120,
  title_generation: 30,
  approval: 30,
  vision: 120,
  goal_judge: 60,
  moa_reference: 900,
  plugin: 60,
  web_extract: 360,
  session_search: 60,
}

export const getSideTimeoutMs = (task: SideTask, configured: number | undefined): number =>
  (configured ?? timeoutSeconds[task]) * 1_000

export type SideModelSources = {
  /** `auxiliary.<task>.model` of the settings. */
  readonly configured?: string | undefined
  /** `auxiliary.<task>.fallback_providers`: asked after it, instead of all others. */
  readonly configuredFallbacks?: readonly string[] | undefined
  /** `AUX_MODEL` of the deployment. */
  readonly deployed?: string | undefined
  /** The model of the conversation, and a cheap model of the same provider. */
  readonly main?: string | undefined
  readonly sibling?: string | undefined
  readonly fallbacks: readonly string[]
  /** Cheap models of other providers, asked last. */
  readonly others?: readonly string[]
}

/** Lists the models to ask in order. A configured model comes first, and the others are fallbacks. */
export function listSideModels({
  configured,
  configuredFallbacks,
  deployed,
  sibling,
  main,
  fallbacks,
  others = [],
}: SideModelSources): readonly string[] {
  const ids = [configured, ...(configuredFallbacks ?? [deployed, sibling, main, ...fallbacks, ...others])]
  return [...new Set(ids.filter((id) => id !== undefined && id !== ''))] as readonly string[]
}

/** Retries on one model. */
const maxRetries = 2

const transientFailures = new Set<FailureKind>([
  'rate',
  'upstream-rate',
  'overloaded',
  'server',
  'network',
  'malformed',
])
/** Failures of this task on this model. The model can still serve other tasks. */
const taskFailures = new Set<FailureKind>([
  'too-long',
  'too-large',
  'image-too-large',
  'output-cap',
  'refused',
  'tool-content',
  'grammar',
  'invalid',
  'unpriced',
  'no-images',
])

/** Failures that another key of the same provider may avoid. */
const keyFailures = new Set<FailureKind>(['auth', 'key-dead', 'quota'])

export type AfterFailure =
  /** Asks the same model again after a pause. */
  | { readonly do: 'again'; readonly afterMs: number }
  /** Asks the next model, and suspends this one. */
  | { readonly do: 'next'; readonly suspendMs: number }
  /** The call was cancelled, or a limit refuses it. */
  | { readonly do: 'stop' }

const suspendMs = 600_000
const maxRetryAfterMs = 5_000

type FailedModel = {
  readonly kind: FailureKind
  /** Failures of this model in this task, including this one. */
  readonly tries: number
  /** The number of keys of its provider. */
  readonly keys: number
  readonly retryAfterMs?: number | undefined
}

/** Every model has the same limits. A limit that other calls have reserved may have room again soon. */
const afterRefusedReservation = (tries: number, retryAfterMs: number): AfterFailure =>
  retryAfterMs > 0 && tries <= maxRetries ? { do: 'again', afterMs: retryAfterMs } : { do: 'stop' }

export function afterFailure({ kind, tries, keys, retryAfterMs = 0 }: FailedModel): AfterFailure {
  if (kind === 'aborted') return { do: 'stop' }
  if (kind === 'limit') return afterRefusedReservation(tries, retryAfterMs)
  if (taskFailures.has(kind)) return { do: 'next', suspendMs: 0 }
  // The next request asks without streaming.
  const hasChanged = kind === 'no-stream' ? tries === 1 : keyFailures.has(kind) && tries < keys
  if (hasChanged) return { do: 'again', afterMs: 0 }
  if (transientFailures.has(kind) && tries <= maxRetries && retryAfterMs <= maxRetryAfterMs)
    return { do: 'again', afterMs: Math.max(retryAfterMs, 500 * tries) }
  return { do: 'next', suspendMs }
}
