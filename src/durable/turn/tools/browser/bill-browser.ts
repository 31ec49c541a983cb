/** Bills the time of browsers that are paid by the hour: to the turn that uses them, or to the next one. */

import type { BrowserBackend } from '#agent/core/browser/browser.ts'
import type { BrowserState } from '#agent/core/browser/browser-state.ts'
import { noUsage, tallyKey, usageOfCall } from '#agent/core/usage.ts'
import { BrowserProblem } from '#backends/browser/element.ts'
import { clock } from '#durable/platform/clock.ts'
import { type BrowserHost, getKeepAliveMs } from './browser-host.ts'

/** From price lists. Undefined: it depends on the plan. */
const defaultUsdPerHour: Readonly<Record<BrowserBackend, number | undefined>> = {
  cdp: 0,
  binding: 0.09,
  browserbase: undefined,
  steel: undefined,
}
const hourMs = 3_600_000

const usdPerHour = (host: BrowserHost, backend: BrowserBackend): number | undefined =>
  host.deployment().settings.browser?.usd_per_hour ?? defaultUsdPerHour[backend]

const modelOf = (backend: BrowserBackend): string => `browser/${backend}`

/** Reserves what an unused browser costs until it ends. Throws when a limit leaves no room: then none is opened. */
export async function reserveBrowser(host: BrowserHost, backend: BrowserBackend): Promise<() => void> {
  const price = usdPerHour(host, backend)
  if (price === 0) return () => undefined
  const [billing, turn] = [host.billing(), host.openTurn()]
  const usd = price === undefined ? undefined : (price * getKeepAliveMs(host)) / hourMs
  const reserved = await billing.reserve(turn, { model: modelOf(backend), tokens: 0, usd })
  if (!reserved.ok) throw new BrowserProblem(explainRefusal(reserved.failure))
  return () => {
    reserved.release()
    if (!turn) billing.releaseSideCalls()
  }
}

const explainRefusal = ({ kind, message }: { readonly kind: string; readonly message: string }): string =>
  kind === 'unpriced'
    ? 'A limit in USD holds, and the price of this browser is unknown (setting browser.usd_per_hour). None was opened.'
    : `${message} No browser was opened.`

/**
 * Adds the time since the last bill to the usage of the session. The caller stores `billedAt` in the same synchronous
 * stretch, so that no time is billed twice. A browser that was left alone ended by itself.
 */
export function billBrowser(host: BrowserHost, state: Exclude<BrowserState, { at: 'closed' }>): { billedAt: number } {
  const billedAt = clock.now()
  const price = usdPerHour(host, state.backend)
  const ms = Math.min(billedAt - (state.billedAt ?? state.openedAt), getKeepAliveMs(host))
  if (price === 0 || ms <= 0) return { billedAt }
  const billing = host.billing()
  const costUsd = ((price ?? 0) * ms) / hourMs
  const counts = { ...noUsage, costUsd, costStatus: price === undefined ? 'unknown' : 'estimated' } as const
  const usage = usageOfCall(counts, tallyKey(modelOf(state.backend), 'browser'))
  billing.addSideCall({ id: billing.notes.nextId(), usage })
  return { billedAt }
}
