/**
 * Side tasks: calls of a model beside the conversation, each with a time of its own. Which models are
 * asked, in which order, and what becomes of one that fails. None of them may fail a turn.
 */

import type { FailureKind } from '../model/failure.ts'
import type { SideTask } from '../model/settings.ts'

/** Seconds that one call may take. */
const seconds: Record<SideTask, number> = {
  compression: 120,
  title_generation: 30,
  approval: 30,
  web_extract: 360,
  vision: 120,
  skills_hub: 30,
  mcp: 30,
  goal_judge: 60,
  monitor: 60,
  profile_describer: 60,
  memory_query_rewrite: 8,
  moa_reference: 900,
}

export const getSideTimeoutMs = (task: SideTask, set: number | undefined): number => (set ?? seconds[task]) * 1_000

export type SideModelSources = {
  /** `auxiliary.<task>.model` of the settings. */
  readonly configured?: string | undefined
  /** `auxiliary.<task>.fallback_providers`: these after it, and no others. */
  readonly configuredFallbacks?: readonly string[] | undefined
  /** `AUX_MODEL` of the deployment. */
  readonly deployed?: string | undefined
  /** The model of the conversation, and a cheap one of the same provider. */
  readonly main: string
  readonly sibling?: string | undefined
  readonly fallbacks: readonly string[]
  /** Cheap ones of other providers, when nothing else answers. */
  readonly others?: readonly string[]
}

/** The models to ask, in order. Who names one means it to be tried first, and the others to stand in. */
export function listSideModels({
  configured: set,
  configuredFallbacks: chain,
  deployed,
  sibling,
  main,
  fallbacks,
  others = [],
}: SideModelSources): readonly string[] {
  const ids = [set, ...(chain ?? [deployed, sibling, main, ...fallbacks, ...others])]
  return [...new Set(ids.filter((id) => id !== undefined && id !== ''))] as readonly string[]
}

/** Tries on one model after the first. */
const maxRetries = 2

const transientFailures = new Set<FailureKind>([
  'rate',
  'upstream-rate',
  'overloaded',
  'server',
  'network',
  'malformed',
])
/** It is this one task that does not fit the model: others may. */
const taskFailures = new Set<FailureKind>([
  'too-long',
  'too-large',
  'image-too-large',
  'output-cap',
  'refused',
  'tool-content',
  'grammar',
  'invalid',
])

/** Another key of the same provider may do. */
const keyFailures = new Set<FailureKind>(['auth', 'key-dead', 'quota'])

export type AfterFailure =
  /** The same model once more, after this pause. */
  | { readonly do: 'again'; readonly afterMs: number }
  /** Another model; this one rests. */
  | { readonly do: 'next'; readonly suspendMs: number }
  /** Somebody cancelled it. */
  | { readonly do: 'stop' }

const suspendMs = 600_000
const maxRetryAfterMs = 5_000

type Failed = {
  readonly kind: FailureKind
  /** How often this model has failed in this task, this time included. */
  readonly tries: number
  /** Of its provider. */
  readonly keys: number
  readonly retryAfterMs?: number | undefined
}

export function afterFailure({ kind, tries, keys, retryAfterMs = 0 }: Failed): AfterFailure {
  if (kind === 'aborted') return { do: 'stop' }
  if (taskFailures.has(kind)) return { do: 'next', suspendMs: 0 }
  if (keyFailures.has(kind) && tries < keys) return { do: 'again', afterMs: 0 }
  if (transientFailures.has(kind) && tries <= maxRetries && retryAfterMs <= maxRetryAfterMs)
    return { do: 'again', afterMs: Math.max(retryAfterMs, 500 * tries) }
  return { do: 'next', suspendMs: suspendMs }
}
