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

export const timeoutOf = (task: SideTask, set: number | undefined): number => (set ?? seconds[task]) * 1_000

export type Wishes = {
  /** `auxiliary.<task>.model` of the settings. */
  readonly set?: string | undefined
  /** `auxiliary.<task>.fallback_providers`: these after it, and no others. */
  readonly chain?: readonly string[] | undefined
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
export function sideModels({ set, chain, deployed, sibling, main, fallbacks, others = [] }: Wishes): readonly string[] {
  const ids = [set, ...(chain ?? [deployed, sibling, main, ...fallbacks, ...others])]
  return [...new Set(ids.filter((id) => id !== undefined && id !== ''))] as readonly string[]
}

/** Tries on one model after the first. */
const retries = 2

const transient = new Set<FailureKind>(['rate', 'upstream-rate', 'overloaded', 'server', 'network', 'malformed'])
/** It is this one task that does not fit the model: others may. */
const ofTheTask = new Set<FailureKind>([
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
const ofTheKey = new Set<FailureKind>(['auth', 'key-dead', 'quota'])

export type Next =
  /** The same model once more, after this pause. */
  | { readonly do: 'again'; readonly afterMs: number }
  /** Another model; this one rests. */
  | { readonly do: 'next'; readonly restMs: number }
  /** Somebody cancelled it. */
  | { readonly do: 'stop' }

const restMs = 600_000
const longestPauseMs = 5_000

type Failed = {
  readonly kind: FailureKind
  /** How often this model has failed in this task, this time included. */
  readonly tries: number
  /** Of its provider. */
  readonly keys: number
  readonly retryAfterMs?: number | undefined
}

export function afterFailure({ kind, tries, keys, retryAfterMs = 0 }: Failed): Next {
  if (kind === 'aborted') return { do: 'stop' }
  if (ofTheTask.has(kind)) return { do: 'next', restMs: 0 }
  if (ofTheKey.has(kind) && tries < keys) return { do: 'again', afterMs: 0 }
  if (transient.has(kind) && tries <= retries && retryAfterMs <= longestPauseMs)
    return { do: 'again', afterMs: Math.max(retryAfterMs, 500 * tries) }
  return { do: 'next', restMs }
}
