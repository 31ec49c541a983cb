/** Acquires, connects and releases browsers: Browser Run, any DevTools endpoint, Browserbase and Steel. */

import * as z from 'zod'
import { parseJson } from '#agent/core/parse-json.ts'
import type { ScheduleTimer } from '#agent/core/clock.ts'
import type { BrowserBackend } from '#agent/core/browser/browser.ts'
import { CdpConnection, CdpError, type CdpSocket } from './cdp.ts'
import { BrowserProblem } from './element.ts'

/** A browser that was acquired. `url` is the address of its connection, and a secret. */
export type AcquiredBrowser = { readonly sessionId: string; readonly url?: string }

type ConnectOptions = { readonly signal?: AbortSignal | undefined }

export type BrowserVendor = {
  readonly kind: BrowserBackend
  /** The browser reaches a private network, and nothing in front of it refuses private addresses. */
  readonly reachesPrivate: boolean
  readonly acquire: () => Promise<AcquiredBrowser>
  readonly connect: (browser: AcquiredBrowser, options?: ConnectOptions) => Promise<CdpConnection>
  /** A browser that is already gone is released. Rejects when the vendor cannot be asked. */
  readonly release: (browser: AcquiredBrowser) => Promise<void>
  /** The browser context of the session, where sessions share a browser. */
  readonly contextOf: (browser: AcquiredBrowser) => string | undefined
}

/** The ways out of the process, which tests replace. */
export type BrowserWires = {
  readonly schedule: ScheduleTimer
  /** Opens a WebSocket; rejects with a `CdpError` when it is refused. */
  readonly openSocket: (url: string) => Promise<CdpSocket>
  /** Sends a request to an address of the deployment. */
  readonly fetch: (url: string, init?: RequestInit) => Promise<Response>
}

const connectTo = async (url: string, { openSocket, schedule }: BrowserWires, { signal }: ConnectOptions = {}) =>
  new CdpConnection(await openSocket(url), { schedule, signal })

const jsonHeaders = { 'content-type': 'application/json' }

/** Reads the answer of a vendor. A limit says when to try again; a browser that is gone is an error of its own. */
async function readAnswer<T>(response: Response, who: string, schema: z.ZodType<T>): Promise<T> {
  if (response.ok) return parseAnswer(parseJson(await response.text()), who, schema)
  await response.body?.cancel()
  if (response.status === 429) {
    const wait = Number(response.headers.get('retry-after'))
    const when = wait > 0 ? `in ${Math.ceil(wait)} s` : 'in a minute'
    throw new BrowserProblem(`${who} has no free browser now. Try again ${when}, or go on without one.`)
  }
  if (response.status === 401 || response.status === 403 || response.status === 402)
    throw new BrowserProblem(`${who} refused the key or the plan (${response.status}). Tell the user.`)
  throw new BrowserProblem(`${who} could not open a browser (${response.status}). Try again later.`)
}

function parseAnswer<T>(body: unknown, who: string, schema: z.ZodType<T>): T {
  const { data, success } = schema.safeParse(body)
  if (!success) throw new BrowserProblem(`${who} answered in an unknown form. Try again later, or go on without one.`)
  return data
}

/** Ids become a part of addresses. */
const id = z.string().regex(/^[\w.:-]{1,200}$/)
const address = z.string().refine((text) => URL.canParse(text))

/** The answers that mean a browser is gone are as good as a confirmation. */
async function requireReleased(response: Response, who: string): Promise<void> {
  await response.body?.cancel()
  if (!response.ok && response.status !== 404 && response.status !== 410)
    throw new Error(`${who} answered ${response.status}`)
}

// --- Browser Run

type Binding = { readonly fetch: (url: string, init?: RequestInit) => Promise<Response> }
type UpgradedResponse = Response & { readonly webSocket?: (CdpSocket & { readonly accept: () => void }) | null }

/** The binding is a service: its host does not matter. */
const bindingUrl = 'https://browser/v1/devtools/browser'

export const openBinding = (binding: Binding, keepAliveMs: number, wires: BrowserWires): BrowserVendor => ({
  kind: 'binding',
  reachesPrivate: false,
  acquire: async () => {
    const response = await binding.fetch(`${bindingUrl}?keep_alive=${keepAliveMs}`, { method: 'POST' })
    return readAnswer(response, 'Browser Run', z.object({ sessionId: id }))
  },
  connect: async ({ sessionId }, { signal } = {}) => {
    const response = await binding.fetch(`${bindingUrl}/${sessionId}`, { headers: { upgrade: 'websocket' } })
    return new CdpConnection(await acceptSocket(response), { schedule: wires.schedule, signal })
  },
  release: async ({ sessionId }) =>
    requireReleased(await binding.fetch(`${bindingUrl}/${sessionId}`, { method: 'DELETE' }), 'Browser Run'),
  contextOf: () => undefined,
})

export async function acceptSocket(response: Response): Promise<CdpSocket> {
  const { webSocket, status } = response as UpgradedResponse
  if (!webSocket) {
    await response.body?.cancel()
    throw new CdpError('closed', `The browser refused the connection (${status}).`)
  }
  webSocket.accept()
  return webSocket
}

// --- any endpoint of the DevTools protocol

