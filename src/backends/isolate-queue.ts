/**
 * Queues calls to the isolates of one object: the platform refuses a call that would make more than ten dynamic workers
 * busy at once. An isolate that nobody waits for any more counts until it has ended.
 */

/** https://developers.cloudflare.com/dynamic-workers/platform/limits/ */
const maxBusyIsolates = 10

const queues = new WeakMap<WorkerLoader, IsolateQueue>()

/** Returns the same loader with a queue of its own, for one object. */
export function queueIsolates(loader: WorkerLoader, maxBusy = maxBusyIsolates): WorkerLoader {
  const queued = {
    load: (code: WorkerLoaderWorkerCode) => loader.load(code),
    get: (id, describe) => loader.get(id, describe),
  } satisfies Pick<WorkerLoader, 'load' | 'get'> as WorkerLoader
  queues.set(queued, new IsolateQueue(maxBusy))
  return queued
}

/** Waits until an isolate may be called. Returns the function that ends the call. */
export function enterIsolate(loader: WorkerLoader, id: string): Promise<() => void> | undefined {
  return queues.get(loader)?.enter(id)
}

type Waiter = { readonly id: string; readonly admit: () => void }

class IsolateQueue {
  readonly #maxBusy: number
  /** Calls by the id of their isolate. Several calls of one isolate count once. */
  readonly #calls = new Map<string, number>()
  #waiting: Waiter[] = []

  constructor(maxBusy: number) {
    this.#maxBusy = maxBusy
  }

  async enter(id: string): Promise<() => void> {
    if (this.#hasRoomFor(id)) this.#begin(id)
    else await new Promise<void>((resolve) => this.#waiting.push({ id, admit: resolve }))
    let isOver = false
    return () => {
      if (!isOver) this.#end(id)
      isOver = true
    }
  }

  #hasRoomFor(id: string): boolean {
    return this.#calls.has(id) || this.#calls.size < this.#maxBusy
  }

  #begin(id: string): void {
    this.#calls.set(id, (this.#calls.get(id) ?? 0) + 1)
  }

  #end(id: string): void {
    const left = (this.#calls.get(id) ?? 1) - 1
    if (left) this.#calls.set(id, left)
    else this.#calls.delete(id)
    this.#waiting = this.#waiting.filter((waiter) => {
      if (!this.#hasRoomFor(waiter.id)) return true
      this.#begin(waiter.id)
      waiter.admit()
      return false
    })
  }
}
