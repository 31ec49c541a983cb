/** Lends the browser of a session to a person: while the lease holds, no tool acts in it. */

import type { BrowserAction, BrowserAnswer } from '#agent/core/browser/browser.ts'
import type { OpenBrowser } from '#agent/core/browser/browser-state.ts'
import { clock } from '#durable/platform/clock.ts'
import type { BrowserHost } from './browser-host.ts'

const leaseMs = 15 * 60_000

const personKinds: ReadonlySet<BrowserAction['kind']> = new Set(['screen', 'input'])

/** The reason why an action may not be done now. */
export function findLeaseProblem(
  state: Pick<OpenBrowser, 'lease'>,
  { kind }: BrowserAction,
  isPerson: boolean,
): string | undefined {
  const isHeld = (state.lease?.until ?? 0) > clock.now()
  if (isPerson)
    return isHeld || kind === 'screen' || kind === 'takeBack'
      ? undefined
      : 'The agent has the browser. It gives it to you when it asks.'
  if (personKinds.has(kind)) return 'Only a person does this.'
  return isHeld && kind !== 'takeBack'
    ? `A person has the browser until they give it back, or ${new Date(state.lease?.until ?? 0).toISOString()}. Do something else meanwhile.`
    : undefined
}

/** The address of the live view. Without `PUBLIC_URL` it is that of the page itself. */
function viewOf({ env, sessionId }: BrowserHost): { readonly url: string; readonly host: string } {
  const origin = env.PUBLIC_URL?.replace(/\/{1,20}$/, '') ?? ''
  const place = `${origin}/#/browser/${encodeURIComponent(sessionId)}`
  return { url: place, host: URL.parse(origin)?.host ?? '' }
}

export function handOver(host: BrowserHost, state: OpenBrowser, reason: string): BrowserAnswer {
  const until = clock.now() + leaseMs
  // The time of its last use keeps the browser open as long as the person may need it.
  host.row.put({ ...state, lease: { until, reason }, isGuarded: true, usedAt: until })
  host.arm()
  return { kind: 'done', value: { ...viewOf(host), until } }
}

export function endLease({ row }: BrowserHost, state: OpenBrowser): OpenBrowser {
  const { lease: _lease, ...rest } = state
  const free = { ...rest, usedAt: clock.now() }
  row.put(free)
  return free
}
