/**
 * Keeps the gateway sockets of several Discord bots of one tenant in one object: an outgoing socket keeps its object in
 * memory, and the platform bills the object, not the socket. The object of each connection admits its bot here, remembers
 * where it is, and looks after it once an hour.
 */

import { log } from '#agent/core/log.ts'
import { newGatewayState, type GatewayState } from '#channels/discord/gateway-protocol.ts'
import { gatewayBotsStub } from '#durable/platform/addresses.ts'
import { clock } from '#durable/platform/clock.ts'
import { gatewayKey, GatewaySocket, type StoredGateway } from './gateway-socket.ts'
import { type ReceiverOwner, type ReceiverState, type ReceiverStatus, watchMs } from './receiver.ts'

/** Each bot may have a burst of messages at once, and all share one thread. */
export const maxBots = 16
/** Alarms at the end of the same interval are one. */
const alarmGridMs = 5_000
const botsKey = 'bots'

export class GatewayBots {
  readonly #ctx: DurableObjectState
  readonly #env: Env
  #bots: readonly string[]
  readonly #sockets = new Map<string, GatewaySocket>()
  /** When each bot is looked after. After a restart none is known, so all are looked after with the first alarm. */
  readonly #due = new Map<string, number>()
  #armedAt = Infinity

  constructor(ctx: DurableObjectState, env: Env) {
    this.#ctx = ctx
    this.#env = env
    this.#bots = ctx.storage.kv.get<string[]>(botsKey) ?? []
  }

  /** Starts a bot, or starts it again. Returns false when the object is full. `gateway`: a session to resume. */
  async admit(owner: ReceiverOwner, gateway?: GatewayState): Promise<boolean> {
    const isKnown = this.#bots.includes(owner.id)
    if (!isKnown && this.#bots.length >= maxBots) return false
    if (!isKnown) this.#storeBots([...this.#bots, owner.id])
    await this.#socketOf(owner.id).start(owner, isKnown ? undefined : gateway)
    return true
  }

  /** Admits a bot that is unknown here. One that was given up stays so. */
  async watch(owner: ReceiverOwner): Promise<boolean> {
    return this.#bots.includes(owner.id) || this.admit(owner)
  }

  /** Ends the socket of a bot and forgets the bot. */
  async release(id: string, detail: string): Promise<void> {
    if (!this.#bots.includes(id)) return
    await this.#socketOf(id).stop(detail)
    this.#sockets.delete(id)
    this.#due.delete(id)
    this.#ctx.storage.kv.delete(keyOf(id))
    this.#storeBots(this.#bots.filter((one) => one !== id))
  }

  getStatus(id: string): ReceiverStatus | undefined {
    return this.#bots.includes(id) ? this.#socketOf(id).getStatus() : undefined
  }

  /** The next alarm is armed first. A bot whose gateway does not answer delays no other. */
  async handleAlarm(): Promise<void> {
    if (!this.#bots.length) return
    this.#armedAt = Infinity
    await this.#arm(clock.now() + watchMs)
    const now = clock.now()
    for (const id of this.#bots) if ((this.#due.get(id) ?? 0) <= now) this.#ctx.waitUntil(this.#lookAfter(id))
  }

  async #lookAfter(id: string): Promise<void> {
    this.#due.set(id, Infinity)
    try {
      await this.#socketOf(id).handleAlarm()
    } catch (error) {
      log.error('gateway.bot_failed', 'The gateway of a bot could not be looked after.', { error, connection: id })
      this.#due.set(id, clock.now() + watchMs)
    }
  }

  #socketOf(id: string): GatewaySocket {
    const known = this.#sockets.get(id)
    if (known) return known
    const socket = new GatewaySocket(this.#stateOf(id), this.#env)
    this.#sockets.set(id, socket)
    return socket
  }

  /** Gives a bot its own row, and an alarm of its own as a part of that of the object. */
  #stateOf(id: string): ReceiverState {
    const { kv } = this.#ctx.storage
    return {
      read: <Stored>() => kv.get<Stored>(keyOf(id)),
      // A bot that was released while its work waited stores nothing.
      write: (stored) => (this.#bots.includes(id) ? kv.put(keyOf(id), stored) : undefined),
      setAlarm: async (at) => {
        this.#due.set(id, at)
        await this.#arm(at)
      },
      deleteAlarm: async () => void this.#due.set(id, Infinity),
      waitUntil: (work) => this.#ctx.waitUntil(work),
    }
  }

  async #arm(at: number): Promise<void> {
    const isWatch = at - clock.now() >= watchMs
    const next = isWatch ? Math.ceil(at / alarmGridMs) * alarmGridMs : at
    if (next >= this.#armedAt) return
    this.#armedAt = next
    await this.#ctx.storage.setAlarm(next)
  }

  #storeBots(bots: readonly string[]): void {
    this.#bots = bots
    this.#ctx.storage.kv.put(botsKey, bots)
  }
}

const keyOf = (id: string): string => `${gatewayKey}/${id}`

type StoredPlace = { readonly owner: ReceiverOwner; readonly object: number }

const placeKey = 'gateway-place'
const lookMs = 3_600_000
const stoppedStatus: ReceiverStatus = { status: 'stopped', detail: '', isOpen: false }

/**
 * Runs in the object of a connection: finds the shared object for its bot. The connection's own row of the gateway stays
 * as running, and its alarm is set: code of the release before opens the socket in this object, as it did then.
 */
export class GatewayPlace {
  readonly #ctx: DurableObjectState
  readonly #env: Env
  #place: StoredPlace | undefined
  /** Starts and stops run one after another. */
  #queue: Promise<unknown> = Promise.resolve()

  constructor(ctx: DurableObjectState, env: Env) {
    this.#ctx = ctx
    this.#env = env
    this.#place = ctx.storage.kv.get<StoredPlace>(placeKey)
  }

  start(owner: ReceiverOwner): Promise<void> {
    return this.#inOrder(async () => {
      const stored = this.#readOwn()
      this.#writeOwn({ ...stored, owner, status: 'running' })
      await this.#ctx.storage.setAlarm(clock.now() + watchMs)
      await this.#admit(owner, stored.gateway)
      await this.#ctx.storage.setAlarm(clock.now() + lookMs)
    })
  }

