/**
 * What a request needs to know of its tenant, kept in the isolate for a few seconds, so that the usual
 * turn does not wait for the tenant's object. A change is seen at once where it was made and within
 * `freshMs` elsewhere.
 */

import { BoundedMap } from '../../agent/model/bounded.ts'
import { defaultSettings, type Limits, mergeSettings, type Settings } from '../../agent/model/settings.ts'
import { takeWindows, type Windows } from '../models/learned-windows.ts'
import { isSameAddress, openKeys, type SealedKeys } from '../models/credentials.ts'
import { type KeptHealth, learnHealth } from '../models/key-pool.ts'
import { tenantStub } from './tenant-stub.ts'
import { clock } from '../platform/clock.ts'

export type TenantSnapshot = {
  readonly id: string
  readonly settings: Settings
  /** The stricter of what the operator and the tenant set. */
  readonly limits: Limits
  /** Provider keys that rest or are dead. */
  readonly keys: KeptHealth
  /** Windows of models that were found out by asking for too much. */
  readonly windows: Windows
  /** Keys of providers that are the tenant's own; absent where there never was one. */
  readonly credentials?: SealedKeys | undefined
}

export const freshMs = 5_000
/** From this age on one request asks anew; the others go on with what is known until it has its answer. */
const agingMs = 2_500

/** `asked`: when somebody began to ask for a newer one. */
type Kept = { readonly snapshot: TenantSnapshot; readonly at: number; asked: number }
const kept = new BoundedMap<string, Kept>(5_000)
/**
 * Which change of a tenant was the last one here: an answer that was on its way meanwhile may be from before. Changes
 * are numbered through all tenants; one that is not known any more may be as late as `forgotten`.
 */
const changes = new Map<string, number>()
let [counted, forgotten] = [0, 0]
const lastChange = (id: string): number => changes.get(id) ?? forgotten

export async function tenantSnapshot(env: Env, id: string): Promise<TenantSnapshot> {
  const now = clock.now()
  const known = kept.get(id)
  if (known && now - known.at < agingMs) return known.snapshot
  // Whoever asks may be cancelled, so nobody waits for another's answer.
  if (known && now - known.at < freshMs && now - known.asked < agingMs) return known.snapshot
  if (known) known.asked = now
  const before = lastChange(id)
  const snapshot = await tenantStub(env, id).snapshot()
  learnHealth(id, snapshot.keys)
  takeWindows(id, snapshot.windows)
  await openKeys(env, snapshot)
  if (lastChange(id) === before) kept.set(id, { snapshot, at: now, asked: now })
  return snapshot
}

export function forgetSnapshot(id: string): void {
  kept.delete(id)
  if (changes.size > 5_000) {
    changes.clear()
    forgotten = ++counted
  }
  changes.set(id, ++counted)
}

const shared = new BoundedMap<string, { readonly text: string; readonly settings: Settings }>(5_000)

/**
 * Equal settings of a tenant are one object, however often they arrive: what is worked out from them (routes, limits)
 * is worked out once for all of its sessions.
 */
export function sharing(snapshot: TenantSnapshot): TenantSnapshot {
  const { id, settings } = snapshot
  const text = JSON.stringify(settings)
  const known = shared.get(id)
  if (known?.text === text) return { ...snapshot, settings: known.settings }
  shared.set(id, { text, settings })
  return snapshot
}

/** What holds for a session. Its own rules of approval come before the tenant's and never take their place. */
export function effective(tenant: Settings, session: Settings): Settings {
  if (!Object.keys(session).length) return tenant
  const merged = mergeSettings(withoutHeaders(tenant, session), session)
  const rules = [...(session.approvals?.rules ?? []), ...(tenant.approvals?.rules ?? [])]
  return rules.length ? { ...merged, approvals: { ...merged.approvals, rules } } : merged
}

/** Headers may be secrets: those of the tenant do not follow a session to another address. */
function withoutHeaders(tenant: Settings, { providers = {} }: Settings): Settings {
  const moved = Object.entries(providers).filter(
    ([name, own]) => !isSameAddress(own.base_url, tenant.providers?.[name]?.base_url),
  )
  const none = Object.fromEntries(moved.map(([name]) => [name, { headers: null }]))
  return moved.length ? mergeSettings(tenant, { providers: none }) : tenant
}

/** A subagent has a budget of its own: what its parent may do says nothing about it. */
export function maxTurns({ agent, delegation }: Settings, asked: number | undefined, source = ''): number {
  if (asked !== undefined) return asked
  return source === 'subagent'
    ? (delegation?.max_iterations ?? defaultSettings.subagentTurns)
    : (agent?.max_turns ?? defaultSettings.maxTurns)
}
