/** Applies a list of policies to a reply or a result. */

import type { View } from '#agent/core/ports.ts'
import type { Commit } from '#agent/core/turn.ts'
import type { Ruling } from '#agent/policy/policy.ts'

type Policy<Incoming> = (incoming: Incoming, view: View) => Ruling<Incoming>

/** Each policy gets the changes of those before it. The first commit ends the list. */
export function applyPolicies<Incoming extends object>(
  policies: readonly Policy<Incoming>[],
  incoming: Incoming,
  view: View,
): { readonly commit: Commit } | { readonly accepted: Incoming } {
  let accepted = incoming
  for (const policy of policies) {
    const ruling = policy(accepted, view)
    if (ruling && 'commit' in ruling) return { commit: ruling.commit as Commit }
    accepted = { ...accepted, ...ruling }
  }
  return { accepted }
}
