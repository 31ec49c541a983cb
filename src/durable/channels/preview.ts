/**
 * An answer that is seen while it is written: one message, edited as more comes. The message is a row of the outbox like
 * any other, so that after a crash the same one is edited; the edits in between are not, because only the last counts.
 */

import type { Chunk, Outcome } from '../../agent/model/delivery.ts'
import { mayBeSilence } from '../../agent/policy/deliver.ts'
import type { Channel } from '../../channels/channel.ts'
import type { PartRow } from './outbox.ts'
import { clock } from '../platform/clock.ts'

export type PreviewOptions = {
  /** Milliseconds between two edits; undefined: nobody wants to see it. */
  readonly pauseMs: () => Promise<number | undefined>
  /** The row of this run's message; made when there is none. */
  readonly row: (run: string, text: string) => PartRow
  readonly current: (id: number) => PartRow | undefined
  readonly edit: (id: string, text: string) => Promise<Outcome>
}

type Shown = { readonly run: string; text: string; seen: string; isBegun: boolean; row?: number }

const cursor = ' …'

export class Preview {
  readonly #options: PreviewOptions
  #shown: Shown | undefined
  #edit: Promise<unknown> = Promise.resolve()
  #lastAt = 0

  constructor(options: PreviewOptions) {
    this.#options = options
  }

  /** A piece of the answer. The promise is there when something begins that has to be waited for. */
  take(run: string, delta: string): Promise<void> | undefined {
    const shown = this.#shown?.run === run ? this.#shown : { run, text: '', seen: '', isBegun: false }
    this.#shown = shown
    shown.text += delta
    if (shown.isBegun || isHeldBack(shown.text)) return undefined
    shown.isBegun = true
    return this.#show(shown)
  }

  /** What comes is another step of the turn. */
  pause(run: string): void {
    if (this.#shown?.run === run && !this.#shown.text.endsWith('\n\n')) this.#shown.text += '\n\n'
  }

  /** What was said is given up; what comes is said anew. */
  restart(run: string): void {
    if (this.#shown?.run === run) this.#shown.text = ''
  }

  /** The run is over, or goes on without words. Gives the time from which on the message may be edited again. */
  end(): number {
    this.#shown = undefined
    return this.#lastAt
  }

  /** No edit is on its way any more. */
  settled(): Promise<unknown> {
    return this.#edit
  }

  async #show(shown: Shown): Promise<void> {
    const pauseMs = await this.#options.pauseMs()
    if (pauseMs === undefined) return
    while (this.#shown === shown) {
      if (!isHeldBack(shown.text)) {
        shown.row ??= this.#options.row(shown.run, shown.text + cursor).id
        if (!(await this.#step(shown, shown.row))) return
        this.#lastAt = clock.now() + pauseMs
      }
      await clock.wait(pauseMs)
    }
  }

  /** False: there is nothing to be shown any more in this run. The answer itself comes in any case. */
  async #step(shown: Shown, row: number): Promise<boolean> {
    const { custody } = this.#options.current(row) ?? {}
    const isThere = custody?.state === 'sent' && custody.platformId !== undefined
    if (!isThere) return custody?.state === 'prepared' || custody?.state === 'sending'
    const { text } = shown
    if (text === shown.seen) return true
    const edit = this.#options.edit(custody.platformId ?? '', text + cursor)
    this.#edit = edit.catch(() => undefined)
    const outcome = await edit
    shown.seen = text
    return outcome.of === 'sent'
  }
}

/** What this step of the turn says may be that nothing is to be said. */
const isHeldBack = (text: string): boolean => mayBeSilence(text.slice(text.lastIndexOf('\n\n') + 1))

/** The beginning, when it is more than one message. */
export const firstOf = (chunks: readonly Chunk[]): Chunk => chunks[0] ?? { text: cursor.trim(), spans: [] }

/** However the text looks, it goes out. */
export function rendered(channel: Channel, text: string): readonly Chunk[] {
  try {
    return channel.render(text, 'markdown')
  } catch (error) {
    console.error('A text could not be rendered; it goes out as it is.', error)
    return channel.render(text, 'plain')
  }
}
