/**
 * Shows an answer while it is written: one message, edited as the text grows. The message is an outbox row, so that the
 * same message is edited after a crash. The edits in between are not stored, because only the last one counts.
 */

import { log } from '#agent/core/log.ts'
import type { MessageChunk, SendOutcome } from '#agent/core/delivery.ts'
import { mayBecomeSilent } from '#agent/policy/delivery-attempt.ts'
import type { Channel } from '#channels/channel.ts'
import type { OutboxRow } from './outbox.ts'
import { clock } from '#durable/platform/clock.ts'

export type PreviewOptions = {
  /** Undefined: the connection does not stream answers. */
  readonly editIntervalMs: () => Promise<number | undefined>
  /** Returns the row of the run's message, and adds it if there is none. */
  readonly ensureRow: (run: string, text: string) => OutboxRow
  readonly getRow: (id: number) => OutboxRow | undefined
  readonly edit: (id: string, text: string) => Promise<SendOutcome>
}

type ShownRun = {
  readonly run: string
  text: string
  sentText: string
  /** A failure leaves it set: the run shows nothing more. */
  isStarted: boolean
  isPaused: boolean
  row?: number
}

const cursor = ' …'

export class Preview {
  readonly #options: PreviewOptions
  #shown: ShownRun | undefined
  #lastEdit: Promise<unknown> = Promise.resolve()
  #nextEditAt = 0

  constructor(options: PreviewOptions) {
    this.#options = options
  }

  /** Adds a piece of the answer. Returns a promise when this starts the display of the run. */
  append(run: string, delta: string): Promise<void> | undefined {
    const begun = { run, text: '', sentText: '', isStarted: false, isPaused: false }
    const shown = this.#shown?.run === run ? this.#shown : begun
    this.#shown = shown
    shown.text += delta
    shown.isPaused = false
    if (shown.isStarted || !showablePart(shown.text)) return undefined
    shown.isStarted = true
    return this.#show(shown)
  }

  /** Begins a new paragraph for the next step of the turn. */
  endStep(run: string): void {
    if (this.#shown?.run === run && !this.#shown.text.endsWith('\n\n')) this.#shown.text += '\n\n'
  }

  /** Drops the text so far, because the model call is repeated. */
  discardText(run: string): void {
    if (this.#shown?.run === run) this.#shown.text = ''
  }

  /** Stops after one more edit. The next piece of the run goes on. */
  pause(): void {
    if (this.#shown) this.#shown.isPaused = true
  }

  /** Ends the display. Returns when the platform allows the next edit of the message. */
  end(): number {
    this.#shown = undefined
    return this.#nextEditAt
  }

  /** Resolves when the last edit has its outcome. */
  waitForEdit(): Promise<unknown> {
    return this.#lastEdit
  }

  async #show(shown: ShownRun): Promise<void> {
    const intervalMs = await this.#options.editIntervalMs()
    if (intervalMs === undefined) return
    while (this.#shown === shown) {
      const isLast = shown.isPaused
      const text = showablePart(shown.text)
      if (text) {
        shown.row ??= this.#options.ensureRow(shown.run, text + cursor).id
        if (!(await this.#update(shown, shown.row, text))) return
        this.#nextEditAt = clock.now() + intervalMs
      }
      if (isLast && shown.isPaused) break
      await clock.wait(intervalMs)
    }
    shown.isStarted = false
  }

  /** Returns false when this run shows nothing more. The answer itself is sent in any case. */
  async #update(shown: ShownRun, row: number, text: string): Promise<boolean> {
    const { deliveryState } = this.#options.getRow(row) ?? {}
    const isSent = deliveryState?.state === 'sent' && deliveryState.platformId !== undefined
    if (!isSent) return deliveryState?.state === 'prepared' || deliveryState?.state === 'sending'
    if (text === shown.sentText) return true
    const edit = this.#options.edit(deliveryState.platformId ?? '', text + cursor)
    this.#lastEdit = edit.catch(() => undefined)
    const outcome = await edit
    shown.sentText = text
    return outcome.kind === 'sent'
  }
}

/** Leaves out a last paragraph that may still become a silence token, which is never shown. */
function showablePart(text: string): string {
  const end = text.lastIndexOf('\n\n')
  return mayBecomeSilent(text.slice(end + 1)) ? text.slice(0, Math.max(end, 0)) : text
}

/** The first message of an answer that needs several. */
export const firstChunk = (chunks: readonly MessageChunk[]): MessageChunk =>
  chunks[0] ?? { text: cursor.trim(), spans: [] }

/** Renders as plain text when the Markdown parser fails, so that every answer leaves. */
export function renderSafely(channel: Channel, text: string): readonly MessageChunk[] {
  try {
    return channel.render(text, 'markdown')
  } catch (error) {
    log.error('channel.render_failed', 'Markdown could not be rendered; the text is sent as it is.', { error })
    return channel.render(text, 'plain')
  }
}
