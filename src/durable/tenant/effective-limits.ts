/** Resolves the limits of a tenant: the stricter of what the operator and the tenant itself have set. */

import { knownLimits, type Limits, type Settings } from '#agent/core/settings.ts'
import type { StoredValues } from './stored-values.ts'

/** The answer of a check against a limit. `retryAfter` is in seconds. */
export type Admission =
  | { readonly ok: true }
  | { readonly ok: false; readonly limit: keyof Limits; readonly retryAfter: number }

export const effectiveLimits = (values: StoredValues): Limits =>
  stricter(knownLimits(values.get<Limits>('limits') ?? {}), values.get<Settings>('settings')?.limits ?? {})

/** Merges two sets of limits: the smaller value of each field. */
export function stricter(a: Limits, b: Limits): Limits {
  const merged: Record<string, number | undefined> = { ...a }
  for (const [name, value] of Object.entries(b)) merged[name] = Math.min(value ?? Infinity, merged[name] ?? Infinity)
  return merged
}
