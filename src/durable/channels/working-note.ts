/**
 * Tells a chat that a long turn still runs, and for how long: one message, edited at each interval. Where the platform
 * cannot edit, a message comes after 1, 2, 4, 8 … intervals.
 */

import { clock } from '../platform/clock.ts'

export type WorkingNoteOptions = {
  /** Undefined: this chat gets no notes. */
  readonly getInterval: () => Promise<{ readonly ms: number; readonly canEdit: boolean } | undefined>
  /** Shows the text, in the run's message if `canEdit`. Returns false when nothing more can be shown. */
  readonly show: (run: string, text: string, canEdit: boolean) => Promise<boolean>
}

const minuteMs = 60_000

export class WorkingNote {
  readonly #options: WorkingNoteOptions
  #current: AbortController | undefined
  #started: { readonly run: string; readonly at: number } | undefined

  constructor(options: WorkingNoteOptions) {
    this.#options = options
  }

  /** Begins to count, or goes on after a wait for a person. Undefined: the run is counted already. */
  start(run: string): Promise<void> | undefined {
    if (this.#current && this.#started?.run === run) return undefined
    this.stop()
    if (this.#started?.run !== run) this.#started = { run, at: clock.now() }
    this.#current = new AbortController()
    return this.#run(this.#started, this.#current)
  }

  stop(): void {
    this.#current?.abort()
    this.#current = undefined
  }

  async #run({ run, at }: { readonly run: string; readonly at: number }, { signal }: AbortController): Promise<void> {
    const interval = await this.#options.getInterval()
    if (!interval) return
    const { ms, canEdit } = interval
    for (let pauseMs = ms; !signal.aborted; pauseMs = canEdit ? ms : pauseMs * 2) {
      // The abort ends the timer too: a pending one would keep the object in memory.
      await clock.wait(pauseMs, { signal }).catch(() => undefined)
      if (signal.aborted) return
      const text = `⏳ Still working – ${Math.floor((clock.now() - at) / minuteMs)} min.`
      if (!(await this.#options.show(run, text, canEdit))) return
    }
  }
}
