/**
 * Decides who may change what people in chats may do. A key with a role lets nobody in who would have more rights than it
 * has.
 */

import { hasScope } from '#agent/core/permission/authority.ts'
import { type ChannelSettings, channelSettings, getEntitlement } from '#channels/settings.ts'
import type { RouteCall } from '../route.ts'
import { requireKnownRole, requireMayGive } from './given-rights.ts'
import { policyError } from './settings-patch.ts'

type PolicyCaller = Pick<RouteCall<unknown, unknown>, 'authority' | 'tenant'>

/** The settings that say who may write, and what they may do. */
const rightsFields = [
  'allow_users',
  'allow_chats',
  'allow_bots',
  'admins',
  'same_person',
  'search_scope',
  'jobs',
  'role',
  'admin_role',
] as const

/** The scope `approve` in chats, reading beyond them and roles are policy. `before`: undefined for a new channel. */
export function requireChannelPolicy(
  caller: PolicyCaller,
  before: ChannelSettings | undefined,
  after: ChannelSettings,
): void {
  const old = before ?? channelSettings.parse({})
  const changed = rightsFields.filter((name) => JSON.stringify(after[name]) !== JSON.stringify(old[name]))
  for (const field of ['role', 'admin_role'] as const)
    if (changed.includes(field)) requireKnownRole(after[field], rolesOf(caller), `settings.${field}`)
  const isNew = before === undefined
  const policy = changed.find(
    (name) =>
      (name === 'admins' && after.admins.some((person) => !old.admins.includes(person))) ||
      (name === 'search_scope' && after.search_scope === 'tenant') ||
      (name === 'jobs' && rank(after.jobs) > rank(old.jobs)) ||
      // It hands the conversations of one person to another.
      name === 'same_person' ||
      (!isNew && (name === 'role' || name === 'admin_role')),
  )
  if (policy && !hasScope(caller.authority, 'approve'))
    throw policyError(`settings.${policy}`, 'Changing it needs a key with the scope "approve".')
  if (isNew || changed.length) requireMayLetIn(caller, after)
}

/** Throws unless the caller may give everybody in the channel the rights that they have there. */
function requireMayLetIn({ authority, tenant }: PolicyCaller, settings: ChannelSettings): void {
  const roles = rolesOf({ tenant })
  requireMayGive(authority, getEntitlement(settings, false), { roles, param: 'settings.role' })
  if (settings.admins.length)
    requireMayGive(authority, getEntitlement(settings, true), { roles, param: 'settings.admins' })
}

/** A holder of the secrets can send events in the name of everybody who may write. */
export function requireSecretsPolicy(caller: PolicyCaller, settings: ChannelSettings): void {
  requireMayLetIn(caller, settings)
  if (settings.admins.length && !hasScope(caller.authority, 'approve'))
    throw policyError(
      'secrets',
      'A holder of these secrets can act as an admin of the channel. Changing them needs a key with the scope "approve".',
    )
}

/** A person who is paired may write to every channel of the platform. */
export const requireMayPair = ({ authority, tenant }: PolicyCaller, settings: ChannelSettings): void =>
  requireMayGive(authority, getEntitlement(settings, false), { roles: rolesOf({ tenant }), param: 'platform' })

const rolesOf = ({ tenant: { access } }: Pick<PolicyCaller, 'tenant'>) => access?.roles ?? {}

const rank = (jobs: ChannelSettings['jobs']): number => ['nobody', 'admins', 'everybody'].indexOf(jobs)
