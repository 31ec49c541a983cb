/** Decides what a caller with a role may change: nothing that would give itself or others more than it has. */

import { isRiskAbove } from '#agent/core/permission/approval.ts'
import { type Authority, hasScope, type Rights } from '#agent/core/permission/authority.ts'
import type { ExpandToolsets } from './setting-classes.ts'

const approvalSettings = /^(?:approvals|auxiliary\.approval)\./

/**
 * Returns the first of these paths that the role of the authority protects: the roles themselves, and, where the role
 * limits the risk, the settings that decide which calls run unasked.
 */
export function findChangeBeyondRole(
  { entitlements, maxRisk }: Pick<Authority, 'entitlements' | 'maxRisk'>,
  changes: readonly string[],
): string | undefined {
  if (!entitlements) return undefined
  return changes.find((path) => path.startsWith('roles.') || (maxRisk !== undefined && approvalSettings.test(path)))
}

/** Whether an authority with a role may give these rights to somebody. Without a role, its scopes alone decide. */
export function mayGive(authority: Authority, given: Rights, expand: ExpandToolsets): boolean {
  const { entitlements, toolBounds = [], maxRisk } = authority
  if (!entitlements) return true
  const isWithin = (bound: readonly string[]) => {
    const own = expand(bound)
    return (given.toolBounds ?? []).some((list) => [...expand(list)].every((tool) => own.has(tool)))
  }
  return (
    given.scopes.every((scope) => hasScope(authority, scope)) &&
    toolBounds.every(isWithin) &&
    (maxRisk === undefined || (given.maxRisk !== undefined && !isRiskAbove(given.maxRisk, maxRisk)))
  )
}
