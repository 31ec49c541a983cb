/**
 * Delivers the answers of a session to its chat. Public events reach `handleEvents` in the write that makes them public,
 * so the end of a turn and the outbox rows of its answer are one write. Rows are then sent one at a time, as
 * agent/policy decides. After a crash, that policy also decides whether an interrupted row is sent again.
 */

import { log } from '../../agent/model/log.ts'
import { hasScope } from '../../agent/model/permission/authority.ts'
import type { ChatAuthor, MessageChunk, DeliveryRecord, ChatOrigin, SendOutcome } from '../../agent/model/delivery.ts'
import type { SessionEvent } from '../../agent/model/event.ts'
import type { MessageSource } from '../../agent/model/message.ts'
import { isSilent } from '../../agent/schedule/job/answer.ts'
import * as policy from '../../agent/policy/delivery-attempt.ts'
import type { OutboundMessage } from '../../channels/channel.ts'
import { loadChannel } from '../../channels/channels.ts'
import { withPrefix } from '../../channels/text/split-text.ts'
import { maskPendingRequest, renderPendingRequest, withRowNumber } from './pending-request-message.ts'
import { loadConnection, type LoadedConnection } from './connection.ts'
import { Presence } from './presence.ts'
import { firstChunk, renderSafely } from './preview.ts'
import { isOwnReset } from '../platform/object-reset.ts'
import { failpoint } from '../platform/failpoint.ts'
import { InboundEvents } from './inbound-events.ts'
import { Outbox, type OutboxRow, type RowSource } from './outbox.ts'
import { personRequests } from '../turn/pending-requests.ts'
import type { SessionStore } from '../storage/store.ts'
import { leaseMs } from '../platform/schedule.ts'
import { clock } from '../platform/clock.ts'

/** The parts of the session that delivery uses. */
type DeliverySession = {
  readonly tenantId: string
  readonly sessionId: string
  readonly sql: SqlStorage
  readonly journal: { readonly hasTable: (table: 'outbox' | 'heard') => boolean }
  /** Read at each use: a rebuild replaces it. */
  readonly store: SessionStore
  readonly exists: boolean
  readonly meta: { readonly origin?: ChatOrigin }
  /** While the tenant is suspended nothing is sent. */
  readonly access: { readonly isPaused: boolean }
  readonly runInBackground: (work: Promise<unknown>) => void
  readonly arm: () => void
  /** Aborts the object, and with it all writes since the last await. */
  readonly resetObject: (reason: string) => void
}

const noText = { text: '', spans: [] } as const
/** Pause after an unexpected error, for example when the connection cannot be read. */
const errorPauseMs = 15_000
/** The maximum wait until the platform allows another edit of a preview. */
const maxEditWaitMs = 5_000
/** User messages that only steer a turn. */
const steering: ReadonlySet<MessageSource> = new Set(['nudge', 'notice', 'summary'])

/** The end of a run that only adds a delivered message to the conversation. Its events are published together. */
const needsNoAnswer = (event: SessionEvent) => event.type === 'run.completed' && event.exit_reason === 'delivered'

export class Delivery {
  readonly outbox: Outbox
  readonly inboundEvents: InboundEvents
  readonly #session: DeliverySession
  readonly #env: Env
  readonly #presence: Presence
  #sending: Promise<void> | undefined
  #pausedUntil = 0
  /** Rows that the previous instance of the object left in `sending` are resolved. */
  #hasRecovered = false
  #isClosed = false

