/**
 * Tells a chat that a long turn still runs, and for how long: one message, edited at each interval. Where the platform
 * cannot edit, a message comes after 1, 2, 4, 8 … intervals.
 */

import { clock } from '#durable/platform/clock.ts'

export type WorkingNoteOptions = {
  /** Undefined: this chat gets no notes. */
  readonly getInterval: () => Promise<{ readonly ms: number; readonly canEdit: boolean } | undefined>
  /** Shows the text, in the run's message if `canEdit`. Returns false when nothing more can be shown. */
  readonly show: (run: string, text: string, canEdit: boolean) => Promise<boolean>
}

const minuteMs = 60_000

export class WorkingNote {
  readonly #options: WorkingNoteOptions
  #timer: AbortController | undefined
  /** `intervals`: how many pass before the next note. */
  #counted: { readonly run: string; readonly startedAt: number; intervals: number } | undefined

  constructor(options: WorkingNoteOptions) {
    this.#options = options
  }

  /** Begins to count, or goes on after a wait. Undefined: the run is counted already. */
  start(run: string, startedAt: number): Promise<void> | undefined {
    const isSame = this.#counted?.run === run
    if (this.#timer && isSame) return undefined
    this.stop()
    if (!isSame) this.#counted = { run, startedAt, intervals: 1 }
    this.#timer = new AbortController()
    return this.#run(this.#timer.signal)
  }

  stop(): void {
    this.#timer?.abort()
    this.#timer = undefined
  }

  async #run(signal: AbortSignal): Promise<void> {
    const counted = this.#counted
    const interval = await this.#options.getInterval()
    if (!interval || !counted) return
    const { ms, canEdit } = interval
    while (!signal.aborted) {
      // The abort ends the timer too: a pending one would keep the object in memory.
      await clock.wait(ms * counted.intervals, { signal }).catch(() => undefined)
      if (signal.aborted) return
      const text = `⏳ Still working – ${Math.floor((clock.now() - counted.startedAt) / minuteMs)} min.`
      if (!(await this.#options.show(counted.run, text, canEdit))) return
      if (!canEdit) counted.intervals *= 2
    }
  }
}
