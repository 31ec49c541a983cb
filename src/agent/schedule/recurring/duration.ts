/** Parses and renders short durations: `90s`, `5m`, `2 hours`. */

const unitMs = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const
type Unit = keyof typeof unitMs

const pattern = /^(\d{1,6}) ?(s|m|h|d|sec|secs|seconds?|min|mins|minutes?|hours?|days?)$/

/** Undefined for a text that is no duration. */
export function parseDuration(text: string): number | undefined {
  const [, count, unit] = pattern.exec(text.toLowerCase()) ?? []
  return count === undefined || unit === undefined ? undefined : Number(count) * unitMs[unit[0] as Unit]
}

/** Splits `every 5m TEXT` or `5 minutes TEXT`. `ms` is absent without a duration. */
export function splitDuration(words: string): { readonly ms?: number; readonly text: string } {
  const [, rest = ''] = /^(?:every\s+)?(.*)$/is.exec(words) ?? []
  for (const count of [2, 1]) {
    const parts = rest.split(/\s+/, count)
    const ms = parseDuration(parts.join(' '))
    if (ms !== undefined) return { ms, text: skipWords(rest, count) }
  }
  return { text: words }
}

function skipWords(text: string, count: number): string {
  let rest = text
  for (let n = 0; n < count; n++) rest = rest.replace(/^\S+\s*/, '')
  return rest
}

export function renderDuration(ms: number): string {
  const units = (['d', 'h', 'm'] as const).find((one) => ms >= unitMs[one] && ms % unitMs[one] === 0) ?? 's'
  return `${Math.round(ms / unitMs[units])}${units}`
}
