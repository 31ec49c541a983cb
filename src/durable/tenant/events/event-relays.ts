/**
 * Lists the relays of a tenant: objects that hold the event sockets beyond the limit of one object. Every relay gets
 * each event and each change of access in a call of its own, so that this object and the relays hibernate.
 */

import { log } from '#agent/core/log.ts'
import type { Access } from '#agent/core/permission/access.ts'
import { clock } from '#durable/platform/clock.ts'
import type { StoredValues } from '../stored-values.ts'
import type { Delivery, RelayReport } from './event-relay.ts'

/** Names the relay that has room, in the answer of a full object, and the relay that was full, in a request. */
export const relayHeader = 'x-talaria-relay'

type Relay = {
  readonly id: number
  /** About: assigned ones count at once, and closed ones until the next report. */
  readonly sockets: number
  readonly usedAt: number
}

type RelayCalls = {
  readonly deliver: (delivery: Delivery) => Promise<RelayReport>
  readonly setAccess: (access: Access) => Promise<void>
}

type EventRelaysOptions = {
  readonly values: StoredValues
  readonly maxSockets: () => number
  readonly connect: (relayId: number) => RelayCalls
}

const maxRelays = 50
/** An assigned socket may still be on its way, so a relay without sockets is kept so long. */
export const assignmentMs = 60_000
/** So many events wait for a relay that answers slowly. */
const maxQueued = 1_000
const relaysName = 'relays'

export class EventRelays {
  readonly #options: EventRelaysOptions
  readonly #queues = new Map<number, RelayQueue>()

  constructor(options: EventRelaysOptions) {
    this.#options = options
  }

  get isEmpty(): boolean {
    return this.#relays.length === 0
  }

  /** Returns the first relay that has room, and counts the socket there. Undefined when all are full. */
  assign(fullRelay: number | undefined): number | undefined {
    const max = this.#options.maxSockets()
    const relays = this.#relays.map((relay) => (relay.id === fullRelay ? { ...relay, sockets: max } : relay))
    const ids = new Set(relays.map(({ id }) => id))
    const free = Array.from({ length: maxRelays }, (_, index) => index + 1).find((id) => !ids.has(id))
    const id = relays.find(({ sockets }) => sockets < max)?.id ?? free
    const found = relays.find((relay) => relay.id === id)
    const others = relays.filter((relay) => relay !== found)
    const used = id !== undefined && { id, sockets: (found?.sockets ?? 0) + 1, usedAt: clock.now() }
    this.#store([...others, ...(used ? [used] : [])])
    return id
  }

  /** Resolves to the keys of all sockets that received the events. */
  async send(texts: readonly string[]): Promise<readonly string[]> {
    const reports = await Promise.all(this.#relays.map(({ id }) => this.#queueOf(id).add(texts)))
    return reports.flatMap((report) => report?.keys ?? [])
  }

  /** Rejects when a relay could not be reached. */
  async setAccess(access: Access): Promise<void> {
    const relays = this.#relays.map((relay) => ({ ...relay, usedAt: clock.now() }))
    if (!relays.length) return
    this.#store(relays)
    await Promise.all(relays.map(({ id }) => this.#options.connect(id).setAccess(access)))
  }

  #queueOf(id: number): RelayQueue {
    const queue = this.#queues.get(id) ?? new RelayQueue((delivery) => this.#deliver(id, delivery))
    this.#queues.set(id, queue)
    return queue
  }

  async #deliver(id: number, delivery: Delivery): Promise<RelayReport> {
    const report = await this.#options.connect(id).deliver(delivery)
    const relays = this.#relays
    const found = relays.find((relay) => relay.id === id)
    if (!found || found.sockets === report.sockets) return report
    const isUnused = report.sockets === 0 && clock.now() - found.usedAt > assignmentMs
    const others = relays.filter((relay) => relay !== found)
    this.#store(isUnused ? others : [...others, { ...found, sockets: report.sockets }])
    return report
  }

  get #relays(): readonly Relay[] {
    return this.#options.values.get<readonly Relay[]>(relaysName) ?? []
  }

  #store(relays: readonly Relay[]): void {
    this.#options.values.set(
      relaysName,
      relays.toSorted((one, other) => one.id - other.id),
    )
  }
}

/** Sends events in their order, one call at a time. Those that come meanwhile share the next call. */
class RelayQueue {
  readonly #deliver: (delivery: Delivery) => Promise<RelayReport>
  #texts: string[] = []
  #isLost = false
  #last: Promise<RelayReport | undefined> = Promise.resolve(undefined)
  #next: Promise<RelayReport | undefined> | undefined

  constructor(deliver: (delivery: Delivery) => Promise<RelayReport>) {
    this.#deliver = deliver
  }

  /** Resolves when the relay has the events, to undefined when it could not be reached. */
  add(texts: readonly string[]): Promise<RelayReport | undefined> {
    this.#texts.push(...texts)
    if (this.#texts.length > maxQueued) this.#lose()
    if (!this.#next) this.#next = this.#last = this.#last.then(() => this.#flush())
    return this.#next
  }

  async #flush(): Promise<RelayReport | undefined> {
    const delivery = { texts: this.#texts, isLost: this.#isLost }
    this.#texts = []
    this.#isLost = false
    this.#next = undefined
    try {
      return await this.#deliver(delivery)
    } catch (error) {
      log.warn('events.undelivered', 'A relay did not receive events. Its sockets are closed with the next ones.', {
        error,
      })
      this.#lose()
      return undefined
    }
  }

  #lose(): void {
    this.#texts = []
    this.#isLost = true
  }
}
