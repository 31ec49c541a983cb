/** Reads values of a document of somebody else: what is not of the right kind is not there. */

export type JsonObject = Readonly<Record<string, unknown>>

export const asObject = (value: unknown): JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : {}

export const asList = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

/** A number of tokens. */
export const asTokenCount = (value: unknown): number | undefined =>
  typeof value === 'number' && value >= 1 && value <= 1e9 ? Math.floor(value) : undefined

/** An amount of USD, as a number or as text. */
export function asUsd(value: unknown): number | undefined {
  const amount = typeof value === 'string' && value.trim() ? Number(value) : value
  return typeof amount === 'number' && amount >= 0 && amount < 1e6 ? amount : undefined
}

export const asBoolean = (value: unknown): boolean | undefined => (typeof value === 'boolean' ? value : undefined)

/** Without what is undefined. */
export const omitUndefined = <T extends object>(facts: { readonly [K in keyof T]: T[K] | undefined }): T =>
  Object.fromEntries(Object.entries(facts).filter(([, value]) => value !== undefined)) as T
