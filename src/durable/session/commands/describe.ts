/** Renders counts, costs and limits for the answers of commands. */

import type { Limits } from '#agent/core/settings.ts'
import type { Usage } from '#agent/core/usage.ts'

export const describeTurns = (count: number): string => (count === 1 ? '1 turn' : `${count} turns`)

export const describeLimit = (limit: keyof Limits): string => `The limit \`${limit}\` is reached. Try again later.`

export function describeUsage({ input, output, cachedRead, cachedWrite, costUsd, costStatus }: Usage): string {
  const tokens = `${input} tokens in, ${cachedRead} read from and ${cachedWrite} written to the cache, ${output} out`
  const cost = costStatus === 'unknown' ? 'cost unknown' : `${costUsd.toFixed(4)} USD (${costStatus})`
  return `${tokens}; ${cost}`
}
