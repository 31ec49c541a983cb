/** Reads values of a document of somebody else: what is not of the right kind is not there. */

export type Document = Readonly<Record<string, unknown>>

export const objectIn = (value: unknown): Document =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Document) : {}

export const listIn = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])

/** A number of tokens. */
export const tokensIn = (value: unknown): number | undefined =>
  typeof value === 'number' && value >= 1 && value <= 1e9 ? Math.floor(value) : undefined

/** An amount of USD, as a number or as text. */
export function amountIn(value: unknown): number | undefined {
  const amount = typeof value === 'string' && value.trim() ? Number(value) : value
  return typeof amount === 'number' && amount >= 0 && amount < 1e6 ? amount : undefined
}

export const flagIn = (value: unknown): boolean | undefined => (typeof value === 'boolean' ? value : undefined)

/** Without what is undefined. */
export const present = <T extends object>(facts: { readonly [K in keyof T]: T[K] | undefined }): T =>
  Object.fromEntries(Object.entries(facts).filter(([, value]) => value !== undefined)) as T
