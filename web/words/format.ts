/** Formats times, sizes and money in the language of the page. */

import { language } from './words.ts'

export const formatTime = (at: string): string =>
  new Date(at).toLocaleTimeString(language.value, { hour: '2-digit', minute: '2-digit' })
export const formatDate = (at: string): string =>
  new Date(at).toLocaleString(language.value, { dateStyle: 'medium', timeStyle: 'short' })
const midnightOf = (date: Date): number => new Date(date).setHours(0, 0, 0, 0)

/** Today and yesterday by their names. */
export function formatDay(at: string, now = new Date()): string {
  const date = new Date(at)
  // Days have 23 to 25 hours.
  const days = Math.round((midnightOf(date) - midnightOf(now)) / 86_400_000)
  if (days === 0 || days === -1) {
    const name = new Intl.RelativeTimeFormat(language.value, { numeric: 'auto' }).format(days, 'day')
    return name.charAt(0).toLocaleUpperCase(language.value) + name.slice(1)
  }
  return date.toLocaleDateString(language.value, { dateStyle: 'medium' })
}
export const formatNumber = (value: number): string => value.toLocaleString(language.value)
export const formatCost = (usd: number): string =>
  usd.toLocaleString(language.value, {
    style: 'currency',
    currency: 'USD',
    maximumFractionDigits: usd && usd < 0.1 ? 4 : 2,
  })

export function formatBytes(bytes: number): string {
  const unit = bytes < 1_024 ? 0 : bytes < 1_048_576 ? 1 : 2
  const value = bytes / 1_024 ** unit
  return `${value.toLocaleString(language.value, { maximumFractionDigits: unit ? 1 : 0 })} ${['B', 'KiB', 'MiB'][unit]}`
}

export function formatDuration(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`
  const seconds = (ms / 1_000).toLocaleString(language.value, { maximumFractionDigits: ms < 10_000 ? 1 : 0 })
  return ms < 60_000 ? `${seconds} s` : `${Math.floor(ms / 60_000)} min`
}