  constructor(session: DeliverySession, env: Env) {
    this.#session = session
    this.#env = env
    this.outbox = new Outbox(session.sql, session.journal.hasTable('outbox'))
    this.inboundEvents = new InboundEvents(session.sql, session.journal.hasTable('heard'))
    this.#presence = new Presence({
      outbox: this.outbox,
      chat: () => this.#chat,
      loadConnection: (origin) => this.#loadConnection(origin),
      replyTo: () => this.#replyTo(),
      runInBackground: (work) => session.runInBackground(work),
      startSending: () => this.#startSending(),
    })
  }

  get #chat(): ChatOrigin | undefined {
    return this.#session.exists ? this.#session.meta.origin : undefined
  }

  get isSending(): boolean {
    return this.#sending !== undefined
  }

  /** Returns when the alarm must call `start`. */
  getNextWake(now: number): number | undefined {
    if (!this.#chat || this.#isClosed) return undefined
    if (this.#sending) return now + leaseMs
    const [row] = this.outbox.listOpen()
    if (!row) return undefined
    const step = policy.nextDeliveryStep(row.custody, this.#optionsOf(row), now)
    return Math.max(this.#pausedUntil, step.do === 'wait' ? step.until : now)
  }

  /** Sends all rows that are due, then resolves. Never rejects. */
  start(): Promise<void> {
    if (this.#isClosed || !this.#chat) return Promise.resolve()
    return (this.#sending ??= this.#sendDueRows())
  }

  /** Stops all sending, because the session is being deleted. */
  close(): void {
    this.#isClosed = true
    this.#presence.end()
  }

  /** Turns public events into outbox rows and presence. Called before any subscriber gets them. */
  handleEvents(events: readonly SessionEvent[]): void {
    const chat = this.#chat
    if (!chat || this.#isClosed || events.some(needsNoAnswer)) return
    try {
      for (const event of events) this.#handleEvent(event)
    } catch (error) {
      // An answer without its outbox row would never be sent. Aborting undoes both, and the turn repeats the step.
      this.#session.resetObject('The outbox could not be written.')
      throw error
    }
  }

  /** Sends a text of the system itself, such as an error notice. */
  sendNotice(text: string, run = '', format: 'plain' | 'markdown' = 'plain'): void {
    if (!this.#chat || !text.trim()) return
    const custody = policy.createDelivery(clock.now())
    this.outbox.add({ run, kind: 'notice', custody, chunk: noText, source: { text, format } })
    this.#startSending()
  }

  /** Describes in one line which parts of a run's answer were not delivered, and why. */
  getDeliveryError(run: string): string | undefined {
    if (!this.#chat) return undefined
    const parts = this.outbox.listByRun(run).filter(({ kind }) => kind === 'reply')
    return policy.describeFailures(parts.map(({ custody }) => custody))
  }

  #handleEvent(event: SessionEvent): void {
    switch (event.type) {
      case 'run.started':
      case 'approval.responded':
      case 'question.answered':
        return this.#presence.showTyping()
      case 'message.delta':
        return this.#presence.appendDelta(event.run_id, event.delta)
      case 'turn.restarted':
        return this.#presence.discardText(event.run_id)
      case 'tool.started':
        return this.#presence.endStep(event.run_id)
      case 'approval.request':
        return this.#addPendingRequest(event.approval_id, event.run_id)
      case 'question.request':
        return this.#addPendingRequest(event.question_id, event.run_id)
      case 'run.completed':
      case 'run.failed':
        return this.#addReply(event.run_id, event.output)
      case 'run.cancelled':
        return this.#finishCancelled(event.run_id, event.output)
    }
  }

  /** A cancelled turn gets no answer, but a preview that is visible must show where it ended. */
  #finishCancelled(run: string, text: string): void {
    if (this.#previewOf(run)) this.#addReply(run, text)
    else this.#presence.end()
  }

  // --- adding rows

  #addReply(run: string, text: string): void {
    const editableAt = this.#presence.end()
    const now = clock.now()
    const replyTo = this.#replyTo()
    const preview = this.#previewOf(run)
    // A visible preview must be replaced by a text, even if the answer is empty.
    const isAwaited = preview !== undefined || this.#isAnsweringPerson()
    const shown = isAwaited || !isSilent(text) ? policy.renderAnswer(text, isAwaited) : ''
    if (!shown.trim()) return
    this.outbox.add({
      run,
      kind: 'reply',
      custody: { ...policy.createDelivery(now), due: preview ? Math.min(editableAt, now + maxEditWaitMs) : 0 },
      chunk: noText,
      source: { text: shown, format: 'markdown' },
      ...(replyTo !== undefined && { replyTo }),
      ...(preview && { edits: preview.id }),
    })
    this.#startSending()
  }

  #addPendingRequest(id: string, run: string): void {
    this.#presence.end()
    const pending = personRequests(this.#session).find((one) => one.id === id)
    if (!pending) return
    const shown = this.#chat?.isGroup ? maskPendingRequest(pending) : pending
    const { text, buttons, choices } = renderPendingRequest(shown, this.#mayAskerChangePolicy())
    const person = this.#asker()?.person
    const request = id.slice(this.#session.sessionId.length + 1)
    this.outbox.add({
      run,
      kind: 'ask',
      custody: policy.createDelivery(clock.now()),
      chunk: { ...noText, buttons },
      source: { text, format: 'plain' },
      asks: { request, choices, ...(person !== undefined && { person }) },
    })
    this.#startSending()
  }

  /** The person who began the open or last turn. */
  #asker(): ChatAuthor | undefined {
    return this.#session.store.current()?.options.asker
  }

  #mayAskerChangePolicy(): boolean {
    const authority = this.#session.store.current()?.options.authority
    return authority !== undefined && hasScope(authority, 'approve')
  }

  #previewOf(run: string): OutboxRow | undefined {
    return this.outbox.listByRun(run).find(({ kind, custody }) => kind === 'preview' && custody.state !== 'dead')
  }

  /** Whether a person, not the system, wrote the message that the turn answers. */
  #isAnsweringPerson(): boolean {
    const last = this.#session.store
      .transcript()
      .findLast((message) => message.role === 'user' && !(message.source && steering.has(message.source)))
    return last?.role === 'user' && last.source === undefined
  }

  /** In a group, an answer quotes the message that it answers. */
  #replyTo(): string | undefined {
    return this.#chat?.isGroup ? this.#asker()?.message : undefined
  }

  #startSending(): void {
    this.#session.runInBackground(this.start())
    this.#session.arm()
  }

  // --- sending rows

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
    if (!this.#isClosed) this.#session.arm()
  }

  /** Resolves the rows whose attempt was interrupted by the end of the previous instance. */
  async #recoverInterrupted(): Promise<void> {
    const isIdempotent = await this.#hasIdempotencyKeys()
    const now = clock.now()
    for (const row of this.outbox.listOpen()) {
      if (row.custody.state !== 'sending') continue
      const custody = policy.interrupt(row.custody, this.#optionsOf(row, isIdempotent), now)
      // A preview is never repeated: the answer itself follows.
      this.outbox.update({ ...row, custody: row.kind === 'preview' ? { ...custody, state: 'dead' } : custody })
    }
  }

  /** Sends or expires the next row. Returns false when no row is due. */
  async #processNext(): Promise<boolean> {
    const [row] = this.outbox.listOpen()
    const origin = this.#chat
    if (!row || !origin || this.#isClosed || this.#session.access.isPaused) return false
    const due = policy.nextDeliveryStep(row.custody, this.#optionsOf(row), clock.now())
    if (due.do === 'wait') return false
    if (due.do === 'expire') {
      this.#expire(row)
      return true
    }
    const connection = await this.#loadConnection(origin)
    if ('refused' in connection) this.#recordOutcome(row, { kind: 'forbidden', detail: connection.refused })
    else if (row.source) this.#render(row, row.source, connection)
    else await this.#send(row, { connection, origin })
    return true
  }

  /** Replaces the row by the messages that the platform accepts. */
  #render(row: OutboxRow, { text, format, isFirstOnly }: RowSource, { channel }: LoadedConnection): void {
    const chunks = format === 'plain' ? channel.render(text, 'plain') : renderSafely(channel, text)
    const shown = isFirstOnly ? [firstChunk(chunks)] : chunks
    const { buttons } = row.chunk
    this.outbox.expand(
      row,
      shown.map((chunk, n) => (buttons && n === shown.length - 1 ? { ...chunk, buttons } : chunk)),
    )
  }

  async #send(
    row: OutboxRow,
    { connection, origin }: { readonly connection: LoadedConnection; readonly origin: ChatOrigin },
  ): Promise<void> {
    const { channel } = connection
    const options = this.#optionsOf(row, channel.capabilities.idempotencyKeys)
    const step = policy.nextDeliveryStep(row.custody, options, clock.now())
    if (step.do !== 'send') return
    if (row.edits !== undefined) await this.#presence.waitForEdit()
    await failpoint('before-send')
    if (step.needsProbe && channel.showTyping) {
      const probe = await channel.showTyping(connection, origin)
      if (probe.kind !== 'sent')
        return this.#updateCustody(row, policy.afterFailedProbe(row.custody, probe, options, clock.now()))
    }
    if (this.#isClosed) return
    const sending = { ...row, custody: policy.startSending(row.custody) }
    this.outbox.update(sending)
    // No await before the call: the output gate holds the request until the row is durable.
    const attempt = channel.send(connection, this.#messageOf(row, step.isMarkedDuplicate, origin), this.#keyOf(row))
    void failpoint('during-send')
    const outcome = await attempt
    await failpoint('after-send')
    this.#recordOutcome(sending, outcome, options)
  }

  #messageOf(row: OutboxRow, isMarked: boolean, origin: ChatOrigin): OutboundMessage {
    const { custody, replyTo } = row
    const editedMessageId = this.#editedMessageId(row)
    const plain: MessageChunk = custody.isPlain ? { ...row.chunk, spans: [] } : row.chunk
    const chunk = withRowNumber(plain, row.id)
    return {
      address: origin,
      chunk: isMarked ? withPrefix(chunk, policy.duplicateMark) : chunk,
      ...(editedMessageId !== undefined ? { editedMessageId } : replyTo !== undefined && { replyToMessageId: replyTo }),
    }
  }

  /** The same for all attempts of a row. A deleted and recreated session numbers its rows from 1 again. */
  #keyOf({ id, custody }: OutboxRow): string {
    return `${this.#session.sessionId}:${id}:${custody.preparedAt}`
  }

  #recordOutcome(row: OutboxRow, outcome: SendOutcome, options = this.#optionsOf(row)): void {
    const custody = policy.afterAttempt(row.custody, outcome, options, clock.now())
    const { edits, ...rest } = row
    this.#updateCustody(outcome.kind === 'gone' || edits === undefined ? rest : { ...rest, edits }, custody)
    if (!policy.endsChat(outcome)) return
    // The chat accepts nothing, so the other parts of the answer are dead too.
    for (const other of this.outbox.listOpen())
      if (other.run === row.run && other.kind === row.kind) this.#updateCustody(other, { ...custody, state: 'dead' })
  }

  #updateCustody(row: OutboxRow, custody: DeliveryRecord): void {
    this.outbox.update({ ...row, custody })
    if (custody.state === 'dead' && row.kind !== 'preview')
      log.warn('delivery.given_up', `Not delivered: ${custody.error}`)
  }

  /** Expires all open parts of an answer together. One notice stands for all expired answers. */
  #expire(row: OutboxRow): void {
    const parts = this.outbox.listOpen().filter((other) => other.run === row.run && other.kind === row.kind)
    for (const part of parts) this.#updateCustody(part, policy.expire(part.custody))
    if (row.kind !== 'reply') return
    const notice = this.outbox.listOpen().find(({ missed }) => missed !== undefined)
    const missed = (notice?.missed ?? 0) + 1
    const chunk = { text: policy.renderDigest(missed, row.source?.text ?? row.chunk.text), spans: [] }
    if (notice) this.outbox.update({ ...notice, chunk, missed })
    else this.outbox.add({ run: row.run, kind: 'notice', custody: policy.createDelivery(clock.now()), chunk, missed })
  }

  async #hasIdempotencyKeys(): Promise<boolean> {
    const channel = this.#chat && (await loadChannel(this.#chat.platform))
    return channel?.capabilities.idempotencyKeys === true
  }

  #optionsOf(row: OutboxRow, hasIdempotencyKeys = false): policy.DeliveryOptions {
    return {
      isIdempotent: hasIdempotencyKeys || this.#editedMessageId(row) !== undefined,
      isLongLived: row.kind === 'notice' || row.kind === 'ask',
    }
  }

  #editedMessageId({ edits }: OutboxRow): string | undefined {
    return edits === undefined ? undefined : this.outbox.get(edits)?.custody.platformId
  }

  async #loadConnection({ connection: id }: ChatOrigin): Promise<LoadedConnection | { readonly refused: string }> {
    const connection = await loadConnection(this.#env, id, clock.now())
    if (!connection || ('tenantId' in connection && connection.tenantId !== this.#session.tenantId))
      return { refused: 'the channel was removed' }
    return connection
  }
}
