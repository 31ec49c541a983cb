/**
 * Decides what an authority reaches of a tenant's memory. Memory follows the asker: who may not read the tenant's sessions
 * gets none of it, and a profile is shown to its own person only.
 */

import { type Authority, hasScope, historyReach } from '#agent/core/permission/authority.ts'

export type MemoryReach = {
  readonly canWrite: boolean
  /** The person whose profile it is. Absent: nobody in particular asks, such as a background process. */
  readonly owner?: string
  /** Several people ask: no profile is shown. */
  readonly isShared?: true
}

export type Asker = Pick<Authority, 'scopes' | 'channel' | 'principal' | 'isShared'>

/** Undefined: the authority reaches no memory. */
export function memoryReach(authority: Asker): MemoryReach | undefined {
  if (historyReach(authority).kind !== 'tenant') return undefined
  const canWrite = hasScope(authority, 'write')
  if (authority.isShared) return { canWrite, isShared: true }
  const owner = profileOwner(authority)
  return { canWrite, ...(owner !== undefined && { owner }) }
}

/**
 * People in chats and people who log in have a profile each. All other keys of a tenant are its owner's: a key that is
 * replaced must not lose the profile.
 */
function profileOwner({ principal }: Asker): string | undefined {
  if (principal.kind === 'person') return `person:${principal.connection}:${principal.person}`
  if (principal.kind !== 'key') return undefined
  // Ids of logins have a colon.
  return principal.id.includes(':') ? principal.id : 'keys'
}
