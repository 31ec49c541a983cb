/** Validates the numbers of a provider's usage report. They arrive as unchecked JSON. */

export const isAmount = (value: unknown): value is number => typeof value === 'number' && value >= 0 && value < 1e12

/** Returns 0 for anything that is not a valid number of tokens. */
export const toTokenCount = (value: unknown): number => (isAmount(value) ? Math.floor(value) : 0)
