/** Calculates what the screen of usage draws: the share of the cache, and a bar for each day. */

type Tokens = { readonly input: number; readonly cached_read: number; readonly cached_write: number }

/** In percent. `input` counts only what was neither read from the cache nor written to it. */
export function cacheShareOf({ input, cached_read: read, cached_write: written }: Tokens): number {
  return Math.round((100 * read) / Math.max(1, input + read + written))
}

export type Bar = { readonly day: string; readonly value: number; readonly unit: 'usd' | 'tokens' }
type Day = { readonly key: string; readonly cost_usd: number; readonly input: number; readonly output: number }

const dayMs = 86_400_000
const maxBars = 366

/** Returns a bar for each day between the first and the last one, in USD, or in tokens when nothing has a price. */
export function barsOf(days: readonly Day[], first: string, last: string): readonly Bar[] {
  const unit = days.some(({ cost_usd: cost }) => cost > 0) ? 'usd' : 'tokens'
  const byDay = new Map(days.map((one) => [one.key, unit === 'usd' ? one.cost_usd : one.input + one.output]))
  const bars: Bar[] = []
  for (let at = Date.parse(first); at <= Date.parse(last) && bars.length < maxBars; at += dayMs) {
    const day = new Date(at).toISOString().slice(0, 10)
    bars.push({ day, value: byDay.get(day) ?? 0, unit })
  }
  return bars.some(({ value }) => value > 0) ? bars : []
}
