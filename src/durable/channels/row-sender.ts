/**
 * Sends the rows of an outbox one at a time, as agent/policy decides. A row becomes messages of its platform right before
 * it is sent. After a crash, the policy also decides whether an interrupted row is sent again.
 */

import { log } from '#agent/core/log.ts'
import type { ChatOrigin, DeliveryRecord, MessageChunk, SendOutcome } from '#agent/core/delivery.ts'
import * as policy from '#agent/policy/delivery-attempt.ts'
import type { ChannelCapabilities, OutboundMessage } from '#channels/channel.ts'
import { loadChannel } from '#channels/channels.ts'
import { splitText, withPrefix } from '#channels/text/split-text.ts'
import { clock } from '#durable/platform/clock.ts'
import { failpoint } from '#durable/platform/failpoint.ts'
import { isOwnReset } from '#durable/platform/object-reset.ts'
import { leaseMs } from '#durable/platform/schedule.ts'
import type { LoadedConnection } from '#durable/tenant/channels/connection.ts'
import type { Outbox, OutboxRow, RowSource } from './outbox.ts'
import { ownerOf, withRowNumber } from './pending-request-message.ts'
import { firstChunk, renderSafely } from './preview.ts'
import type { fitButtons as FitButtons } from './fit-buttons.ts'
import type { FileSource } from './outbound-file.ts'

export type RowSenderOptions = {
  readonly env: Env
  readonly sessionId: string
  readonly outbox: Outbox
  /** Undefined: the session has no chat. */
  readonly chat: () => ChatOrigin | undefined
  /** While the tenant is suspended nothing is sent. */
  readonly isPaused: () => boolean
  readonly loadConnection: (origin: ChatOrigin) => Promise<LoadedConnection | { readonly refused: string }>
  /** Resolves when the last edit of the preview has its outcome. */
  readonly waitForEdit: () => Promise<unknown>
  /** The platform has given the chat another id. */
  readonly moveChat: (to: string) => void
  readonly files: () => FileSource
  /** Makes a file that speaks a text, once for each run. Undefined: there is no speech. */
  readonly speak: (text: string, run: string) => Promise<string | undefined>
  readonly arm: () => void
  /** Informs a person that a text was not sent in their name, or perhaps. */
  readonly reportDraft: (delivery: DeliveryRecord) => void
}

type SendTarget = { readonly connection: LoadedConnection; readonly origin: ChatOrigin }

/** `fitButtons`: present for a row with buttons. */
type Rendering = { readonly connection: LoadedConnection; readonly fitButtons: typeof FitButtons | undefined }

/** Pause after an unexpected error, for example when the connection cannot be read. */
const errorPauseMs = 15_000

export class RowSender {
  readonly #options: RowSenderOptions
  #sending: Promise<void> | undefined
  #pausedUntil = 0
  /** Rows that the previous instance of the object left in `sending` are resolved. */
  #hasRecovered = false
  #isClosed = false

  constructor(options: RowSenderOptions) {
    this.#options = options
  }

  get isSending(): boolean {
    return this.#sending !== undefined
  }

