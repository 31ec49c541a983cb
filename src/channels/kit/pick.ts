/** Reads fields of unknown JSON by their path. Never throws: a field of another type is absent. */

import { isJsonObject } from '#agent/core/parse-json.ts'

export const pick = (value: unknown, ...path: readonly (string | number)[]): unknown =>
  path.reduce<unknown>((inner, key) => {
    if (Array.isArray(inner)) return typeof key === 'number' ? inner[key] : undefined
    return isJsonObject(inner) && Object.hasOwn(inner, key) ? inner[key] : undefined
  }, value)

/** Undefined for an empty text. A number becomes its digits. */
export function pickText(value: unknown, ...path: readonly (string | number)[]): string | undefined {
  const found = pick(value, ...path)
  if (typeof found === 'number' && Number.isFinite(found)) return String(found)
  return (typeof found === 'string' && found) || undefined
}

export function pickNumber(value: unknown, ...path: readonly (string | number)[]): number | undefined {
  const found = pick(value, ...path)
  return typeof found === 'number' ? found : undefined
}

export function pickList(value: unknown, ...path: readonly (string | number)[]): readonly unknown[] {
  const found: unknown = pick(value, ...path)
  return Array.isArray(found) ? found : []
}

export const isList = (value: unknown): value is readonly unknown[] => Array.isArray(value)
