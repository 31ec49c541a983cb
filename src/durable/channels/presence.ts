/**
 * Shows that a turn is working: a typing indicator, its calls, a note that it still runs, and a preview that grows with
 * the answer. While the turn waits, no timer is left: it would keep the object in memory. Errors end the display and affect
 * nothing else.
 */

import { log } from '#agent/core/log.ts'
import type { ChatOrigin, ReplyHandle, SendOutcome } from '#agent/core/delivery.ts'
import type { ProgressMode } from '#channels/settings.ts'
import type { CallEvent } from '#channels/text/progress-lines.ts'
import type { SessionEvent } from '#agent/core/event.ts'
import { createDelivery } from '#agent/policy/delivery-attempt.ts'
import type { LoadedConnection } from '#durable/tenant/channels/connection.ts'
import { firstChunk, Preview, renderSafely } from './preview.ts'
import type { Outbox, OutboxRow } from './outbox.ts'
import type { ProgressCard, ProgressDisplay, ProgressOptions } from './progress-display.ts'
import { clock } from '#durable/platform/clock.ts'

export type PresenceOptions = {
  readonly outbox: Outbox
  readonly chat: () => ChatOrigin | undefined
  readonly loadConnection: (origin: ChatOrigin) => Promise<LoadedConnection | { readonly refused: string }>
  /** The message that the answer quotes, if answers quote in this chat. */
  readonly replyTo: () => string | undefined
  /** The message that the turn answers. */
  readonly answeredMessage: () => string | undefined
  /** That of the message that the turn answers. */
  readonly replyHandle: () => ReplyHandle | undefined
  /** The choice of the session. Undefined: the settings of the channel decide. */
  readonly progress: () => ProgressMode | undefined
  readonly runInBackground: (work: Promise<unknown>) => void
  /** Called after a row was added to the outbox. */
  readonly startSending: () => void
}

type ProgressUse = (progress: ProgressDisplay) => unknown

export class Presence {
  readonly #options: PresenceOptions
  readonly #typing = new TypingIndicator()
  readonly #preview: Preview
  /** Loaded for the first run that shows its progress. */
  #progress: ProgressDisplay | undefined
  #untilLoaded: ProgressUse[] = []
  /** The run shows no progress. */
  #silentRun: string | undefined
  readonly #note: WorkingNote

