/**
 * Resolves roles: named limits of scopes, tools and risks in the settings of a tenant. Keys, login rules and channels
 * name them. The name is stored, not the limits, so that a change of a role acts on all who have it.
 */

import { isRiskAbove, type Risk } from './approval.ts'
import { type Authority, type Entitlement, narrow, type Rights, type Scope, scopes } from './authority.ts'

export type Role = {
  readonly scopes: readonly Scope[]
  readonly toolsets?: readonly string[] | undefined
  readonly max_risk?: Risk | undefined
}
export type Roles = Readonly<Record<string, Role>>

/** An authority whose roles are not resolved yet. It has no scopes, so that nothing can be done with it. */
export type Identity = Omit<Authority, keyof Rights | 'entitlements'> & {
  readonly entitlements: readonly Entitlement[]
  /** The sign-in that a cookie or a link comes from. It is no part of the authority: turns go on behind a sign-out. */
  readonly login?: string
}

const noRights: Rights = { scopes: [], toolBounds: [[]], maxRisk: 'none' }

/** Adds up the rights of several entitlements. One whose role does not exist any more gives none. */
export function resolveRights(entitlements: readonly Entitlement[], roles: Roles): Rights {
  const all = entitlements.map((one) => limitByRole(one, roles)).filter((rights) => rights.scopes.length)
  const [first, ...others] = all
  return first ? others.reduce(addRights, first) : noRights
}

function limitByRole({ scopes: held, role: name }: Entitlement, roles: Roles): Rights {
  if (name === undefined) return { scopes: held }
  const role = Object.hasOwn(roles, name) ? roles[name] : undefined
  if (!role) return noRights
  return {
    scopes: held.filter((scope) => role.scopes.includes(scope)),
    ...(role.toolsets && { toolBounds: [role.toolsets] }),
    ...(role.max_risk && { maxRisk: role.max_risk }),
  }
}

/** Each has one list of tools at most. */
function addRights(one: Rights, other: Rights): Rights {
  const [tools, otherTools] = [one.toolBounds?.[0], other.toolBounds?.[0]]
  return {
    scopes: scopes.filter((scope) => one.scopes.includes(scope) || other.scopes.includes(scope)),
    ...(tools && otherTools && { toolBounds: [[...new Set([...tools, ...otherTools])]] }),
    ...(one.maxRisk &&
      other.maxRisk && { maxRisk: isRiskAbove(one.maxRisk, other.maxRisk) ? one.maxRisk : other.maxRisk }),
  }
}

export function resolveAuthority(given: Identity, roles: Roles): Authority {
  const { entitlements, login: _, ...identity } = given
  const hasRole = entitlements.some(({ role }) => role !== undefined)
  return { ...identity, ...resolveRights(entitlements, roles), ...(hasRole && { entitlements }) }
}

/**
 * Narrows an authority by the roles of its holder and of its contributors as they are now. A role that became wider since
 * it was resolved adds nothing. Returns the same object where no role is named.
 */
export function narrowByRoles<T extends Authority>(authority: T, roles: Roles | undefined): T {
  const { entitlements: own, contributors = [] } = authority
  if (!roles) return authority
  const held = own ? narrow(authority, resolveRights(own, roles)) : authority
  const joint = contributors.reduce<Authority>((narrowed, { entitlements }) => {
    if (!entitlements) return narrowed
    const rights = resolveRights(entitlements, roles)
    return narrow(narrowed, { ...rights, scopes: [...rights.scopes, 'chat'] })
  }, held)
  return joint as T
}

/** The first role of the authority that was deleted. */
export const findDeletedRole = ({ entitlements = [] }: Pick<Authority, 'entitlements'>, roles: Roles) =>
  entitlements.flatMap(({ role }) => (role !== undefined && !Object.hasOwn(roles, role) ? [role] : []))[0]
