/**
 * The way from a session into its chat. Whatever the session makes public passes here, in the stretch of code that
 * writes it: the end of a turn becomes rows of the outbox in the same write. Then one row after the other is sent, as
 * policy/deliver.ts says; a death in between changes nothing but what that policy makes of it.
 */

import type { Asker, Chunk, Custody, Origin, Outcome } from '../agent/model/delivery.ts'
import type { PlacedEvent } from '../agent/model/event.ts'
import * as policy from '../agent/policy/deliver.ts'
import type { Channel, Outgoing } from '../channels/channel.ts'
import { channelOf } from '../channels/channels.ts'
import { prefixed } from '../channels/text/split.ts'
import { type Ask, addressedTo, askOf } from './channel-ask.ts'
import { connected, type Connected } from './channel-connection.ts'
import { firstOf, Preview } from './channel-preview.ts'
import { Typing } from './channel-typing.ts'
import { isReset } from './driver.ts'
import { failpoint } from './failpoint.ts'
import { HeardEvents } from './heard.ts'
import { Outbox, type PartRow } from './outbox.ts'
import { waitingItems } from './questions.ts'
import type { SessionStore } from './store.ts'
import { leaseMs } from './wake.ts'

/** The session, as far as this needs it. */
type Session = {
  readonly tenantId: string
  readonly sessionId: string
  readonly sql: SqlStorage
  readonly journal: { readonly had: (table: 'outbox' | 'heard') => boolean }
  /** Rebuilt, it is another one. */
  readonly store: SessionStore
  readonly origin: Origin | undefined
  readonly later: (work: Promise<unknown>) => void
  readonly arm: () => void
}

/** When the connection cannot be read, or we are at fault: not at once again. */
const restMs = 15_000

type Line = { readonly connection: Connected; readonly origin: Origin }

export class Delivery {
  readonly outbox: Outbox
  readonly heard: HeardEvents
  readonly #session: Session
  readonly #env: Env
  readonly #typing = new Typing()
  readonly #preview: Preview
  #sending: Promise<void> | undefined
  #restsUntil = 0
  /** What a former life left on its way has been looked at. */
  #isAwake = false
  #isClosed = false

