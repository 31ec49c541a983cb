/**
 * Tracks the clients that wait for the runs of a session. When a client goes away and no other one waits for its run, the
 * run is stopped, or taken back while it is queued. Only clients that have a name can go away (docs/design/continuity.md).
 */

import type { Session } from '../session.ts'

/** A client that went away before its message was accepted. */
const maxRemembered = 100

export class RunClients {
  readonly #session: Session
  readonly #runs = new Map<string, string>()
  readonly #gone = new Set<string>()

  constructor(session: Session) {
    this.#session = session
  }

  /** Registers a client of a run. The returned function ends that, after the client got its answer. */
  enter(runId: string, client: string = crypto.randomUUID()): () => void {
    this.#runs.set(client, runId)
    if (this.#gone.delete(client)) this.leave(client)
    return () => void this.#runs.delete(client)
  }

  /** Called when the client has gone away. Repeating it changes nothing. */
  leave(client: string): void {
    const runId = this.#runs.get(client)
    if (runId === undefined) return this.#remember(client)
    this.#runs.delete(client)
    const isAwaited = [...this.#runs.values()].includes(runId)
    if (!isAwaited && this.#session.exists && this.#session.settings.api?.on_disconnect !== 'continue')
      this.#stop(runId)
  }

  #stop(runId: string): void {
    const { store, queue, turns } = this.#session
    if (queue.takeBack(runId)) return
    if (store.hasOpenTurn && store.turn().id === runId) turns.stop()
  }

  #remember(client: string): void {
    this.#gone.add(client)
    const [oldest] = this.#gone
    if (this.#gone.size > maxRemembered && oldest !== undefined) this.#gone.delete(oldest)
  }
}
