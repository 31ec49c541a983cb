/** Shows the browser of a session to a person, and does there what they do. Loaded with the first look. */

import type { BrowserAction } from '#agent/core/browser/browser.ts'
import { clock } from '#durable/platform/clock.ts'
import { withDeadline } from '#durable/platform/timeout.ts'
import type { SessionBrowser } from '#durable/turn/tools/browser/session-browser.ts'

export type BrowserView = {
  readonly open: boolean
  readonly url: string | null
  readonly handed_over_until: string | null
  readonly reason: string | null
}

export type ShownScreen =
  | { readonly error: string }
  | { readonly width: number; readonly height: number; readonly jpeg: string }

const timeoutMs = 30_000

const act = (browser: SessionBrowser, action: BrowserAction) =>
  withDeadline(timeoutMs, (signal) => browser.act(action, { callId: 'person', signal, isPerson: true }))

export function describeBrowser({ state }: SessionBrowser): BrowserView {
  if (state?.at !== 'open') return { open: false, url: null, handed_over_until: null, reason: null }
  const { url, lease } = state
  const isHeld = lease !== undefined && lease.until > clock.now()
  return {
    open: true,
    url,
    handed_over_until: isHeld ? new Date(lease.until).toISOString() : null,
    reason: isHeld ? lease.reason : null,
  }
}

/** The picture shows what the action has led to. */
export async function actForPerson(
  browser: SessionBrowser,
  action: Extract<BrowserAction, { kind: 'screen' | 'input' }>,
): Promise<ShownScreen> {
  const done = action.kind === 'input' ? await act(browser, action) : undefined
  if (done?.kind === 'failed') return { error: done.error }
  const shown = await act(browser, { kind: 'screen' })
  if (shown.kind === 'failed') return { error: shown.error }
  const { width, height } = shown.value['view'] as { readonly width: number; readonly height: number }
  return { width, height, jpeg: shown.image ?? '' }
}

/** False: nobody had it. */
export async function giveBack(browser: SessionBrowser): Promise<true | undefined> {
  if (describeBrowser(browser).handed_over_until === null) return undefined
  await act(browser, { kind: 'takeBack', isDone: true })
  return true
}