  /** Returns when the alarm must call `start`. */
  getNextWake(now: number): number | undefined {
    if (!this.#options.chat() || this.#isClosed) return undefined
    if (this.#sending) return now + leaseMs
    const [row] = this.#options.outbox.listOpen()
    if (!row) return undefined
    const step = policy.nextDeliveryStep(row.deliveryState, this.#policyFor(row), now)
    return Math.max(this.#pausedUntil, step.do === 'wait' ? step.until : now)
  }

  /** Sends all rows that are due, then resolves. Never rejects. */
  start(): Promise<void> {
    if (this.#isClosed || !this.#options.chat()) return Promise.resolve()
    return (this.#sending ??= this.#sendDueRows())
  }

  close(): void {
    this.#isClosed = true
  }

  async #sendDueRows(): Promise<void> {
    try {
      if (!this.#hasRecovered) await this.#recoverInterrupted()
      this.#hasRecovered = true
      while (await this.#processNext());
    } catch (error) {
      // The next instance of the object continues from the rows.
      if (isOwnReset(error)) return
      log.warn('delivery.failed', 'Delivery failed and will be retried.', { error })
      this.#pausedUntil = clock.now() + errorPauseMs
    }
    this.#sending = undefined
    if (!this.#isClosed) this.#options.arm()
  }

  /** Resolves the rows whose attempt was interrupted by the end of the previous instance. */
  async #recoverInterrupted(): Promise<void> {
    const { outbox, chat } = this.#options
    const origin = chat()
    const interrupted = outbox.listOpen().filter(({ deliveryState }) => deliveryState.state === 'sending')
    const channel = origin && interrupted.length ? await loadChannel(origin.platform) : undefined
    const now = clock.now()
    for (const row of interrupted) {
      const options = this.#policyFor(row, channel?.capabilities.idempotencyKeys)
      const deliveryState = policy.interrupt(row.deliveryState, options, now)
      // A preview is never repeated: the answer itself follows.
      this.#updateState(row, row.kind === 'preview' ? { ...deliveryState, state: 'dead' } : deliveryState)
    }
  }

  /** Sends, renders or expires the next row. Returns false when no row is due. */
  async #processNext(): Promise<boolean> {
    const { outbox, chat, isPaused, loadConnection } = this.#options
    const [row] = outbox.listOpen()
    const origin = chat()
    if (!row || !origin || this.#isClosed || isPaused()) return false
    const due = policy.nextDeliveryStep(row.deliveryState, this.#policyFor(row), clock.now())
    if (due.do === 'wait') return false
    if (due.do === 'expire') {
      this.#expire(row)
      return true
    }
    const fitButtons = row.chunk.buttons && (await import('./fit-buttons.ts')).fitButtons
    const connection = await loadConnection(origin)
    if ('refused' in connection) this.#recordOutcome(row, { kind: 'forbidden', detail: connection.refused })
    else if (row.source) this.#render(row, row.source, { connection, fitButtons })
    else if (row.speech !== undefined) await this.#speak(row, row.speech)
    else await this.#send(row, { connection, origin })
    return true
  }

  /** Replaces the row by the messages that the platform accepts. */
  #render(row: OutboxRow, { text, format, isFirstOnly }: RowSource, { connection, fitButtons }: Rendering): void {
    const { channel } = connection
    const asked = fitButtons?.(text, row.chunk.buttons, channel.capabilities.buttons) ?? { text, buttons: undefined }
    const chunks = format === 'plain' ? channel.render(asked.text, 'plain') : renderSafely(channel, asked.text)
    const shown = isFirstOnly ? [firstChunk(chunks)] : chunks
    const { buttons } = asked
    this.#options.outbox.expand(
      row,
      shown.map((chunk, n) => (buttons && n === shown.length - 1 ? { ...chunk, buttons } : chunk)),
    )
  }

  /** Replaces the text by a file that speaks it. The text itself was another row. */
  async #speak({ speech: _speech, ...row }: OutboxRow, text: string): Promise<void> {
    const { outbox, speak } = this.#options
    const path = await speak(text, row.run)
    if (this.#isClosed) return
    if (path === undefined) outbox.expand(row, [])
    else outbox.update({ ...row, file: path })
  }

  async #send(row: OutboxRow, target: SendTarget): Promise<void> {
    const { channel } = target.connection
    const { outbox, waitForEdit } = this.#options
    const options = this.#policyFor(row, channel.capabilities.idempotencyKeys)
    const step = policy.nextDeliveryStep(row.deliveryState, options, clock.now())
    if (step.do !== 'send') return
    if (row.edits !== undefined) await waitForEdit()
    await failpoint('before-send')
    if (step.needsProbe) {
      const { connection, origin } = target
      const probe = await (channel.showTyping?.(connection, origin) ?? channel.probe?.(connection))
      if (probe && probe.kind !== 'sent')
        return this.#updateState(row, policy.afterFailedProbe(row.deliveryState, probe, options, clock.now()))
    }
    const message = await this.#messageOf(row, step.isMarkedDuplicate, target)
    if (this.#isClosed) return
    if (!message) return outbox.expand(row, [])
    const sending = { ...row, deliveryState: policy.startSending(row.deliveryState) }
    outbox.update(sending)
    // No await before the call: the output gate holds the request until the row is durable.
    const attempt = channel.send(target.connection, message, this.#keyOf(row))
    void failpoint('during-send')
    const outcome = await attempt
    await failpoint('after-send')
    this.#recordOutcome(sending, outcome, options)
  }

  /** Undefined for a file that does not exist any more. */
  async #messageOf(
    row: OutboxRow,
    isMarked: boolean,
    { connection, origin }: SendTarget,
  ): Promise<OutboundMessage | undefined> {
    const { deliveryState, replyTo, replyHandle, to: address = origin } = row
    const content = await this.#contentOf(row, connection)
    if (!content) return undefined
    const editedMessageId = this.#editedMessageId(row)
    const plain: MessageChunk = deliveryState.isPlain ? { ...content.chunk, spans: [] } : content.chunk
    const chunk = withRowNumber(plain, row.id, ownerOf(origin))
    const marked = isMarked ? withPrefix(chunk, policy.duplicateMark) : chunk
    const valid = replyHandle && replyHandle.expiresAt > clock.now() ? replyHandle : undefined
    // A handle that can still be used was not used: nothing has arrived.
    const isOnce = valid && connection.channel.capabilities.idempotencyKeys === 'without-reply-handle'
    return {
      address,
      ...content,
      ...(isOnce ? { chunk, repeated: marked } : { chunk: marked }),
      ...(editedMessageId !== undefined ? { editedMessageId } : replyTo !== undefined && { replyToMessageId: replyTo }),
      ...(valid && { replyHandle: valid }),
    }
  }

  async #contentOf(row: OutboxRow, { channel }: LoadedConnection) {
    const { file, isLinked, kind, chunk } = row
    if (file === undefined) return { chunk }
    const { readOutboundFile } = await import('./outbound-file.ts')
    const maxBytes = isLinked ? 0 : (channel.capabilities.files?.maxBytes ?? 0)
    const request = { path: file, maxBytes, isOfAnswer: kind === 'reply' }
    const content = await readOutboundFile(this.#options.env, this.#options.files(), request)
    if (!content) return undefined
    return 'file' in content
      ? { chunk: { text: '', spans: [] }, file: content.file }
      : { chunk: channel.render(content.text, 'plain')[0] ?? { text: content.text, spans: [] } }
  }

  /** The same for all attempts of a row. A deleted and recreated session numbers its rows from 1 again. */
  #keyOf({ id, deliveryState }: OutboxRow): string {
    return `${this.#options.sessionId}:${id}:${deliveryState.preparedAt}`
  }

  #recordOutcome(row: OutboxRow, outcome: SendOutcome, options = this.#policyFor(row)): void {
    if (outcome.kind === 'moved') this.#options.moveChat(outcome.to)
    if (this.#replaceRefused(row, outcome)) return
    const deliveryState = policy.afterAttempt(row.deliveryState, outcome, options, clock.now())
    const { edits, ...rest } = row
    this.#updateState(outcome.kind === 'gone' || edits === undefined ? rest : { ...rest, edits }, deliveryState)
    if (!policy.endsChat(outcome)) return
    // The chat accepts nothing, so the other parts of the answer are dead too.
    for (const other of this.#options.outbox.listOpen())
      if (other.run === row.run && other.kind === row.kind)
        this.#updateState(other, { ...deliveryState, state: 'dead' })
  }

  /** Sends a text that is too long in halves, and a link to a file that the platform does not take. */
  #replaceRefused(row: OutboxRow, outcome: SendOutcome): boolean {
    const { outbox } = this.#options
    const prepared = { ...row, deliveryState: { ...row.deliveryState, state: 'prepared' } } as const
    const halves = outcome.kind === 'too_long' ? splitRow(row) : undefined
    const isRefusedFile = row.file !== undefined && !row.isLinked && policy.refusesContent(outcome)
    if (halves) outbox.split(prepared, halves)
    else if (isRefusedFile) outbox.update({ ...prepared, isLinked: true })
    return halves !== undefined || isRefusedFile
  }

  /** A platform may accept a message first, and report later that it did not arrive. */
  reportUndelivered(messageId: string, outcome: SendOutcome): void {
    const row = this.#options.outbox.findSent(messageId)
    if (!row || outcome.kind === 'sent') return
    const deliveryState = policy.afterAttempt(row.deliveryState, outcome, this.#policyFor(row), clock.now())
    this.#updateState(row, { ...deliveryState, state: 'dead', error: deliveryState.error ?? outcome.detail })
  }

  #updateState(row: OutboxRow, deliveryState: DeliveryRecord): void {
    this.#options.outbox.update({ ...row, deliveryState })
    if (!['dead', 'unknown', 'expired'].includes(deliveryState.state) || row.kind === 'preview') return
    if (deliveryState.state !== 'expired') log.warn('delivery.given_up', `Not delivered: ${deliveryState.error}`)
    if (row.to) this.#options.reportDraft(deliveryState)
  }

  /** Expires all open parts of an answer together. One notice stands for all expired answers. */
  #expire(row: OutboxRow): void {
    const { outbox } = this.#options
    const parts = outbox.listOpen().filter((other) => other.run === row.run && other.kind === row.kind)
    for (const part of parts) this.#updateState(part, policy.expire(part.deliveryState))
    if (row.kind !== 'reply') return
    const notice = outbox.listOpen().find(({ missed }) => missed !== undefined)
    const missed = (notice?.missed ?? 0) + 1
    const chunk = { text: policy.renderDigest(missed, row.source?.text ?? row.chunk.text), spans: [] }
    if (notice) outbox.update({ ...notice, chunk, missed })
    else
      outbox.add({
        run: row.run,
        kind: 'notice',
        deliveryState: policy.createDelivery(clock.now()),
        chunk,
        missed,
        ...(row.replyHandle && { replyHandle: row.replyHandle }),
      })
  }

  #policyFor(row: OutboxRow, keys?: ChannelCapabilities['idempotencyKeys']): policy.DeliveryOptions {
    const hasKey = keys === true || (keys === 'without-reply-handle' && !row.replyHandle)
    return {
      isIdempotent: hasKey || this.#editedMessageId(row) !== undefined,
      isOnceEach: keys === 'without-reply-handle',
      isNeverRepeated: row.to !== undefined,
      isPreview: row.kind === 'preview',
    }
  }

  #editedMessageId({ edits }: OutboxRow): string | undefined {
    return edits === undefined ? undefined : this.#options.outbox.get(edits)?.deliveryState.platformId
  }
}

// Splits a message that the platform rejected as too long. Its own limit is lower than the one that the channel
// knows.

/** A shorter text is rejected for another reason than its length. */
const minSplitChars = 64
/** Styled spans of one half. The whole had no more than the platform allows. */
const maxSpans = 10_000

/** Returns the halves of the row's text. Undefined: there is nothing to split. */
function splitRow({ chunk, file, kind, source }: OutboxRow): readonly MessageChunk[] | undefined {
  const { text, spans, buttons } = chunk
  if (file !== undefined || source || kind === 'preview' || text.length < minSplitChars) return undefined
  const halves = splitText(text, spans, { max: Math.ceil(text.length / 2), unit: 'utf16', maxSpans })
  return halves.map((half, at) => (buttons && at === halves.length - 1 ? { ...half, buttons } : half))
}