export type EndpointOptions = { readonly url: string; readonly reachesPrivate: boolean }

/** Addresses of sockets by endpoint: they change when the browser starts again. */
const socketUrls = new Map<string, string>()

/** Sessions share the browser; each has a context of its own, with its own cookies. */
export function openEndpoint({ url, reachesPrivate }: EndpointOptions, wires: BrowserWires): BrowserVendor {
  const connect = async (options?: ConnectOptions): Promise<CdpConnection> => {
    const known = socketUrls.get(url)
    try {
      return await connectTo(known ?? (await findSocketUrl(url, wires)), wires, options)
    } catch (error) {
      socketUrls.delete(url)
      if (known === undefined) throw error
      return connectTo(await findSocketUrl(url, wires), wires, options)
    }
  }
  return {
    kind: 'cdp',
    reachesPrivate,
    acquire: async () => {
      const connection = await connect()
      try {
        const answer = await connection.send('Target.createBrowserContext')
        const { browserContextId } = parseAnswer(answer, 'The browser', z.object({ browserContextId: id }))
        return { sessionId: browserContextId }
      } finally {
        connection.close()
      }
    },
    connect: (_browser, options) => connect(options),
    release: async ({ sessionId: browserContextId }) => {
      const connection = await connect()
      try {
        await connection.send('Target.disposeBrowserContext', { browserContextId })
      } catch (error) {
        // A context that does not exist is gone.
        if (!(error instanceof CdpError) || error.failure !== 'refused') throw error
      } finally {
        connection.close()
      }
    },
    contextOf: ({ sessionId }) => sessionId,
  }
}

async function findSocketUrl(url: string, wires: BrowserWires): Promise<string> {
  if (/^wss?:/i.test(url)) return url
  const base = new URL(url)
  const response = await wires.fetch(new URL('json/version', url.endsWith('/') ? url : `${url}/`).href)
  const answer = await readAnswer(response, 'The browser', z.object({ webSocketDebuggerUrl: address }))
  // A browser behind a proxy does not know its own address.
  const socket = new URL(answer.webSocketDebuggerUrl)
  socket.host = base.host
  socket.protocol = base.protocol === 'https:' ? 'wss:' : 'ws:'
  socketUrls.set(url, socket.href)
  return socket.href
}

// --- vendors

export type BrowserVendorOptions = {
  readonly baseUrl: string
  readonly key: string
  /** Sends a request to the vendor. */
  readonly ask: (url: string, init: RequestInit) => Promise<Response>
  /** Rejects an address that the vendor may not name. */
  readonly requireAllowed: (url: string) => Promise<void>
}

/** How long a browser may live at most: both vendors count from its start. */
const lifetimeMs = 900_000

const vendorConnect =
  (wires: BrowserWires, { requireAllowed }: BrowserVendorOptions): BrowserVendor['connect'] =>
  async ({ url = '' }, options) => {
    await requireAllowed(url.replace(/^ws/, 'http'))
    return connectTo(url, wires, options)
  }

export function openBrowserbase(
  options: BrowserVendorOptions,
  projectId: string | undefined,
  wires: BrowserWires,
): BrowserVendor {
  const { baseUrl, key, ask } = options
  const headers = { ...jsonHeaders, 'x-bb-api-key': key }
  const project = projectId ? { projectId } : {}
  return {
    kind: 'browserbase',
    reachesPrivate: false,
    acquire: async () => {
      // Without keepAlive the browser would end with the first connection.
      const body = JSON.stringify({ ...project, keepAlive: true, timeout: lifetimeMs / 1_000 })
      const response = await ask(`${baseUrl}/v1/sessions`, { method: 'POST', headers, body })
      const opened = await readAnswer(response, 'Browserbase', z.object({ id, connectUrl: address }))
      return { sessionId: opened.id, url: opened.connectUrl }
    },
    connect: vendorConnect(wires, options),
    release: async ({ sessionId }) => {
      const body = JSON.stringify({ ...project, status: 'REQUEST_RELEASE' })
      const response = await ask(`${baseUrl}/v1/sessions/${sessionId}`, { method: 'POST', headers, body })
      return requireReleased(response, 'Browserbase')
    },
    contextOf: () => undefined,
  }
}

export function openSteel(options: BrowserVendorOptions, wires: BrowserWires): BrowserVendor {
  const { baseUrl, key, ask } = options
  const headers = { ...jsonHeaders, 'steel-api-key': key }
  return {
    kind: 'steel',
    reachesPrivate: false,
    acquire: async () => {
      const body = JSON.stringify({ timeout: lifetimeMs })
      const response = await ask(`${baseUrl}/v1/sessions`, { method: 'POST', headers, body })
      const opened = await readAnswer(response, 'Steel', z.object({ id, websocketUrl: address }))
      const url = new URL(opened.websocketUrl)
      url.searchParams.set('apiKey', key)
      if (!url.searchParams.has('sessionId')) url.searchParams.set('sessionId', opened.id)
      return { sessionId: opened.id, url: url.href }
    },
    connect: vendorConnect(wires, options),
    release: async ({ sessionId }) =>
      requireReleased(await ask(`${baseUrl}/v1/sessions/${sessionId}/release`, { method: 'POST', headers }), 'Steel'),
    contextOf: () => undefined,
  }
}
