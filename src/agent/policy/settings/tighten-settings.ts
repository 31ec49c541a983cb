/** Finds changes of policy in settings, and removes what would loosen a tenant's policy from those of a session. */

import type { Settings } from '#agent/core/settings.ts'
import { type ExpandToolsets, findSettingClass, type SettingClass } from './setting-classes.ts'

type Leaf = { readonly path: readonly string[]; readonly value: unknown }

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Lists the values of settings. A list is one value. */
function listLeaves(settings: object, path: readonly string[] = []): readonly Leaf[] {
  return Object.entries(settings).flatMap(([name, value]): readonly Leaf[] => {
    const at = [...path, name]
    return isObject(value) ? listLeaves(value, at) : value === undefined ? [] : [{ path: at, value }]
  })
}

const valueAt = (settings: object, path: readonly string[]): unknown =>
  path.reduce<unknown>((inside, name) => (isObject(inside) ? inside[name] : undefined), settings)

/** A setting that nobody has classified is policy. */
const classOf = (path: readonly string[]): SettingClass => findSettingClass(path) ?? { kind: 'fixed' }

const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other)

/** Lists the paths of the policy settings that differ. */
export function listPolicyChanges(before: Settings, after: Settings): readonly string[] {
  const paths = [...listLeaves(after), ...listLeaves(before)].map(({ path }) => path)
  const changed = paths.filter(
    (path) => classOf(path).kind !== 'preference' && !isSame(valueAt(before, path), valueAt(after, path)),
  )
  return changed.map((path) => path.join('.'))
}

export type TightenOptions = {
  readonly expand: ExpandToolsets
  /** Whether settings without an order may differ: a key with the scope `approve` sets or has set them. */
  readonly mayDiffer: boolean
}

/** Returns the part of a session's value that is at least as strict as the tenant's. */
function tightened(tenant: Settings, { path, value }: Leaf, { expand, mayDiffer }: TightenOptions): unknown {
  const found = classOf(path)
  const below = valueAt(tenant, path)
  if (found.kind === 'ordered') return found.tighten(below, value, expand)
  return found.kind === 'preference' || mayDiffer || isSame(below, value) ? value : below
}

/**
 * Returns the path of the first setting of a session that would loosen the tenant's policy. A null removes the session's
 * own value, so that the tenant's holds again.
 */
export function findLoosening(tenant: Settings, own: object, options: TightenOptions): string | undefined {
  const leaves = listLeaves(own).filter(({ value }) => value !== null)
  return leaves.find((leaf) => !isSame(tightened(tenant, leaf, options), leaf.value))?.path.join('.')
}

/** Removes what would loosen the tenant's policy from the settings of a session. */
export function tightenSettings(tenant: Settings, own: Settings, options: TightenOptions): Settings {
  const isLoose = findLoosening(tenant, own, options) !== undefined
  return isLoose ? (rebuild(own, tenant, options, []) as Settings) : own
}

function rebuild(own: object, tenant: Settings, options: TightenOptions, path: readonly string[]): object {
  const kept = Object.entries(own).flatMap(([name, value]): [string, unknown][] => {
    const at = [...path, name]
    if (isObject(value)) {
      const inside = rebuild(value, tenant, options, at)
      return Object.keys(inside).length ? [[name, inside]] : []
    }
    const rest = tightened(tenant, { path: at, value }, options)
    return rest === undefined ? [] : [[name, rest]]
  })
  return Object.fromEntries(kept)
}
