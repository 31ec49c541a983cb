/** A browser session of the tests: it keeps the stored state between calls, which each attach anew. */

import type { OpenBrowser } from '#agent/core/browser/browser-state.ts'
import { CdpError, type CdpSocket } from '#backends/browser/cdp.ts'
import type { PageAction } from '#backends/browser/perform.ts'
import { openPage, usePage } from '#backends/browser/use-page.ts'
import { type BrowserVendor, type BrowserWires, openEndpoint } from '#backends/browser/vendors.ts'
import type { NetworkGuard } from '#backends/browser/request-guard.ts'

type Schedule = BrowserWires['schedule']

const schedule: Schedule = (ms, work) => {
  const timer = setTimeout(work, ms)
  return () => clearTimeout(timer)
}

/** The wires of Node. */
export const wires: BrowserWires = {
  schedule,
  openSocket: async (url) => {
    const socket = new WebSocket(url)
    await new Promise<void>((resolve, reject) => {
      socket.addEventListener('open', () => resolve())
      socket.addEventListener('error', () => reject(new CdpError('closed', 'The connection was refused.')))
    })
    return socket as unknown as CdpSocket
  },
  fetch: (url, init) => fetch(url, init),
}

export type BrowserSession = {
  readonly state: () => OpenBrowser
  /** Performs one action and returns what the model sees. Rejects with the message that the model gets. */
  readonly act: (action: PageAction) => Promise<Readonly<Record<string, unknown>>>
  readonly go: (url: string) => Promise<string>
  readonly snapshot: (isFull?: boolean) => Promise<string>
  readonly choose: (dialog: OpenBrowser['dialog']) => void
  readonly stored: string[]
  /** The milliseconds that the calls meant to wait so far. A busy machine adds none to them, as it does to a clock. */
  readonly waitedMs: () => number
  readonly close: () => Promise<void>
}

export async function newBrowserSession(
  url: string,
  network: NetworkGuard,
  {
    reachesPrivate = false,
    vendor = openEndpoint({ url, reachesPrivate }, wires),
    protect = {},
  }: {
    readonly reachesPrivate?: boolean
    readonly vendor?: BrowserVendor
    /** Protected values. */
    readonly protect?: Pick<Parameters<typeof usePage>[3], 'redact' | 'openField'>
  } = {},
): Promise<BrowserSession> {
  const browser = await vendor.acquire()
  const targetId = await openPage(vendor, browser)
  const stored: string[] = []
  let waitedMs = 0
  const countWaits: Schedule = (ms, work) =>
    schedule(ms, () => {
      waitedMs += ms
      work()
    })
  let state: OpenBrowser = {
    at: 'open',
    backend: vendor.kind,
    sessionId: browser.sessionId,
    targetId,
    frames: [],
    snapshotNo: 0,
    url: 'about:blank',
    openedAt: 0,
    usedAt: 0,
  }
  const limitText = async (text: string) => {
    stored.push(protect.redact?.(text) ?? text)
    return text
  }
  const act = async (action: PageAction) => {
    const isFirst = state.url === 'about:blank'
    const options = {
      vendor,
      network,
      schedule: countWaits,
      isFirst,
      limitText,
      runInBackground: () => undefined,
      ...protect,
    }
    const { value, change, error } = await usePage(action, state, browser, options)
    // What is stored is JSON.
    state = JSON.parse(JSON.stringify({ ...state, ...change })) as OpenBrowser
    return error === undefined ? value : { ...value, error }
  }
  return {
    state: () => state,
    stored,
    waitedMs: () => waitedMs,
    act,
    go: async (to) => String((await act({ kind: 'navigate', url: to }))['snapshot']),
    snapshot: async (isFull = false) => String((await act({ kind: 'snapshot', isFull }))['snapshot']),
    choose: (dialog) => {
      state = { ...state, dialog }
    },
    close: () => vendor.release(browser),
  }
}

/** The reference of the first line that contains the text. */
export function refOf(snapshot: string, text: string): string {
  const [, ref] =
    new RegExp(`^.*${text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}.*\\[ref=([^\\]]+)\\]`, 'm').exec(snapshot) ?? []
  if (ref === undefined) throw new Error(`no reference for ${text} in:\n${snapshot.slice(0, 2_000)}`)
  return ref
}
