/**
 * The way from a session into its chat. Whatever the session makes public passes here, in the stretch of code that
 * writes it: the end of a turn becomes rows of the outbox in the same write. Then one row after the other is sent, as
 * policy/deliver.ts says; a death in between changes nothing but what that policy makes of it.
 */

import type { Asker, Chunk, Custody, Origin, Outcome } from '../../agent/model/delivery.ts'
import type { PlacedEvent } from '../../agent/model/event.ts'
import type { Source } from '../../agent/model/message.ts'
import * as policy from '../../agent/policy/deliver.ts'
import type { Outgoing } from '../../channels/channel.ts'
import { channelOf } from '../../channels/channels.ts'
import { prefixed } from '../../channels/text/split.ts'
import { type Ask, addressedTo, askOf } from './pending-request-message.ts'
import { connected, type Connected } from './connection.ts'
import { type Chat, Presence } from './presence.ts'
import { rendered } from './preview.ts'
import { isOwnReset } from '../platform/object-reset.ts'
import { failpoint } from '../platform/failpoint.ts'
import { InboundEvents } from './inbound-events.ts'
import { Outbox, type PartRow } from './outbox.ts'
import { waitingItems } from '../turn/pending-requests.ts'
import type { SessionStore } from '../storage/store.ts'
import { leaseMs } from '../platform/schedule.ts'
import { clock } from '../platform/clock.ts'

/** The session, as far as this needs it. */
type Session = {
  readonly tenantId: string
  readonly sessionId: string
  readonly sql: SqlStorage
  readonly journal: { readonly had: (table: 'outbox' | 'heard') => boolean }
  /** Rebuilt, it is another one. */
  readonly store: SessionStore
  readonly exists: boolean
  readonly meta: { readonly origin?: Origin }
  readonly later: (work: Promise<unknown>) => void
  readonly arm: () => void
  /** Ends the object with all that this stretch of code has written. */
  readonly die: (reason: string) => void
}

/** When the connection cannot be read, or we are at fault: not at once again. */
const restMs = 15_000
/** How long an answer waits, at most, until the platform lets the message be edited that shows its beginning. */
const longestEditWaitMs = 5_000
/** Of messages that only steer a turn. */
const inBetween: ReadonlySet<Source> = new Set(['nudge', 'notice', 'summary'])

type Line = { readonly connection: Connected; readonly origin: Origin }

export class Delivery {
  readonly outbox: Outbox
  readonly inboundEvents: InboundEvents
  readonly #session: Session
  readonly #env: Env
  readonly #presence: Presence
  #sending: Promise<void> | undefined
  #restsUntil = 0
  /** What a former life left on its way has been looked at. */
  #isAwake = false
  #isClosed = false

