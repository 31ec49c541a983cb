/** Keeps the newest progress of the calls that run, for subscribers that join. It is never stored. */

import type { Event, SessionEvent } from '#agent/core/event.ts'
import type { Turn } from '#agent/core/turn.ts'

/** Of at most 2 KB each. */
const maxEvents = 16

export class RecentProgress {
  #events: readonly SessionEvent[] = []

  add(event: SessionEvent): void {
    this.#events = [...this.#events, event].slice(-maxEvents)
  }

  /** Drops the progress of calls that these events end. `stage`: that of the turn after them. */
  dropEnded(events: readonly Event[], { stage }: Turn): void {
    if (!this.#events.length) return
    const ended = events.flatMap((event) => (event.type === 'tool.completed' ? [event.call_id] : []))
    this.#events = this.#events.filter(
      (event) => stage.at === 'tools' && event.type === 'tool.progress' && !ended.includes(event.call_id),
    )
  }

  /** Adds the progress to the events of the open row, in order. */
  addTo(events: SessionEvent[]): SessionEvent[] {
    return this.#events.length ? [...events, ...this.#events].toSorted((one, other) => one.seq - other.seq) : events
  }
}