  stop(detail: string): Promise<void> {
    return this.#inOrder(async () => {
      const place = this.#place
      await this.#ctx.storage.deleteAlarm()
      const { owner, ...rest } = this.#readOwn()
      if (owner) this.#writeOwn({ ...rest, owner, status: 'stopped', detail })
      if (place) await this.#botsOf(place.owner, place.object)?.releaseBot(place.owner.id, detail)
      this.#store(undefined)
    })
  }

  async getStatus(): Promise<ReceiverStatus> {
    const { detail } = this.#readOwn()
    const place = this.#place
    if (!place) return { ...stoppedStatus, detail }
    return (await this.#botsOf(place.owner, place.object)?.botStatus(place.owner.id)) ?? stoppedStatus
  }

  /** Also moves a bot here that runs since the release before. */
  handleAlarm(): Promise<void> {
    return this.#inOrder(async () => {
      const { owner, status, gateway } = this.#readOwn()
      if (!owner || status !== 'running') return
      await this.#ctx.storage.setAlarm(clock.now() + watchMs)
      const place = this.#place
      const isKept = place && (await this.#botsOf(owner, place.object)?.watchBot(owner))
      if (!isKept) await this.#admit(owner, gateway)
      await this.#ctx.storage.setAlarm(clock.now() + lookMs)
    })
  }

  /** The place that is known, else the first object that has room. */
  async #admit(owner: ReceiverOwner, gateway: GatewayState | undefined): Promise<void> {
    for (let object = this.#place?.object ?? 0; ; object++) {
      // Stored first: a bot that was admitted just before a crash must be found again.
      this.#store({ owner, object })
      if ((await this.#botsOf(owner, object)?.admitBot(owner, gateway)) !== false) return
    }
  }

  #botsOf({ tenantId }: ReceiverOwner, object: number) {
    return gatewayBotsStub(this.#env, tenantId, object)
  }

  #inOrder<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#queue.then(work)
    this.#queue = result.catch(() => undefined)
    return result
  }

  #readOwn(): Partial<StoredGateway> & Omit<StoredGateway, 'owner' | 'status'> {
    const fresh = { detail: 'connecting', failures: 0, gateway: newGatewayState }
    return { ...fresh, ...this.#ctx.storage.kv.get<StoredGateway>(gatewayKey) }
  }

  #writeOwn(stored: StoredGateway): void {
    this.#ctx.storage.kv.put(gatewayKey, stored)
  }

  #store(place: StoredPlace | undefined): void {
    this.#place = place
    if (place) this.#ctx.storage.kv.put(placeKey, place)
    else this.#ctx.storage.kv.delete(placeKey)
  }
}