  constructor(session: Session, env: Env) {
    this.#session = session
    this.#env = env
    this.outbox = new Outbox(session.sql, session.journal.had('outbox'))
    this.inboundEvents = new InboundEvents(session.sql, session.journal.had('heard'))
    this.#presence = new Presence({
      outbox: this.outbox,
      chat: () => this.#chat,
      connected: (origin) => this.#connected(origin),
      replyTo: () => this.#replyTo(),
      later: (work) => session.later(work),
      go: () => this.#go(),
    })
  }

  get #chat(): Chat | undefined {
    const origin = this.#session.exists ? this.#session.meta.origin : undefined
    const channel = origin && channelOf(origin.platform)
    return channel && { origin, channel }
  }

  get isSending(): boolean {
    return this.#sending !== undefined
  }

  /** When the alarm has to look after this. */
  wakeAt(now: number): number | undefined {
    if (!this.#chat || this.#isClosed) return undefined
    if (this.#sending) return now + leaseMs
    const [row] = this.outbox.open()
    if (!row) return undefined
    const step = policy.nextStep(row.custody, this.#mannerOf(row), now)
    return Math.max(this.#restsUntil, step.do === 'wait' ? step.until : now)
  }

  /** Sends what is due; resolves when nothing is. Never rejects. */
  start(): Promise<void> {
    if (this.#isClosed || !this.#chat) return Promise.resolve()
    return (this.#sending ??= this.#toRest())
  }

  /** The session is going away. */
  close(): void {
    this.#isClosed = true
    this.#presence.end()
  }

  /** Called with whatever becomes public, before anybody else hears of it. */
  hear(events: readonly PlacedEvent[]): void {
    const chat = this.#chat
    if (!chat || this.#isClosed) return
    try {
      for (const event of events) this.#take(event, chat)
    } catch (error) {
      // Else there would be an answer without a way out. What was written with it goes as well, and is done again.
      this.#session.die('What is to be delivered cannot be written.')
      throw error
    }
  }

  /** Words of our own. */
  say(text: string, run = ''): void {
    for (const chunk of this.#chat?.channel.render(text, 'plain') ?? [])
      this.outbox.add({ run, kind: 'notice', custody: policy.prepared(clock.now()), chunk })
    this.#go()
  }

  /** What of a run could not be delivered, in one line. */
  errorOf(run: string): string | undefined {
    if (!this.#chat) return undefined
    const parts = this.outbox.ofRun(run).filter(({ kind }) => kind === 'reply')
    const [failed, ...more] = parts.filter(({ custody }) => ['unknown', 'expired', 'dead'].includes(custody.state))
    if (!failed) return undefined
    const which = parts.length > 1 ? ` (${more.length + 1} of ${parts.length} parts)` : ''
    return `${failed.custody.error ?? failed.custody.state}${which}`
  }

  #take(event: PlacedEvent, chat: Chat): void {
    switch (event.type) {
      case 'run.started':
      case 'approval.responded':
      case 'question.answered':
        return this.#presence.type()
      case 'message.delta':
        return this.#presence.write(event.run_id, event.delta)
      case 'turn.restarted':
        return this.#presence.restart(event.run_id)
      case 'tool.started':
        return this.#presence.pause(event.run_id)
      case 'approval.request':
        return this.#ask(event.approval_id, event.run_id, chat)
      case 'question.request':
        return this.#ask(event.question_id, event.run_id, chat)
      case 'run.completed':
      case 'run.failed':
        return this.#reply(event.run_id, event.output, chat)
      case 'run.cancelled':
        return this.#stopped(event.run_id, event.output, chat)
    }
  }

  /** Whoever stops a turn wants no answer; what was seen of one shows that it has ended. */
  #stopped(run: string, text: string, chat: Chat): void {
    if (this.#previewOf(run)) this.#reply(run, text, chat)
    else this.#presence.end()
  }

  // --- what goes out

  #reply(run: string, text: string, { channel }: Chat): void {
    const editableAt = this.#presence.end()
    const now = clock.now()
    const replyTo = this.#replyTo()
    const preview = this.#previewOf(run)
    // Whoever has seen an answer begin is told its end.
    const isAwaited = preview !== undefined || this.#isToPerson()
    rendered(channel, policy.spokenOf(text, isAwaited)).forEach((chunk, n) => {
      const isFirst = n === 0
      const due = isFirst && preview ? Math.min(editableAt, now + longestEditWaitMs) : 0
      this.outbox.add({
        run,
        kind: 'reply',
        custody: { ...policy.prepared(now), due },
        chunk,
        ...(isFirst && replyTo !== undefined && { replyTo }),
        ...(isFirst && preview && { edits: preview.id }),
      })
    })
    this.#go()
  }

  #ask(question: string, run: string, { channel }: Chat): void {
    this.#presence.end()
    const waits = waitingItems(this.#session).find(({ id }) => id === question)
    const ask: Ask | undefined = waits && askOf(waits)
    if (!ask) return
    const person = this.#asker()?.person
    const request = question.slice(this.#session.sessionId.length + 1)
    const chunks = channel.render(ask.text, 'plain')
    chunks.forEach((chunk, n) =>
      this.outbox.add({
        run,
        kind: 'ask',
        custody: policy.prepared(clock.now()),
        chunk: n === chunks.length - 1 ? { ...chunk, buttons: ask.buttons } : chunk,
        asks: { request, choices: ask.choices, ...(person !== undefined && { person }) },
      }),
    )
    this.#go()
  }

  /** Of the turn that is open, or was last. */
  #asker(): Asker | undefined {
    return this.#session.store.current()?.options.asker
  }

  #previewOf(run: string): PartRow | undefined {
    return this.outbox.ofRun(run).find(({ kind, custody }) => kind === 'preview' && custody.state !== 'dead')
  }

  /** What began the turn was said by somebody, and not by the system. */
  #isToPerson(): boolean {
    const said = this.#session.store
      .transcript()
      .findLast((message) => message.role === 'user' && !(message.source && inBetween.has(message.source)))
    return said?.role === 'user' && said.source === undefined
  }

  /** In a group an answer names what it answers. */
  #replyTo(): string | undefined {
    return this.#chat?.origin.isGroup ? this.#asker()?.message : undefined
  }

  #go(): void {
    this.#session.later(this.start())
    this.#session.arm()
  }

  // --- sending

  async #toRest(): Promise<void> {
    try {
      if (!this.#isAwake) this.#wake()
      this.#isAwake = true
      while (await this.#next());
    } catch (error) {
      // A fresh object goes on from the rows.
      if (isOwnReset(error)) return
      console.warn('Something could not be delivered now; it will be tried again.', error)
      this.#restsUntil = clock.now() + restMs
    }
    this.#sending = undefined
    if (!this.#isClosed) this.#session.arm()
  }

  /** What was on its way when the object died. */
  #wake(): void {
    const now = clock.now()
    for (const row of this.outbox.open()) {
      if (row.custody.state !== 'sending') continue
      // A message that only shows what is being written is not sent twice.
      const custody = policy.interrupted(row.custody, this.#mannerOf(row), now)
      this.outbox.put({ ...row, custody: row.kind === 'preview' ? { ...custody, state: 'dead' } : custody })
    }
  }

  /** False when nothing is due. */
  async #next(): Promise<boolean> {
    const [row] = this.outbox.open()
    const origin = this.#chat?.origin
    if (!row || !origin || this.#isClosed) return false
    const manner = this.#mannerOf(row)
    const step = policy.nextStep(row.custody, manner, clock.now())
    if (step.do === 'wait') return false
    if (step.do === 'expire') {
      this.#expire(row)
      return true
    }
    const connection = await this.#connected(origin)
    if ('refused' in connection) this.#settle(row, { of: 'refused', scope: 'chat', detail: connection.refused })
    else await this.#send(row, step, { connection, origin })
    return true
  }

  async #send(row: PartRow, step: Extract<policy.Step, { do: 'send' }>, { connection, origin }: Line): Promise<void> {
    const { channel, line } = connection
    const manner = this.#mannerOf(row)
    if (row.edits !== undefined) await this.#presence.settled()
    await failpoint('before-send')
    if (step.asksFirst) {
      const reached = await channel.typing(line, origin)
      if (reached.of !== 'sent') return this.#keep(row, policy.notReached(row.custody, reached, manner, clock.now()))
    }
    if (this.#isClosed) return
    const sending = { ...row, custody: policy.sending(row.custody) }
    this.outbox.put(sending)
    // In the same stretch of code: nothing leaves before the row is durable.
    const attempt = channel.send(line, this.#outgoing(row, step.isMarked, origin))
    void failpoint('during-send')
    const outcome = await attempt
    await failpoint('after-send')
    this.#settle(sending, outcome)
  }

  #outgoing(row: PartRow, isMarked: boolean, origin: Origin): Outgoing {
    const { custody, replyTo } = row
    const edits = this.#editedId(row)
    const plain: Chunk = custody.isPlain ? { ...row.chunk, spans: [] } : row.chunk
    const chunk = addressedTo(plain, row.id)
    return {
      place: origin,
      chunk: isMarked ? prefixed(chunk, policy.duplicateMark) : chunk,
      ...(edits !== undefined ? { edits } : replyTo !== undefined && { replyTo }),
    }
  }

  #settle(row: PartRow, outcome: Outcome): void {
    const custody = policy.afterAttempt(row.custody, outcome, this.#mannerOf(row), clock.now())
    const { edits, ...rest } = row
    this.#keep(outcome.of === 'gone' || edits === undefined ? rest : { ...rest, edits }, custody)
    if (outcome.of !== 'refused' || outcome.scope !== 'chat') return
    // The rest of what was said has nowhere to go either.
    for (const other of this.outbox.open())
      if (other.run === row.run && other.kind === row.kind) this.#keep(other, { ...custody, state: 'dead' })
  }

  #keep(row: PartRow, custody: Custody): void {
    this.outbox.put({ ...row, custody })
    if (custody.state === 'dead' && row.kind !== 'preview') console.warn(`Not delivered: ${custody.error}`)
  }

  /** All that is left of a reply becomes too old together, and one line stands for it. */
  #expire(row: PartRow): void {
    const others = this.outbox.open().filter((other) => other.run === row.run && other.kind === row.kind)
    for (const other of others) this.#keep(other, policy.expired(other.custody))
    if (row.kind !== 'reply') return
    const known = this.outbox.open().find(({ missed }) => missed !== undefined)
    const missed = (known?.missed ?? 0) + 1
    const chunk = { text: policy.digestOf(missed, row.chunk.text), spans: [] }
    if (known) this.outbox.put({ ...known, chunk, missed })
    else this.outbox.add({ run: row.run, kind: 'notice', custody: policy.prepared(clock.now()), chunk, missed })
  }

  #mannerOf(row: PartRow): policy.Manner {
    return {
      keyed: this.#chat?.channel.keyed === true || this.#editedId(row) !== undefined,
      isPatient: row.kind === 'notice' || row.kind === 'ask',
    }
  }

  #editedId({ edits }: PartRow): string | undefined {
    return edits === undefined ? undefined : this.outbox.get(edits)?.custody.platformId
  }

  async #connected({ connection: id }: Origin): Promise<Connected | { readonly refused: string }> {
    const found = await connected(this.#env, id, clock.now())
    if (!found || ('tenantId' in found && found.tenantId !== this.#session.tenantId))
      return { refused: 'the channel was removed' }
    return found
  }
}
