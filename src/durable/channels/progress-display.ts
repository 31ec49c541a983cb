/**
 * Shows what a running turn does in one message of the chat, which may also ask its questions. Loaded for chats that show
 * the progress of their turns.
 */

import type { SendOutcome } from '#agent/core/delivery.ts'
import type { ProgressMode } from '#channels/settings.ts'
import {
  addCall,
  addNote,
  type CallEvent,
  continueFrom,
  noProgress,
  type ProgressLines,
  renderProgress,
} from '#channels/text/progress-lines.ts'
import { clock } from '#durable/platform/clock.ts'
import type { OutboxRow } from './outbox.ts'

type ShownMode = {
  readonly mode: ProgressMode
  readonly intervalMs: number
  readonly hasCards?: true | undefined
}

export type ProgressOptions = {
  /** Undefined: this chat shows no progress. */
  readonly getMode: () => Promise<ShownMode | undefined>
  /** Returns the row of the run's message, and adds it if there is none. */
  readonly ensureRow: (run: string, text: string) => OutboxRow
  readonly getRow: (id: number) => OutboxRow | undefined
  readonly edit: (id: string, text: string) => Promise<SendOutcome>
}

/** The message that shows the progress of a run, by its row, and its text. Without a row the question begins it. */
export type ProgressCard = { readonly row?: number; readonly text: string }

/** Platforms tell nobody of an edit: a question of a longer run is a message of its own. */
const maxCardAgeMs = 2 * 60_000

type ProgressRun = {
  readonly run: string
  progress: ProgressLines
  found?: ShownMode | undefined
  /** The message asks a question. */
  isHeld?: boolean
  rowAt?: number
  sentText: string
  /** A failure leaves it set: the run shows nothing more. */
  isStarted: boolean
  isPaused: boolean
  row?: number
}

/**
 * Shows what a running turn does: one message of the chat, edited as calls begin, print and end. The message is an outbox
 * row; the edits are not stored. An error ends the display and affects nothing else.
 */
export class ProgressDisplay {
  readonly #options: ProgressOptions
  #shown: ProgressRun | undefined

  constructor(options: ProgressOptions) {
    this.#options = options
  }

  /** The last edit, until it has its outcome. */
  lastEdit: Promise<unknown> = Promise.resolve()

  /** Returns a promise when this starts the display of the run. */
  add(run: string, event: CallEvent): Promise<void> | undefined {
    const shown = this.#of(run)
    shown.progress = addCall(shown.progress, event)
    shown.isPaused = false
    if (shown.isStarted) return undefined
    shown.isStarted = true
    return this.#show(shown)
  }

  /** Stops after one more edit. The next call of the run goes on. */
  pause(): void {
    if (this.#shown) this.#shown.isPaused = true
  }

  /** Learns whether a question of the run may be a card, before there is one. */
  async prepare(run: string): Promise<void> {
    const shown = this.#of(run)
    shown.found ??= await this.#options.getMode()
  }

  #of(run: string): ProgressRun {
    if (this.#shown?.run !== run)
      this.#shown = { run, progress: noProgress, sentText: '', isStarted: false, isPaused: false }
    return this.#shown
  }

  /** Leaves the message to a question. Undefined ends the display, unless another question has the message. */
  hold(run: string): ProgressCard | undefined {
    const shown = this.#of(run)
    if (shown.isHeld) return undefined
    const { row, rowAt, found } = shown
    if (!found?.hasCards || found.mode === 'off' || (rowAt !== undefined && clock.now() - rowAt > maxCardAgeMs))
      return this.end()
    shown.isHeld = true
    return { text: textOf(shown), ...(row !== undefined && { row }) }
  }

  /** `card`: the text above the question, of which nothing else is left after a restart. `addRow` edits the message. */
  resume(
    run: string,
    { card, note, addRow }: { card: string; note: string; addRow: (text: string) => OutboxRow },
  ): void {
    const shown = this.#of(run)
    if (!shown.isHeld) shown.progress = continueFrom(card, shown.progress)
    shown.progress = addNote(shown.progress, note)
    shown.sentText = textOf(shown)
    shown.row = addRow(shown.sentText).id
    shown.isHeld = false
  }

  end(): undefined {
    this.#shown = undefined
  }

  async #show(shown: ProgressRun): Promise<void> {
    const found = (shown.found = await this.#options.getMode())
    if (!found || found.mode === 'off') return
    const isStopped = () => this.#shown !== shown || shown.isPaused
    for (;;) {
      const isLast = isStopped()
      if (!(await this.#update(shown, textOf(shown)))) return
      if (isLast && isStopped()) break
      await clock.wait(found.intervalMs)
    }
    shown.isStarted = false
  }

  /** Returns false when nothing more is shown. */
  async #update(shown: ProgressRun, text: string): Promise<boolean> {
    if (!text || text === shown.sentText || shown.isHeld) return true
    if (shown.row !== undefined) return this.#edit(shown, shown.row, text)
    shown.row = this.#options.ensureRow(shown.run, text).id
    shown.rowAt = clock.now()
    shown.sentText = text
    return true
  }

  async #edit(shown: ProgressRun, row: number, text: string): Promise<boolean> {
    const { deliveryState } = this.#options.getRow(row) ?? {}
    const isSent = deliveryState?.state === 'sent' && deliveryState.platformId !== undefined
    if (!isSent) return deliveryState?.state === 'prepared' || deliveryState?.state === 'sending'
    const edit = this.#options.edit(deliveryState.platformId ?? '', text)
    this.lastEdit = edit.catch(() => undefined)
    const outcome = await edit
    shown.sentText = text
    return outcome.kind === 'sent'
  }
}

const textOf = ({ progress, found }: ProgressRun): string => renderProgress(progress, found?.mode ?? 'all')
