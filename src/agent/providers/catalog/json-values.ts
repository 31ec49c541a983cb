/** Reads values from untrusted JSON. A value of the wrong type counts as missing. */

export type CatalogObject = Readonly<Record<string, unknown>>

export const asObject = (value: unknown): CatalogObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as CatalogObject) : {}

export const asList = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

/** Returns a positive integer up to 10^9. */
export const asTokenCount = (value: unknown): number | undefined =>
  typeof value === 'number' && value >= 1 && value <= 1e9 ? Math.floor(value) : undefined

/** Returns an amount of USD that is given as a number or as text. */
export function asUsd(value: unknown): number | undefined {
  const amount = typeof value === 'string' && value.trim() ? Number(value) : value
  return typeof amount === 'number' && amount >= 0 && amount < 1e6 ? amount : undefined
}

export const asBoolean = (value: unknown): boolean | undefined => (typeof value === 'boolean' ? value : undefined)

/** Returns the object without its undefined properties. */
export const omitUndefined = <T extends object>(facts: { readonly [K in keyof T]: T[K] | undefined }): T =>
  Object.fromEntries(Object.entries(facts).filter(([, value]) => value !== undefined)) as T
