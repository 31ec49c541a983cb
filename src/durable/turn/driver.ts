/**
 * Drives the open turn until it ends, waits or backs off. At most one drive runs in an object. It outlives the request that
 * started it; the alarm starts it again after an eviction.
 */

import { log } from '#agent/core/log.ts'
import { drive, type Machine } from '#agent/loop/drive.ts'
import type { View } from '#agent/core/ports.ts'
import type { Turn } from '#agent/core/turn.ts'
import { giveUp } from '#agent/policy/give-up.ts'
import { isObjectReset } from '#durable/platform/object-reset.ts'
import type { SessionStore } from '#durable/storage/store.ts'
import { clock } from '#durable/platform/clock.ts'

export type DriverOptions = {
  /** Read again after each wait: a rebuilt session has another store. */
  readonly store: () => SessionStore
  readonly machine: Machine
  /** Opens the next queued turn. False when there is none. */
  readonly openNext: () => boolean
  /** Ends a turn whose end cannot be stored, at the last step that was. */
  readonly abandon: (turn: Turn) => void
  /** Resets the object: a fresh one resumes from what is stored. */
  readonly resetObject: (reason: string) => void
  /** Called when a drive stops. `until`: the turn backs off until then. */
  readonly onStop: (until: number | undefined) => void
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

  view = (): View => this.#options.machine.view()

  /** Resolves when the drive stops; rejects when the object is reset. A second call joins the running drive. */
  start(): Promise<void> {
    return (this.#driving ??= this.#driveUntilStopped())
  }

  /** Cancels what the current step waits for; the step ends with an `aborted` failure. */
  abort(): void {
    for (const controller of this.#controllers) controller.abort()
  }

  readonly abortable = (): AbortController => {
    const controller = new AbortController()
    this.#controllers.add(controller)
    return controller
  }

  async #driveUntilStopped(): Promise<void> {
    const { store, machine, openNext, onStop } = this.#options
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
    onStop(until)
  }

  /** Ends the turn after a defect of ours, so that no turn stays open. An object that is being reset must not touch it. */
  #failed(error: unknown): undefined {
    if (isObjectReset(error)) throw error
    const { store, abandon, resetObject } = this.#options
    log.error('turn.driver_failed', 'The driver failed.', { error })
    const turn = store().current()
    if (!turn) return undefined
    try {
      giveUpIn(store())
    } catch (unwritten) {
      log.error('turn.end_unwritten', 'The end of the turn cannot be written.', { error: unwritten })
      try {
        abandon(turn)
      } catch (lost) {
        resetObject('The session cannot be written.')
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
