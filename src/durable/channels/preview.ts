/**
 * Shows an answer while it is written: one message, edited as the text grows. The message is an outbox row, so that the
 * same message is edited after a crash. The edits in between are not stored, because only the last one counts.
 */

import { log } from '../../agent/model/log.ts'
import type { MessageChunk, SendOutcome } from '../../agent/model/delivery.ts'
import { mayBecomeSilent } from '../../agent/policy/delivery-attempt.ts'
import type { Channel } from '../../channels/channel.ts'
import type { OutboxRow } from './outbox.ts'
import { clock } from '../platform/clock.ts'

export type PreviewOptions = {
  /** Undefined: the connection does not stream answers. */
  readonly editIntervalMs: () => Promise<number | undefined>
  /** Returns the row of the run's message, and adds it if there is none. */
  readonly ensureRow: (run: string, text: string) => OutboxRow
  readonly getRow: (id: number) => OutboxRow | undefined
  readonly edit: (id: string, text: string) => Promise<SendOutcome>
}

type ShownRun = { readonly run: string; text: string; sentText: string; isStarted: boolean; row?: number }

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
    const shown = this.#shown?.run === run ? this.#shown : { run, text: '', sentText: '', isStarted: false }
    this.#shown = shown
    shown.text += delta
    if (shown.isStarted || isHeldBack(shown.text)) return undefined
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
      if (!isHeldBack(shown.text)) {
        shown.row ??= this.#options.ensureRow(shown.run, shown.text + cursor).id
        if (!(await this.#update(shown, shown.row))) return
        this.#nextEditAt = clock.now() + intervalMs
      }
      await clock.wait(intervalMs)
    }
  }

  /** Returns false when this run shows nothing more. The answer itself is sent in any case. */
  async #update(shown: ShownRun, row: number): Promise<boolean> {
    const { custody } = this.#options.getRow(row) ?? {}
    const isSent = custody?.state === 'sent' && custody.platformId !== undefined
    if (!isSent) return custody?.state === 'prepared' || custody?.state === 'sending'
    const { text } = shown
    if (text === shown.sentText) return true
    const edit = this.#options.edit(custody.platformId ?? '', text + cursor)
    this.#lastEdit = edit.catch(() => undefined)
    const outcome = await edit
    shown.sentText = text
    return outcome.kind === 'sent'
  }
}

/** The last paragraph may still become a silence token, which is never shown. */
const isHeldBack = (text: string): boolean => mayBecomeSilent(text.slice(text.lastIndexOf('\n\n') + 1))

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
