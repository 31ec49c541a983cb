/**
 * Keeps a turn moving. At most one drive runs in an object; it starts with the request that asks for
 * it, goes on when the request is gone, and is taken up by the alarm when the object died.
 */

import { drive, type Machine } from '../../agent/loop/drive.ts'
import type { View } from '../../agent/model/ports.ts'
import type { Turn } from '../../agent/model/turn.ts'
import { giveUp } from '../../agent/policy/give-up.ts'
import { isObjectReset } from '../platform/object-reset.ts'
import type { SessionStore } from '../storage/store.ts'
import { clock } from '../platform/clock.ts'

export type DriverOptions = {
  /** Read anew each time: a rebuilt session has another one. */
  readonly store: () => SessionStore
  readonly machine: Machine
  /** Opens the next queued turn. False when there is none. */
  readonly openNext: () => boolean
  /** Ends a turn that cannot be written, as far as it came in storage. */
  readonly abandon: (turn: Turn) => void
  /** Gives the object up: a fresh one takes over from what is written. */
  readonly die: (reason: string) => void
  /** Called whenever a drive has come to rest. */
  readonly rested: (until: number | undefined) => void
}

export class Driver {
  readonly #options: DriverOptions
  readonly #controllers = new Set<AbortController>()
  #driving: Promise<void> | undefined

  constructor(options: DriverOptions) {
    this.#options = options
  }

  get isDriving(): boolean {
    return this.#driving !== undefined
  }

  look = (): View => this.#options.machine.look()

  /** Resolves when the drive has come to rest; rejects when an object went away. Calling it again rides along. */
  start(): Promise<void> {
    return (this.#driving ??= this.#toRest())
  }

  /** Cancels what the current step waits for. Its result says so. */
  abort(): void {
    for (const controller of this.#controllers) controller.abort()
  }

  readonly abortable = (): AbortController => {
    const controller = new AbortController()
    this.#controllers.add(controller)
    return controller
  }

  async #toRest(): Promise<void> {
    const { store, machine, openNext, rested } = this.#options
    let until: number | undefined
    try {
      do {
        until = await drive(machine).then(
          (rest) => rest.until,
          (error: unknown) => this.#failed(error),
        )
        this.#controllers.clear()
      } while (!store().hasOpenTurn && openNext())
    } finally {
      this.#driving = undefined
    }
    rested(until)
  }

  /** A defect of ours must not leave the turn without an end, wherever it is; a dying object must not touch it. */
  #failed(error: unknown): undefined {
    if (isObjectReset(error)) throw error
    console.error('The drive failed.', error)
    const { store, abandon, die } = this.#options
    const turn = store().current()
    if (!turn) return undefined
    try {
      giveUpIn(store())
    } catch (unwritten) {
      console.error('The end of the turn cannot be written.', unwritten)
      try {
        abandon(turn)
      } catch (lost) {
        die('The session cannot be written.')
        throw lost
      }
    }
    return undefined
  }
}

/** A turn that is over in memory may not be in storage: then this writes it, or throws. */
function giveUpIn(store: SessionStore): void {
  const turn = store.turn()
  if (turn.stage.at !== 'done') store.save(giveUp(turn, { kind: 'unknown', message: 'an internal error' }, clock.now()))
  store.write()
}
