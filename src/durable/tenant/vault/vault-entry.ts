/** Defines the entries of the vault of a tenant, and calls the part of its object that stores them. */

import { tenantStub } from '#durable/platform/addresses.ts'
import type { SecretOwner } from '#durable/platform/seal.ts'
import { callLoaded, type LoadedCalls } from '../loaded-part.ts'
import type { VaultRows } from './vault-rows.ts'

/** The part that anybody of the tenant may see. */
export type VaultView = {
  readonly name: string
  /** The names of its fields. */
  readonly fields: readonly string[]
  /** Exact origins, as `https://shop.example.com`: only their pages get the values. */
  readonly origins: readonly string[]
  /** Those of them where nobody is asked before a value is filled in. */
  readonly unasked: readonly string[]
  readonly createdAt: number
}

/** `sealed`: the values by field as JSON. */
export type VaultEntry = VaultView & { readonly sealed: string }

export const maxVaultEntries = 100
export const maxVaultFields = 20

/** The cookies of a browser that outlast it. */
export type BrowserProfile = { readonly name: string; readonly savedAt: number; readonly sealed: string }

export const maxProfiles = 20
export const maxProfileChars = 400_000

export const vaultOwner = (tenant: string, name: string): SecretOwner => ({ tenant, kind: 'vault', id: name })
export const profileOwner = (tenant: string, name: string): SecretOwner => ({
  tenant,
  kind: 'browser-profile',
  id: name,
})

const methods = [
  'list',
  'put',
  'change',
  'remove',
  'reseal',
  'listProfiles',
  'profile',
  'putProfile',
  'removeProfile',
  'resealProfile',
] as const
export type VaultMethod = (typeof methods)[number]

export const vaultOf = (env: Env, tenantId: string): LoadedCalls<VaultRows, VaultMethod> =>
  callLoaded(methods, () => tenantStub(env, tenantId).browsers)
