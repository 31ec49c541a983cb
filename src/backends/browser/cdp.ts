/** Speaks the Chrome DevTools protocol over one WebSocket. Sessions of targets share it. */

import type { ScheduleTimer } from '#agent/core/clock.ts'

type CdpParams = Readonly<Record<string, unknown>>

export type CdpEvent = { readonly method: string; readonly params: CdpParams; readonly sessionId?: string }

/** The used part of a WebSocket. */
export type CdpSocket = {
  readonly send: (text: string) => void
  readonly close: () => void
  addEventListener(type: 'message', listener: (event: { readonly data: unknown }) => void): void
  addEventListener(type: 'close' | 'error', listener: () => void): void
}

/** `closed`: the connection is lost. `refused`: the browser answered with an error. `gone`: the browser or its page is. */
export type CdpFailure = 'gone' | 'closed' | 'refused' | 'timeout' | 'stopped' | 'crashed'

export class CdpError extends Error {
  override readonly name = 'CdpError'
  readonly failure: CdpFailure

  constructor(failure: CdpFailure, message: string) {
    super(message)
    this.failure = failure
  }
}

/** The limit of one command, where its caller sets none. */
const commandTimeoutMs = 30_000

type PendingCommand = {
  readonly resolve: (result: unknown) => void
  readonly reject: (error: CdpError) => void
  readonly cancelTimer: () => void
}

type Incoming = {
  readonly id?: number
  readonly result?: unknown
  readonly error?: { readonly message?: string }
  readonly method?: string
  readonly params?: CdpParams
  readonly sessionId?: string
}

export type CdpOptions = { readonly schedule: ScheduleTimer; readonly signal?: AbortSignal | undefined }

export class CdpConnection {
  readonly #socket: CdpSocket
  readonly #schedule: ScheduleTimer
  readonly #pending = new Map<number, PendingCommand>()
  readonly #listeners = new Set<(event: CdpEvent) => void>()
  readonly #ignoreSignal: () => void
  #lastId = 0
  #end: CdpError | undefined

  constructor(socket: CdpSocket, { schedule, signal }: CdpOptions) {
    this.#socket = socket
    this.#schedule = schedule
    socket.addEventListener('message', ({ data }) => this.#receive(data))
    socket.addEventListener('close', () => this.fail(new CdpError('closed', 'The connection to the browser was lost.')))
    socket.addEventListener('error', () => this.fail(new CdpError('closed', 'The connection to the browser failed.')))
    const stop = () => this.fail(new CdpError('stopped', 'Stopped.'))
    if (signal?.aborted) stop()
    signal?.addEventListener('abort', stop, { once: true })
    this.#ignoreSignal = () => signal?.removeEventListener('abort', stop)
  }

  /** Goes on after the call that opened the connection, also where that call was stopped. */
  outlive(): void {
    this.#ignoreSignal()
    if (this.#end?.failure === 'stopped') this.#end = undefined
  }

  /** Sends a command to the browser, or to the target of a session. */
  send<T = unknown>(
    method: string,
    params: CdpParams = {},
    { sessionId, timeoutMs = commandTimeoutMs }: { readonly sessionId?: string; readonly timeoutMs?: number } = {},
  ): Promise<T> {
    if (this.#end) return Promise.reject(this.#end)
    const id = ++this.#lastId
    return new Promise<T>((resolve, reject) => {
      const onTimeout = () => {
        this.#pending.delete(id)
        reject(new CdpError('timeout', `The browser did not answer ${method} within ${timeoutMs / 1_000} s.`))
      }
      const cancelTimer = this.#schedule(timeoutMs, onTimeout)
      this.#pending.set(id, { resolve: (result) => resolve(result as T), reject, cancelTimer })
      this.#socket.send(JSON.stringify({ id, method, params, ...(sessionId !== undefined && { sessionId }) }))
    })
  }

  get isEnded(): boolean {
    return this.#end !== undefined
  }

  /** The returned function removes the listener. */
  onEvent(listener: (event: CdpEvent) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Ends all pending and later commands with this error. */
  fail(error: CdpError): void {
    if (this.#end) return
    this.#end = error
    for (const { reject, cancelTimer } of this.#pending.values()) {
      cancelTimer()
      reject(error)
    }
    this.#pending.clear()
  }

  close(): void {
    this.fail(new CdpError('closed', 'The connection is closed.'))
    this.#socket.close()
  }

  #receive(data: unknown): void {
    const { id, result, error, method, params = {}, sessionId } = parseMessage(data)
    if (id !== undefined) {
      const pending = this.#pending.get(id)
      this.#pending.delete(id)
      pending?.cancelTimer()
      if (error) pending?.reject(new CdpError('refused', error.message ?? 'The browser refused a command.'))
      else pending?.resolve(result)
    } else if (method !== undefined)
      for (const listener of this.#listeners)
        listener({ method, params, ...(sessionId !== undefined && { sessionId }) })
  }
}

function parseMessage(data: unknown): Incoming {
  try {
    return JSON.parse(typeof data === 'string' ? data : new TextDecoder().decode(data as ArrayBuffer)) as Incoming
  } catch {
    return {} // No message of the protocol: nothing waits for it.
  }
}