  constructor(options: PresenceOptions) {
    this.#options = options
    this.#preview = new Preview({
      editIntervalMs: () => this.#editIntervalMs(),
      ensureRow: (run, text) => this.#ensureRow(run, text),
      getRow: (id) => options.outbox.get(id),
      edit: (id, text) => this.#edit(id, text, 'markdown'),
    })
    this.#note = new WorkingNote({
      getInterval: () => this.#noteInterval(),
      show: (run, text, canEdit) => this.#showNote(run, text, canEdit),
    })
  }

  /** Shows that the turn goes on. Other events change nothing. */
  handleEvent(event: SessionEvent): void {
    switch (event.type) {
      case 'run.started':
        return this.start({ id: event.run_id, startedAt: Date.parse(event.at) })
      case 'message.delta':
        return this.#runInBackground(this.#preview.append(event.run_id, event.delta))
      case 'turn.restarted':
        return this.#preview.discardText(event.run_id)
      case 'tool.started':
        this.#preview.endStep(event.run_id)
        return this.#addCall(event.run_id, event)
      case 'tool.progress':
      case 'tool.completed':
        return this.#addCall(event.run_id, event)
    }
  }

  /** Shows that the turn begins or goes on. Does nothing for what is shown already. */
  start({ id, startedAt }: { readonly id: string; readonly startedAt: number }): void {
    const chat = this.#options.chat()
    if (!chat) return
    this.#runInBackground(this.#note.start(id, startedAt))
    this.#useProgress(id, (progress) => this.#runInBackground(progress.prepare(id)))
    this.#runInBackground(this.#typing.start(() => this.#showTypingOnce(chat)))
  }

  /** Stops all timers, because the turn waits. Its messages stay, and are edited again when it goes on. */
  pause(): void {
    this.#typing.stop()
    this.#note.stop()
    this.#preview.pause()
    this.#progress?.pause()
  }

  /** Returns the time until typing must be shown again. */
  async #showTypingOnce(chat: ChatOrigin): Promise<number | undefined> {
    const connection = await this.#options.loadConnection(chat)
    if ('refused' in connection) return undefined
    const { capabilities, showTyping } = connection.channel
    if (!capabilities.typing || !showTyping) return undefined
    const outcome = await showTyping(connection, chat, this.#options.answeredMessage())
    // A little before the platform hides it.
    return outcome.kind === 'sent' ? capabilities.typing.durationMs * 0.8 : undefined
  }

  /** Shows a call of the turn, if the chat shows them. */
  #addCall(run: string, event: CallEvent): void {
    this.#useProgress(run, (progress) => this.#runInBackground(progress.add(run, event)))
  }

  /** Uses the display now, or once it is loaded. Nothing is loaded for a chat that shows no progress. */
  #useProgress(run: string, use: ProgressUse): void {
    if (this.#progress) return void use(this.#progress)
    if (this.#silentRun === run) return
    if (this.#untilLoaded.push(use) === 1) this.#runInBackground(this.#loadProgress(run))
  }

  async #loadProgress(run: string): Promise<void> {
    let waiting: readonly ProgressUse[] = []
    const progress = await this.#createProgress().finally(() => (waiting = this.#untilLoaded.splice(0)))
    if (!progress) return void (this.#silentRun = run)
    this.#progress = progress
    for (const use of waiting) use(progress)
  }

  async #createProgress(): Promise<ProgressDisplay | undefined> {
    const found = await this.#progressMode()
    if (!found || found.mode === 'off') return undefined
    const { ProgressDisplay } = await import('./progress-display.ts')
    return (this.#progress ??= new ProgressDisplay(this.#progressOptions()))
  }

  #progressOptions(): ProgressOptions {
    return {
      getMode: () => this.#progressMode(),
      ensureRow: (run, text) => this.#ensureTextRow(`${run}:progress`, text),
      getRow: (id) => this.#options.outbox.get(id),
      edit: (id, text) => this.#edit(id, text, 'plain'),
    }
  }

  /** Ends the display. Returns when the platform allows the next edit of the preview. */
  end(): number {
    this.#typing.stop()
    this.#note.stop()
    return this.endMessages()
  }

  /** Ends the preview and the progress: what follows stands below the next message. Returns the same as `end`. */
  endMessages(): number {
    this.#untilLoaded = []
    this.#progress?.end()
    return this.#preview.end()
  }

  /** Ends the preview, and hands the message of the progress over to a question. Undefined: the question is a message. */
  takeCard(run: string): ProgressCard | undefined {
    this.#preview.end()
    this.#untilLoaded = []
    return this.#progress?.hold(run)
  }

  /** Shows a decision in place of the question of a row. The progress goes on in the same message. */
  returnCard(run: string, id: number, card: string, decision: string): void {
    const addRow = (text: string) =>
      this.#options.outbox.add({ ...textRow(`${run}:progress`, text), kind: 'notice', edits: id })
    this.#useProgress(run, (progress) => {
      progress.resume(run, { card, note: `→ ${decision}`, addRow })
      this.#options.startSending()
    })
  }

  /** Resolves when the last edits of the preview and of the progress have their outcome. */
  waitForEdit = (): Promise<unknown> => Promise.all([this.#preview.waitForEdit(), this.#progress?.lastEdit])

  #runInBackground(work: Promise<unknown> | undefined): void {
    if (work)
      this.#options.runInBackground(
        work.catch((error: unknown) =>
          log.warn('channel.presence_failed', 'Typing or preview is not shown.', { error }),
        ),
      )
  }

  /** Returns undefined when the connection does not stream answers, or the platform cannot edit. */
  async #editIntervalMs(): Promise<number | undefined> {
    const chat = this.#options.chat()
    const connection = chat && (await this.#options.loadConnection(chat))
    if (!connection || 'refused' in connection || !connection.settings.streaming) return undefined
    return connection.channel.capabilities.edit?.intervalMs(chat.isGroup)
  }

  /** Undefined when the platform cannot edit. Edits of an answer and of the progress share the rate of the platform. */
  async #progressMode() {
    const chat = this.#options.chat()
    const connection = chat && (await this.#options.loadConnection(chat))
    if (!connection || 'refused' in connection) return undefined
    const { progress, streaming } = connection.settings
    const intervalMs = connection.channel.capabilities.edit?.intervalMs(chat.isGroup)
    const mode = this.#options.progress() ?? progress
    const { hasCards } = connection.channel.capabilities
    return intervalMs === undefined
      ? undefined
      : { mode, intervalMs: streaming ? intervalMs * 2 : intervalMs, hasCards }
  }

  async #noteInterval() {
    const chat = this.#options.chat()
    const connection = chat && (await this.#options.loadConnection(chat))
    if (!connection || 'refused' in connection || !connection.settings.working_note_minutes) return undefined
    // The answer needs the handle.
    if (this.#options.replyHandle()?.maxUses !== undefined) return undefined
    const ms = connection.settings.working_note_minutes * 60_000
    return { ms, canEdit: connection.channel.capabilities.edit !== undefined }
  }

  async #showNote(run: string, text: string, canEdit: boolean): Promise<boolean> {
    const row = canEdit ? this.#options.outbox.listByRun(`${run}:working`).at(-1) : undefined
    const { platformId } = row?.deliveryState ?? {}
    if (!row) this.#ensureTextRow(`${run}:working`, text, canEdit ? undefined : this.#options.replyHandle())
    if (platformId === undefined) return row?.deliveryState.state !== 'dead'
    return (await this.#edit(platformId, text, 'plain')).kind === 'sent'
  }

  /** Adds a message that is edited later, and is never repeated. */
  #ensureTextRow(run: string, text: string, replyHandle?: ReplyHandle): OutboxRow {
    const row = this.#options.outbox.add({
      ...textRow(run, text),
      kind: 'preview',
      ...(replyHandle && { replyHandle }),
    })
    this.#options.startSending()
    return row
  }

  /** The preview is the answer where the platform shows until then that the agent is thinking. */
  #awaitedHandle(): ReplyHandle | undefined {
    const replyHandle = this.#options.replyHandle()
    return replyHandle?.isAwaited ? replyHandle : undefined
  }

  #ensureRow(run: string, text: string): OutboxRow {
    const { outbox } = this.#options
    const existing = outbox.listByRun(run).find(({ kind }) => kind === 'preview')
    if (existing) return existing
    const replyTo = this.#options.replyTo()
    const replyHandle = this.#awaitedHandle()
    const row = outbox.add({
      run,
      kind: 'preview',
      deliveryState: createDelivery(clock.now()),
      chunk: noText,
      source: { text, format: 'markdown', isFirstOnly: true },
      ...(replyTo !== undefined && { replyTo }),
      ...(replyHandle && { replyHandle }),
    })
    this.#typing.stop()
    this.#options.startSending()
    return row
  }

  async #edit(id: string, text: string, format: 'markdown' | 'plain'): Promise<SendOutcome> {
    const chat = this.#options.chat()
    const connection = chat && (await this.#options.loadConnection(chat))
    if (!connection || 'refused' in connection) return removed
    const { channel } = connection
    const chunk = firstChunk(format === 'plain' ? channel.render(text, format) : renderSafely(channel, text))
    const key = `${id}:${clock.now()}` // each edit is a message of its own, and none is repeated
    const replyHandle = this.#awaitedHandle()
    const isValid = replyHandle && replyHandle.expiresAt > clock.now()
    const message = { address: chat, chunk, editedMessageId: id, ...(isValid && { replyHandle }) }
    return channel.send(connection, message, key)
  }
}

