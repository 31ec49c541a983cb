/**
 * Caches the snapshot of a tenant in the isolate for a few seconds, so that the usual turn does not wait for the
 * tenant's object. A change is visible at once in the isolate that made it, and within `snapshotMaxAgeMs` elsewhere:
 * together with the checks of running sessions this keeps the promise that a suspension acts within two seconds.
 */

import type { Access } from '#agent/core/permission/access.ts'
import { BoundedMap } from '#agent/core/bounded-map.ts'
import { defaultSettings, type Limits, mergeSettings, type Settings } from '#agent/core/settings.ts'
import { tightenSettings } from '#agent/policy/settings/tighten-settings.ts'
import { expandToolsets } from '#tools/tools-for.ts'
import { mergeWindows, type Windows } from '#durable/models/learned-windows.ts'
import { isSameAddress, openKeys, type SealedKeys } from '#durable/models/credentials.ts'
import { type StoredKeyHealth, mergeHealth } from '#durable/models/key-pool.ts'
import { openSecrets, type SealedSecrets } from '#durable/platform/tenant-secrets.ts'
import { tenantStub } from '#durable/platform/addresses.ts'
import { clock } from '#durable/platform/clock.ts'

export type TenantSnapshot = {
  readonly id: string
  readonly settings: Settings
  /** The effective limits: the stricter of the operator's and the tenant's. */
  readonly limits: Limits
  /** Whether the tenant may act, and its revoked keys. Absent: no restriction. */
  readonly access?: Access | undefined
  /** When the load began. Absent: just now. */
  readonly loadedAt?: number | undefined
  /** Suspended and dead provider keys. */
  readonly keys: StoredKeyHealth
  /** Context windows that calls have learned. */
  readonly windows: Windows
  /** The tenant's own provider keys, sealed. Absent when it never had one. */
  readonly credentials?: SealedKeys | undefined
  /** The tenant's secrets for commands, sealed. Absent when it never had one. */
  readonly secrets?: SealedSecrets | undefined
  /** The version of the material for prompts. Absent when the tenant never had any. */
  readonly promptVersion?: number | undefined
  /** The version of the tools of MCP servers. Absent: there was never a server. */
  readonly mcpVersion?: number | undefined
  /** The version of the plugins. Absent: there was never one. */
  readonly pluginVersion?: number | undefined
  /** The events that outgoing webhooks want. Absent: there are none. */
  readonly outgoingEvents?: readonly string[] | undefined
  /** Somebody listens to the events of the tenant. */
  readonly isWatched?: true | undefined
}

export const snapshotMaxAgeMs = 1_000
const maxCached = 5_000
/** At this age one request loads a new snapshot; the others use the old one until it arrives. */
const refreshAfterMs = 500

/** `refreshedAt`: when the last load of a newer snapshot began. */
type CachedSnapshot = { readonly snapshot: TenantSnapshot; readonly at: number; refreshedAt: number }
const cache = new BoundedMap<string, CachedSnapshot>(maxCached)
/**
 * The number of each tenant's last change in this isolate. A snapshot that was loaded across a change may be older than
 * it and is not cached. When the map is cleared, every tenant counts as changed.
 */
const lastChanges = new Map<string, number>()
let [changeCount, clearedAt] = [0, 0]
const lastChange = (id: string): number => lastChanges.get(id) ?? clearedAt

/** A load that takes longer may have been cancelled, or its tenant cannot be reached. */
const joinMs = 100
const pollMs = 3
/** Also where the clock does not go on. */
const maxPolls = Math.ceil(joinMs / pollMs)
/** `joined`: how many requests have waited for it. Some of them may have been cancelled. */
type Load = { readonly began: number; joined: number }
/** The loads of tenants that run in this isolate. */
const loads = new BoundedMap<string, Load>(maxCached)
/** So many may look every `pollMs`. More of them look less often, or a burst would be slowed down by looking. */
const promptWaiters = 8

export async function fetchTenantSnapshot(env: Env, id: string): Promise<TenantSnapshot> {
  const now = clock.now()
  const cached = cache.get(id)
  if (cached && isWithin(refreshAfterMs, cached.at, now)) return cached.snapshot
  // The request that loads a new one may be cancelled: the others do not wait for it.
  if (cached && isWithin(snapshotMaxAgeMs, cached.at, now) && isWithin(refreshAfterMs, cached.refreshedAt, now))
    return cached.snapshot
  if (cached) cached.refreshedAt = now
  const load = loads.get(id)
  const joined = load && (await joinLoad(id, load))
  return joined ?? loadSnapshot(env, id)
}

