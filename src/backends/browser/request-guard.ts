/**
 * Judges the requests of a page: Chrome pauses them, and the network guard of the project decides. Public names that the
 * deployment maps elsewhere are answered by its guarded fetch.
 */

import type { CdpEvent } from './cdp.ts'

/** The network guard, as the browser needs it. */
export type NetworkGuard = {
  /** The reason why an address may not be called; undefined when it may. */
  readonly check: (url: string) => Promise<string | undefined>
  /** Hosts that the deployment maps elsewhere. */
  readonly mappedHosts: readonly string[]
  /** Sends a request to a mapped host, without following redirects. */
  readonly fetch: (request: MappedRequest) => Promise<Response>
}

export type MappedRequest = {
  readonly url: string
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
}

export type BlockedRequest = { readonly url: string; readonly reason: string; readonly isMainDocument: boolean }

type PausedRequest = {
  readonly requestId: string
  readonly frameId: string
  readonly resourceType: string
  readonly request: {
    readonly url: string
    readonly method: string
    readonly headers: Readonly<Record<string, string>>
    readonly postData?: string
  }
}

/** Sends a command to the session that has paused the request. */
export type SendToSession = (method: string, params: Readonly<Record<string, unknown>>) => Promise<unknown>

const everything = [{ urlPattern: '*' }]

/** The requests to pause: documents and mapped hosts, or everything where the browser reaches a private network. */
export const pausedPatterns = (reachesPrivate: boolean, { mappedHosts }: NetworkGuard): readonly object[] =>
  reachesPrivate
    ? everything
    : [
        { resourceType: 'Document' },
        ...mappedHosts.flatMap((host) => [`*://${host}/*`, `*://${host}:*/*`]).map(pattern),
      ]

const pattern = (urlPattern: string) => ({ urlPattern })

/** Addresses without a request to the network. */
const isLocal = (url: string): boolean => /^(?:about:(?:blank|srcdoc)|data:|blob:)/i.test(url)

export class RequestGuard {
  readonly #guard: NetworkGuard
  readonly #pending = new Set<Promise<void>>()
  readonly blocked: BlockedRequest[] = []

  constructor(guard: NetworkGuard) {
    this.#guard = guard
  }

  handle(event: CdpEvent, send: SendToSession, mainFrameId: string): void {
    const handling = this.#handle(event, send, mainFrameId).finally(() => this.#pending.delete(handling))
    this.#pending.add(handling)
  }

  /** Resolves when no request is paused. Without an answer, Chrome would send a paused request by itself. */
  async settled(): Promise<void> {
    while (this.#pending.size > 0) await Promise.all(this.#pending)
  }

  /** Never rejects: a request of a page that is gone needs no answer. */
  async #handle({ params }: CdpEvent, send: SendToSession, mainFrameId: string): Promise<void> {
    const paused = params as unknown as PausedRequest
    const { requestId, frameId, resourceType, request } = paused
    try {
      const reason = await this.#judge(request.url)
      if (reason !== undefined) {
        const isMainDocument = resourceType === 'Document' && frameId === mainFrameId
        this.blocked.push({ url: request.url, reason, isMainDocument })
        await send('Fetch.failRequest', { requestId, errorReason: 'BlockedByClient' })
      } else if (this.#isMapped(request.url)) await this.#fulfil(paused, send)
      else await send('Fetch.continueRequest', { requestId })
    } catch {
      // The page navigated elsewhere, or the connection is gone, which the call that waits for it learns.
    }
  }

  async #judge(url: string): Promise<string | undefined> {
    if (isLocal(url)) return undefined
    try {
      return await this.#guard.check(url)
    } catch {
      return 'it could not be judged'
    }
  }

  #isMapped(url: string): boolean {
    return this.#guard.mappedHosts.includes(URL.parse(url)?.hostname ?? '')
  }

  async #fulfil({ requestId, request: { url, method, headers, postData } }: PausedRequest, send: SendToSession) {
    try {
      const response = await this.#guard.fetch({ url, method, headers, body: postData })
      const body = Buffer.from(await response.arrayBuffer()).toString('base64')
      // The bytes arrive decoded.
      const kept = [...response.headers].filter(([name]) => !/^(?:content-encoding|content-length)$/.test(name))
      const responseHeaders = kept.map(([name, value]) => ({ name, value }))
      await send('Fetch.fulfillRequest', { requestId, responseCode: response.status, responseHeaders, body })
    } catch {
      await send('Fetch.failRequest', { requestId, errorReason: 'ConnectionFailed' })
    }
  }
}
