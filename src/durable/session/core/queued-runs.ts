/**
 * Takes queued runs back before they begin. Such a run leaves nothing in the conversation; while the object lives, the
 * API shows it as cancelled, and its streams and waiters get that end.
 */

import type { RunEnded } from '#agent/core/event.ts'
import { noUsage } from '#agent/core/usage.ts'
import { clock } from '#durable/platform/clock.ts'
import { toPlacedEvent } from '#durable/storage/event-log.ts'
import type { InboxItem } from '#durable/storage/journal.ts'
import type { Session } from '../session.ts'

type QueuedItem = Extract<InboxItem, { kind: 'queued' }>
/** The end of a run that was taken back. */
export const takenBackEnd: RunEnded = {
  type: 'run.cancelled',
  output: '',
  usage: noUsage,
  exit_reason: 'stopped',
  completed: false,
}

const maxRemembered = 100

export class QueuedRuns {
  readonly #session: Session
  readonly #takenBack = new Map<string, QueuedItem>()

  constructor(session: Session) {
    this.#session = session
  }

  /** False when no such run is queued. */
  takeBack(runId: string): boolean {
    const { store, streams, sessionId, chatOutbox } = this.#session
    const queued = store.queued().find(({ item }) => item.runId === runId)
    if (!queued) return false
    store.removeFromInbox([queued.id])
    store.addEvent({ type: 'run.dequeued', run_id: runId })
    store.write()
    chatOutbox.answerAwaited(queued.item.options.asker?.replyHandle, 'Stopped.')
    this.#remember(queued.item)
    // It is not stored: nothing that a later subscriber sees has happened.
    const position = { seq: store.lastEventSeq(), at: clock.now(), runId, sessionId }
    streams.publish([toPlacedEvent(takenBackEnd, position)])
    return true
  }

  /** A run that is queued or was taken back. */
  find(runId: string): QueuedItem | undefined {
    const queued = this.#session.store.queued().find(({ item }) => item.runId === runId)
    return queued?.item ?? this.#takenBack.get(runId)
  }

  wasTakenBack(runId: string): boolean {
    return this.#takenBack.has(runId)
  }

  #remember(item: QueuedItem): void {
    this.#takenBack.set(item.runId, item)
    const [oldest] = this.#takenBack.keys()
    if (this.#takenBack.size > maxRemembered && oldest !== undefined) this.#takenBack.delete(oldest)
  }
}
