/** Addresses the part of a tenant's object that stores failures of tools and what fixed them. */

import type { Fix } from '#agent/skills/learning/fixes.ts'
import { callLoaded, type LoadedCalls } from '../loaded-part.ts'
import type { TenantDO } from '../tenant-object.ts'
import type { StoredFixes } from './stored-fixes.ts'

export type StoredFix = Fix & { readonly uses: number }
/** `isForeign`: a turn that had read texts of strangers has kept it, or nobody knows. */
export type FoundFix = StoredFix & { readonly isForeign: boolean }
export type ListedFix = FoundFix & {
  readonly id: string
  readonly tags: readonly string[]
}

const methods = ['record', 'list', 'find', 'save', 'tag', 'merge', 'remove'] as const
export type FixMethod = (typeof methods)[number]

export const fixesOf = (tenant: DurableObjectStub<TenantDO>): LoadedCalls<StoredFixes, FixMethod> =>
  callLoaded(methods, () => tenant.fixes)