/** A clock that was put back says nothing about the age of what was read before. */
const isWithin = (ms: number, at: number, now: number): boolean => at <= now && now - at < ms

/**
 * Waits for the load that another request has begun, so that a burst asks the tenant's object once. It looks at the cache
 * again and again: a promise of another request would never end if that request was cancelled.
 */
async function joinLoad(id: string, load: Load): Promise<TenantSnapshot | undefined> {
  load.joined++
  for (let polls = 0; polls < maxPolls && clock.now() - load.began < joinMs; polls++) {
    await clock.wait(pollMs * Math.max(1, load.joined / promptWaiters))
    const cached = cache.get(id)
    if (cached && cached.at >= load.began && cached.at <= clock.now()) return cached.snapshot
    if (loads.get(id) !== load) return undefined
  }
  return undefined
}

async function loadSnapshot(env: Env, id: string): Promise<TenantSnapshot> {
  const now = clock.now()
  const before = lastChange(id)
  const load: Load = { began: now, joined: 0 }
  loads.set(id, load)
  try {
    const snapshot = { ...(await tenantStub(env, id).snapshot()), loadedAt: now }
    mergeHealth(id, snapshot.keys)
    mergeWindows(id, snapshot.windows)
    await Promise.all([openKeys(env, snapshot), openSecrets(env, snapshot)])
    if (lastChange(id) === before) cache.set(id, { snapshot, at: now, refreshedAt: now })
    return snapshot
  } finally {
    if (loads.get(id) === load) loads.delete(id)
  }
}

/** Drops the cached snapshot after a change of the tenant. */
export function forgetSnapshot(id: string): void {
  cache.delete(id)
  if (lastChanges.size > maxCached) {
    lastChanges.clear()
    clearedAt = ++changeCount
  }
  lastChanges.set(id, ++changeCount)
}

const sharedSettings = new BoundedMap<string, { readonly text: string; readonly settings: Settings }>(maxCached)

/**
 * Replaces equal settings of a tenant by one object, so that routes and limits are resolved once for all of its
 * sessions.
 */
export function shareSettings(snapshot: TenantSnapshot): TenantSnapshot {
  const { id, settings } = snapshot
  const text = JSON.stringify(settings)
  const shared = sharedSettings.get(id)
  if (shared?.text === text) return { ...snapshot, settings: shared.settings }
  sharedSettings.set(id, { text, settings })
  return snapshot
}

/**
 * Merges the settings of a session over the tenant's. What would loosen the tenant's policy is left out, however it was
 * stored. The session's approval rules come before the tenant's.
 */
export function effectiveSettings(tenant: Settings, stored: Settings, mayDiffer: boolean): Settings {
  if (!Object.keys(stored).length) return tenant
  const session = tightenSettings(tenant, stored, { expand: expandToolsets, mayDiffer })
  const merged = mergeSettings(withoutHeaders(tenant, session), session)
  const rules = [...(session.approvals?.rules ?? []), ...(tenant.approvals?.rules ?? [])]
  return rules.length ? { ...merged, approvals: { ...merged.approvals, rules } } : merged
}

/** Removes the tenant's headers for providers whose address the session changes: headers may be secrets. */
function withoutHeaders(tenant: Settings, { providers = {} }: Settings): Settings {
  const moved = Object.entries(providers).filter(
    ([name, own]) => !isSameAddress(own.base_url, tenant.providers?.[name]?.base_url),
  )
  const none = Object.fromEntries(moved.map(([name]) => [name, { headers: null }]))
  return moved.length ? mergeSettings(tenant, { providers: none }) : tenant
}

/** Returns the budget of a turn: as requested, else of the settings. A subagent has its own default. */
export function maxTurns({ agent, delegation }: Settings, requested: number | undefined, source = ''): number {
  if (requested !== undefined) return requested
  return source === 'subagent'
    ? (delegation?.max_iterations ?? defaultSettings.subagentTurns)
    : (agent?.max_turns ?? defaultSettings.maxTurns)
}