  constructor(session: Session, env: Env) {
    this.#session = session
    this.#env = env
    this.outbox = new Outbox(session.sql, session.journal.had('outbox'))
    this.heard = new HeardEvents(session.sql, session.journal.had('heard'))
    this.#preview = new Preview({
      pauseMs: () => this.#previewPause(),
      row: (run, text) => this.#previewRow(run, text),
      current: (id) => this.outbox.get(id),
      edit: (id, text) => this.#edit(id, text),
    })
  }

  get isSending(): boolean {
    return this.#sending !== undefined
  }

  /** When the alarm has to look after this. */
  wakeAt(now: number): number | undefined {
    if (!this.#session.origin || this.#isClosed) return undefined
    if (this.#sending) return now + leaseMs
    const [row] = this.outbox.open()
    if (!row) return undefined
    const step = policy.nextStep(row.custody, this.#mannerOf(row), now)
    return Math.max(this.#restsUntil, step.do === 'wait' ? step.until : now)
  }

  /** Sends what is due; resolves when nothing is. Never rejects. */
  start(): Promise<void> {
    if (this.#isClosed || !this.#session.origin) return Promise.resolve()
    return (this.#sending ??= this.#toRest())
  }

  /** The session is going away. */
  close(): void {
    this.#isClosed = true
    this.#typing.end()
    this.#preview.end()
  }

  /** Called with whatever becomes public, before anybody else hears of it. */
  hear(events: readonly PlacedEvent[]): void {
    const origin = this.#session.origin
    const channel = origin && channelOf(origin.platform)
    if (!channel || this.#isClosed) return
    for (const event of events) this.#take(event, channel, origin)
  }

  /** Words of our own. */
  say(text: string, run = ''): void {
    const origin = this.#session.origin
    const channel = origin && channelOf(origin.platform)
    for (const chunk of channel?.render(text, 'plain') ?? [])
      this.outbox.add({ run, kind: 'notice', custody: policy.prepared(Date.now()), chunk })
    this.#go()
  }

  /** What of a run could not be delivered, in one line. */
  errorOf(run: string): string | undefined {
    if (!this.#session.origin) return undefined
    const parts = this.outbox.ofRun(run).filter(({ kind }) => kind === 'reply')
    const [failed, ...more] = parts.filter(({ custody }) => ['unknown', 'expired', 'dead'].includes(custody.state))
    if (!failed) return undefined
    const which = parts.length > 1 ? ` (${more.length + 1} of ${parts.length} parts)` : ''
    return `${failed.custody.error ?? failed.custody.state}${which}`
  }

  #take(event: PlacedEvent, channel: Channel, origin: Origin): void {
    switch (event.type) {
      case 'run.started':
        return this.#type()
      case 'message.delta':
        return this.#hold(this.#preview.take(event.run_id, event.delta))
      case 'turn.restarted':
        return this.#preview.restart(event.run_id)
      case 'approval.request':
        return this.#ask(event.approval_id, event.run_id, channel)
      case 'question.request':
        return this.#ask(event.question_id, event.run_id, channel)
      case 'approval.responded':
      case 'question.answered':
        return this.#type()
      case 'run.completed':
      case 'run.failed':
        return this.#reply(event.run_id, event.output, channel, origin)
      // Whoever stops a turn wants no answer.
      case 'run.cancelled':
        this.#preview.end()
        return this.#typing.end()
    }
  }

  // --- what goes out

  #reply(run: string, text: string, channel: Channel, { isGroup }: Origin): void {
    this.#typing.end()
    const editableAt = this.#preview.end()
    const now = Date.now()
    const replyTo = isGroup ? this.#asker()?.message : undefined
    const preview = this.outbox.ofRun(run).find(({ kind, custody }) => kind === 'preview' && custody.state !== 'dead')
    rendered(channel, text).forEach((chunk, n) => {
      const isFirst = n === 0
      const due = isFirst && preview ? Math.min(editableAt, now + longestPauseMs) : 0
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

  #ask(question: string, run: string, channel: Channel): void {
    this.#typing.end()
    this.#preview.end()
    const waits = waitingItems(this.#session).find(({ id }) => id === question)
    const ask: Ask | undefined = waits && askOf(waits)
    if (!ask) return
    const person = this.#asker()?.person
    const callId = question.slice(this.#session.sessionId.length + 1)
    const chunks = channel.render(ask.text, 'plain')
    chunks.forEach((chunk, n) =>
      this.outbox.add({
        run,
        kind: 'ask',
        custody: policy.prepared(Date.now()),
        chunk: n === chunks.length - 1 ? { ...chunk, buttons: ask.buttons } : chunk,
        asks: { callId, choices: ask.choices, ...(person !== undefined && { person }) },
      }),
    )
    this.#go()
  }

  /** Of the turn that is open, or was last. */
  #asker(): Asker | undefined {
    return this.#session.store.current()?.options.asker
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
      if (isReset(error) && !(error instanceof Error && 'remote' in error)) return
      console.warn('Something could not be delivered now; it will be tried again.', error)
      this.#restsUntil = Date.now() + restMs
    }
    this.#sending = undefined
    if (!this.#isClosed) this.#session.arm()
  }

  /** What was on its way when the object died. */
  #wake(): void {
    const now = Date.now()
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
    const origin = this.#session.origin
    if (!row || !origin || this.#isClosed) return false
    const manner = this.#mannerOf(row)
    const step = policy.nextStep(row.custody, manner, Date.now())
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
    if (row.edits !== undefined) await this.#preview.settled()
    await failpoint('before-send')
    if (step.asksFirst) {
      const reached = await channel.typing(line, origin)
      if (reached.of !== 'sent') return this.#keep(row, policy.notReached(row.custody, reached, manner, Date.now()))
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
    const custody = policy.afterAttempt(row.custody, outcome, this.#mannerOf(row), Date.now())
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
    else this.outbox.add({ run: row.run, kind: 'notice', custody: policy.prepared(Date.now()), chunk, missed })
  }

  #mannerOf(row: PartRow): policy.Manner {
    const origin = this.#session.origin
    const isKeyed = origin !== undefined && channelOf(origin.platform)?.keyed === true
    return {
      keyed: isKeyed || this.#editedId(row) !== undefined,
      isPatient: row.kind === 'notice' || row.kind === 'ask',
    }
  }

  #editedId({ edits }: PartRow): string | undefined {
    return edits === undefined ? undefined : this.outbox.get(edits)?.custody.platformId
  }

  async #connected({ connection: id }: Origin): Promise<Connected | { readonly refused: string }> {
    const found = await connected(this.#env, id, Date.now())
    if (!found || ('tenantId' in found && found.tenantId !== this.#session.tenantId))
      return { refused: 'the channel was removed' }
    return found
  }

  // --- what is only seen

  #type(): void {
    const origin = this.#session.origin
    const channel = origin && channelOf(origin.platform)
    if (!channel) return
    const show = async (): Promise<Outcome> => {
      const connection = await this.#connected(origin)
      return 'refused' in connection
        ? { of: 'refused', scope: 'chat', detail: connection.refused }
        : channel.typing(connection.line, origin)
    }
    this.#hold(this.#typing.begin(show, channel.typingMs * 0.8))
  }

  #hold(work: Promise<unknown> | undefined): void {
    if (work) this.#session.later(work.catch((error: unknown) => console.warn('The chat does not see this.', error)))
  }

  async #previewPause(): Promise<number | undefined> {
    const origin = this.#session.origin
    const connection = origin && (await this.#connected(origin))
    if (!connection || 'refused' in connection || !connection.settings.streaming) return undefined
    return connection.channel.editPause(origin.isGroup)
  }

  #previewRow(run: string, text: string): PartRow {
    const known = this.outbox.ofRun(run).find(({ kind }) => kind === 'preview')
    if (known) return known
    const origin = this.#session.origin
    const channel = origin && channelOf(origin.platform)
    const replyTo = origin?.isGroup ? this.#asker()?.message : undefined
    const row = this.outbox.add({
      run,
      kind: 'preview',
      custody: policy.prepared(Date.now()),
      chunk: firstOf(channel ? rendered(channel, text) : []),
      ...(replyTo !== undefined && { replyTo }),
    })
    this.#typing.end()
    this.#go()
    return row
  }

  async #edit(id: string, text: string): Promise<Outcome> {
    const origin = this.#session.origin
    const connection = origin && (await this.#connected(origin))
    if (!connection || 'refused' in connection) return { of: 'gone', detail: 'the channel was removed' }
    const { channel, line } = connection
    return channel.send(line, { place: origin, chunk: firstOf(rendered(channel, text)), edits: id })
  }
}

/** However the text looks, it goes out. */
function rendered(channel: Channel, text: string): readonly Chunk[] {
  try {
    return channel.render(text, 'markdown')
  } catch (error) {
    console.error('A text could not be rendered; it goes out as it is.', error)
    return channel.render(text, 'plain')
  }
}

const longestPauseMs = 5_000
