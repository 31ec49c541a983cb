/**
 * Shows what a running turn does: one message of the chat, edited as calls begin, print and end. The message is an outbox
 * row; the edits are not stored. An error ends the display and affects nothing else.
 */

import type { SendOutcome } from '#agent/core/delivery.ts'
import type { ProgressMode } from '#channels/settings.ts'
import {
  addCall,
  type CallEvent,
  noProgress,
  type ProgressLines,
  renderProgress,
} from '#channels/text/progress-lines.ts'
import { clock } from '#durable/platform/clock.ts'
import type { OutboxRow } from './outbox.ts'

export type ProgressOptions = {
  /** Undefined: this chat shows no progress. */
  readonly getMode: () => Promise<{ readonly mode: ProgressMode; readonly intervalMs: number } | undefined>
  /** Returns the row of the run's message, and adds it if there is none. */
  readonly ensureRow: (run: string, text: string) => OutboxRow
  readonly getRow: (id: number) => OutboxRow | undefined
  readonly edit: (id: string, text: string) => Promise<SendOutcome>
}

type ProgressRun = {
  readonly run: string
  progress: ProgressLines
  sentText: string
  /** A failure leaves it set: the run shows nothing more. */
  isStarted: boolean
  isPaused: boolean
  row?: number
}

export class ProgressDisplay {
  readonly #options: ProgressOptions
  #shown: ProgressRun | undefined

  constructor(options: ProgressOptions) {
    this.#options = options
  }

  /** Returns a promise when this starts the display of the run. */
  add(run: string, event: CallEvent): Promise<void> | undefined {
    const begun = { run, progress: noProgress, sentText: '', isStarted: false, isPaused: false }
    const shown = this.#shown?.run === run ? this.#shown : begun
    this.#shown = shown
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

  end(): void {
    this.#shown = undefined
  }

  async #show(shown: ProgressRun): Promise<void> {
    const found = await this.#options.getMode()
    if (!found || found.mode === 'off') return
    const isStopped = () => this.#shown !== shown || shown.isPaused
    for (;;) {
      const isLast = isStopped()
      if (!(await this.#update(shown, renderProgress(shown.progress, found.mode)))) return
      if (isLast && isStopped()) break
      await clock.wait(found.intervalMs)
    }
    shown.isStarted = false
  }

  /** Returns false when nothing more is shown. */
  async #update(shown: ProgressRun, text: string): Promise<boolean> {
    if (!text || text === shown.sentText) return true
    if (shown.row === undefined) {
      shown.row = this.#options.ensureRow(shown.run, text).id
      shown.sentText = text
      return true
    }
    const { deliveryState } = this.#options.getRow(shown.row) ?? {}
    const isSent = deliveryState?.state === 'sent' && deliveryState.platformId !== undefined
    if (!isSent) return deliveryState?.state === 'prepared' || deliveryState?.state === 'sending'
    const outcome = await this.#options.edit(deliveryState.platformId ?? '', text)
    shown.sentText = text
    return outcome.kind === 'sent'
  }
}
