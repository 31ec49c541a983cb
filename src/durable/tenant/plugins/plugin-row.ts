/** Describes a stored plugin of a tenant, and addresses the part of the tenant's object that stores it. */

import type { PluginGrants, PluginManifest } from '#agent/plugins/plugin.ts'
import type { SealedSecrets } from '#durable/platform/tenant-secrets.ts'
import { tenantStub } from '#durable/platform/addresses.ts'
import { callLoaded, type LoadedCalls } from '../loaded-part.ts'
import type { PluginRows } from './plugin-rows.ts'

/** The part of a plugin that a person approves. */
export type PluginVersion = {
  /** Of the code and the grants. */
  readonly hash: string
  readonly code: string
  readonly grants: PluginGrants
  readonly manifest: PluginManifest
}

export type PluginState = {
  /** Failures of hooks since the last success. */
  readonly failures: number
  /** `paused`: by a person. `failed`: too many failures. */
  readonly stopped?: 'paused' | 'failed'
  readonly reason?: string
}

export type StoredPlugin = {
  readonly name: string
  readonly newest: PluginVersion
  /** Runs until a newer one is approved. */
  readonly approved: PluginVersion | undefined
  readonly state: PluginState
  readonly createdAt: number
  readonly updatedAt: number
}

export type PluginStatus = 'pending' | 'active' | 'paused' | 'failed'

export const statusOf = ({ newest, approved, state }: StoredPlugin): PluginStatus =>
  approved?.hash !== newest.hash ? 'pending' : (state.stopped ?? 'active')

/** An approved plugin, without its code. */
export type RunningPlugin = Omit<PluginVersion, 'code'> & {
  readonly name: string
  readonly failures: number
  /** It failed too often: only its guard acts, and blocks. */
  readonly hasFailed: boolean
}

export type PluginCatalogue = { readonly version: number; readonly plugins: readonly RunningPlugin[] }

/** The data for one call of a tool, read now: a plugin that was paused meanwhile is not there. */
export type OpenedPlugin = { readonly code: string; readonly secrets: SealedSecrets | undefined }

export type PluginLog = { readonly at: number; readonly level: 'info' | 'error'; readonly text: string }

/** The stored value that counts the changes. */
export const versionName = 'plugin version'

const methods = [
  'list',
  'find',
  'logs',
  'create',
  'update',
  'approve',
  'setPaused',
  'remove',
  'catalogue',
  'open',
  'report',
  'kv',
  'spend',
] as const
export type PluginMethod = (typeof methods)[number]

export const pluginsOf = (env: Env, tenantId: string): LoadedCalls<PluginRows, PluginMethod> =>
  callLoaded(methods, () => tenantStub(env, tenantId).plugins)