const noText = { text: '', spans: [] } as const
const textRow = (run: string, text: string) => ({
  run,
  deliveryState: createDelivery(clock.now()),
  chunk: noText,
  source: { text, format: 'plain', isFirstOnly: true } as const,
})
const removed = { kind: 'gone', detail: 'the channel was removed' } as const

const maxDurationMs = 10 * 60_000

/** Keeps the typing indicator of a chat visible while a turn runs. */
class TypingIndicator {
  /** One per start, so that the loop of an earlier start cannot continue. */
  #current: AbortController | undefined

  /** `show` returns the pause until it must be shown again; undefined ends the indicator. */
  async start(show: () => Promise<number | undefined>): Promise<void> {
    if (this.#current) return
    const controller = (this.#current = new AbortController())
    const until = clock.now() + maxDurationMs
    while (!controller.signal.aborted && clock.now() < until) {
      // Any error ends the indicator, and affects nothing else.
      const pauseMs = await show().catch(() => undefined)
      if (pauseMs === undefined) break
      // The abort ends the timer too: a pending one would keep the object in memory.
      await clock.wait(pauseMs, { signal: controller.signal }).catch(() => undefined)
    }
    if (this.#current === controller) this.#current = undefined
  }

  stop(): void {
    this.#current?.abort()
    this.#current = undefined
  }
}

type WorkingNoteOptions = {
  /** Undefined: this chat gets no notes. */
  readonly getInterval: () => Promise<{ readonly ms: number; readonly canEdit: boolean } | undefined>
  /** Shows the text, in the run's message if `canEdit`. Returns false when nothing more can be shown. */
  readonly show: (run: string, text: string, canEdit: boolean) => Promise<boolean>
}

const minuteMs = 60_000

/**
 * Informs a chat that a long turn still runs, and for how long: one message, edited at each interval. Where the platform
 * cannot edit, a message comes after 1, 2, 4, 8 … intervals.
 */
class WorkingNote {
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
