/**
 * Delivers the answers of a session to its chat. Public events reach `handleEvents` in the write that makes them public,
 * so the end of a turn and the outbox rows of its answer are one write. RowSender sends them.
 */

import { hasScope } from '#agent/core/permission/authority.ts'
import type { ChatAuthor, ChatOrigin, PersonChoices, ReplyHandle, SendOutcome } from '#agent/core/delivery.ts'
import type { SessionEvent } from '#agent/core/event.ts'
import type { MessageSource } from '#agent/core/message.ts'
import { isSuspended, type Stage } from '#agent/core/turn.ts'
import { commandPrefixOf } from '#channels/command-prefix.ts'
import { isSilent } from '#agent/schedule/job/answer.ts'
import * as policy from '#agent/policy/delivery-attempt.ts'
import { findAttachmentPaths, withoutMediaTags } from '#agent/public-api/answer-attachments.ts'
import { maskPendingRequest, renderDraft, renderPendingRequest, renderPicks } from './pending-request-message.ts'
import { loadConnection, type LoadedConnection } from '#durable/tenant/channels/connection.ts'
import { Presence } from './presence.ts'
import { Outbox, type OutboxRow } from './outbox.ts'
import type { ProgressCard } from './progress-display.ts'
import { RowSender } from './row-sender.ts'
import { personRequests } from '#durable/turn/pending-requests.ts'
import { clock } from '#durable/platform/clock.ts'
import type { MediaReference } from '#agent/core/media/media-reference.ts'
import type { FetchedMedia } from '#channels/channel.ts'
import { findAttachmentProblem } from '#durable/turn/judge-attachment.ts'
import type { TurnSession } from '#durable/turn/turn-session.ts'

type NoticeOptions = {
  readonly format?: 'plain' | 'markdown'
  /** Of the message that the notice answers. */
  readonly replyHandle?: ReplyHandle | undefined
  /** Commands as buttons, for the person who asked. */
  readonly picks?: PersonChoices
}

const noText = { text: '', spans: [] } as const
/** The maximum wait until the platform allows another edit of a preview. */
const maxEditWaitMs = 5_000
/** User messages that only steer a turn. */
const steering: ReadonlySet<MessageSource> = new Set(['nudge', 'notice', 'summary'])

/** A question stands below the progress, in its message, where that is a card. */
const placeQuestion = (text: string, asks: NonNullable<OutboxRow['asks']>, card: ProgressCard | undefined) => ({
  source: { text: [card?.text, text].filter(Boolean).join('\n\n'), format: 'plain' as const },
  asks: card ? { ...asks, card: card.text } : asks,
  ...(card?.row !== undefined && { edits: card.row }),
})

/** The end of a run that only adds a delivered message to the conversation. Its events are published together. */
const needsNoAnswer = (event: SessionEvent) => event.type === 'run.completed' && event.exit_reason === 'delivered'

const isWorking = (stage: Stage, now: number): boolean =>
  !isSuspended(stage) && stage.at !== 'done' && (stage.at !== 'waiting' || stage.until <= now)

const filesOf = (session: TurnSession) => ({
  resolve: (path: string) => session.toolRuntime.backend.resolve(path),
  userFiles: session.toolRuntime.backend.userFiles,
  findProblem: (path: string) => findAttachmentProblem(session, path),
})

export class ChatOutbox {
  readonly outbox: Outbox
  readonly inboundEvents: InboundEvents
  readonly media: InboundMedia
  readonly #session: TurnSession
  readonly #env: Env
  readonly #presence: Presence
  readonly #sender: RowSender
  #isClosed = false

  constructor(session: TurnSession, env: Env) {
    this.#session = session
    this.#env = env
    this.outbox = new Outbox(session.sql, session.journal.hasTable('outbox'))
    this.inboundEvents = new InboundEvents(session.sql, session.journal.hasTable('heard'))
    const { tenantId, sessionId } = session
    const loadOwn = (origin: ChatOrigin) => this.#loadConnection(origin)
    this.media = new InboundMedia({ env, tenantId, sessionId, loadConnection: loadOwn })
    this.#presence = new Presence({
      outbox: this.outbox,
      chat: () => this.#chat,
      loadConnection: loadOwn,
      replyTo: () => this.#replyTo(),
      answeredMessage: () => this.#asker()?.message,
      replyHandle: () => this.#handle(),
      progress: () => session.meta.progress,
      runInBackground: (work) => session.runInBackground(work),
      startSending: () => this.#startSending(),
    })
    this.#sender = new RowSender({
      env,
      sessionId,
      outbox: this.outbox,
      chat: () => this.#chat,
      isPaused: () => session.access.isPaused,
      loadConnection: loadOwn,
      waitForEdit: () => this.#presence.waitForEdit(),
      moveChat: (chat) => session.meta.origin && session.updateMeta({ origin: { ...session.meta.origin, chat } }),
      speak: (text, run) => this.#speak(text, run),
      files: () => ({ tenantId, sessionId, ...filesOf(session) }),
      arm: () => session.arm(),
      reportDraft: ({ error }) =>
        this.sendNotice(`Your answer to ${this.#chat?.onBehalf?.name} was not sent, or perhaps: ${error}`),
    })
  }

  get #chat(): ChatOrigin | undefined {
    return this.#session.exists ? this.#session.meta.origin : undefined
  }

  get isSending(): boolean {
    return this.#sender.isSending
  }

  /** Returns when the alarm must call `start`. */
  getNextWake(now: number): number | undefined {
    return this.#sender.getNextWake(now)
  }

  /** Sends all rows that are due, then resolves. Never rejects. */
  start(): Promise<void> {
    return this.#sender.start()
  }

  /** Stops all sending, because the session is being deleted. */
  close(): void {
    this.#isClosed = true
    this.#sender.close()
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

  /** Shows the chat that the turn goes on, if a drive has something to do. */
  showWork(): void {
    const turn = this.#session.store.current()
    if (turn && !this.#isClosed && isWorking(turn.stage, clock.now())) this.#presence.start(turn)
  }

  /** Leaves no timer of a turn that waits or backs off: it would keep the object in memory. */
  pauseDisplays(): void {
    this.#presence.pause()
  }

  /** Sends a text of the system itself, such as an error notice. */
  sendNotice(text: string, run = '', { format = 'plain', replyHandle, picks }: NoticeOptions = {}): void {
    if (!this.#chat || !text.trim()) return
    const row = { run, kind: 'notice', deliveryState: policy.createDelivery(clock.now()) } as const
    this.outbox.add({
      ...row,
      ...(picks ? renderPicks(text, picks) : { chunk: noText, source: { text, format } }),
      ...(replyHandle && { replyHandle }),
    })
    this.#startSending()
  }

  /** Answers a message that gets no other answer, where the platform shows until then that the agent is thinking. */
  answerAwaited(replyHandle: ReplyHandle | undefined, text: string): void {
    if (replyHandle?.isAwaited && !this.outbox.countHandle(replyHandle)) this.sendNotice(text, '', { replyHandle })
  }

  /** Takes the answer of a run back, where it has just left. */
  async withdraw(run: string): Promise<void> {
    const origin = this.#chat
    if (!origin) return
    const { dropAnswer, removeSent } = await import('./withdraw-answer.ts')
    const ids = dropAnswer(this.outbox, run)
    const connection = ids.length ? await this.#loadConnection(origin) : undefined
    if (connection && !('refused' in connection)) await removeSent(connection, origin, ids)
  }

  /** Sends a file of the workspace. */
  sendFile(path: string, run: string, replyHandle?: ReplyHandle): void {
    if (!this.#chat) return
    const row = { run, kind: 'notice', deliveryState: policy.createDelivery(clock.now()), chunk: noText } as const
    this.outbox.add({ ...row, file: path, ...(replyHandle && { replyHandle }) })
    this.#startSending()
  }

  /** A platform may accept a message first, and report later that it did not arrive. */
  reportUndelivered(messageId: string, outcome: SendOutcome): void {
    this.#sender.reportUndelivered(messageId, outcome)
  }

  /** Describes in one line which parts of a run's answer were not delivered, and why. */
  getDeliveryError(run: string): string | undefined {
    if (!this.#chat) return undefined
    const parts = this.outbox.listByRun(run).filter(({ kind }) => kind === 'reply')
    return policy.describeFailures(parts.map(({ deliveryState }) => deliveryState))
  }

  #handleEvent(event: SessionEvent): void {
    switch (event.type) {
      case 'approval.request':
        return this.#addPendingRequest(event.approval_id, event.run_id)
      case 'question.request':
        return this.#addPendingRequest(event.question_id, event.run_id)
      case 'approval.responded':
        return this.#returnCard(event.approval_id, event.run_id, event.decision === 'allow' ? 'allowed' : 'denied')
      case 'question.answered':
        return this.#returnCard(event.question_id, event.run_id, 'answered')
      case 'run.completed':
        this.#addReply(event.run_id, event.output)
        return this.#addSpeech(event.run_id, event.output)
      case 'run.failed':
        return this.#addReply(event.run_id, event.output, false)
      case 'run.cancelled':
        return this.#finishCancelled(event.run_id, event.output)
      default:
        return this.#presence.handleEvent(event)
    }
  }

  /** A cancelled turn gets no answer, but a preview that is visible must show where it ended. */
  #finishCancelled(run: string, text: string): void {
    if (this.#previewOf(run)) return this.#addReply(run, text, false)
    this.#presence.end()
    this.answerAwaited(this.#asker()?.replyHandle, 'Stopped.')
  }

  // --- adding rows

  /** `isWhole`: false for the words of a failure, and for what was written before an end. */
  #addReply(run: string, text: string, isWhole = true): void {
    const editableAt = this.#presence.end()
    const now = clock.now()
    const replyTo = this.#replyTo()
    const preview = this.#previewOf(run)
    // A visible preview must be replaced by a text, even if the answer is empty.
    const isAwaited = preview !== undefined || this.#isAnsweringPerson()
    const shown = isAwaited || !isSilent(text) ? policy.renderAnswer(text, isAwaited) : ''
    const files = shown ? this.#filesOfAnswer() : []
    const visible = withoutMediaTags(shown, files)
    const replyHandle = this.#handle()
    const row = { run, kind: 'reply', chunk: noText, ...(replyHandle && { replyHandle }) } as const
    if (visible.trim())
      this.outbox.add({
        ...row,
        deliveryState: { ...policy.createDelivery(now), due: preview ? Math.min(editableAt, now + maxEditWaitMs) : 0 },
        ...this.#answerOf(visible, isWhole),
        ...(replyTo !== undefined && { replyTo }),
        ...(preview && { edits: preview.id }),
      })
    for (const file of files) this.outbox.add({ ...row, deliveryState: policy.createDelivery(now), file })
    this.answerAwaited(replyHandle, 'There is no answer.')
    this.#startSending()
  }

  #answerOf(text: string, isWhole: boolean): Pick<OutboxRow, 'source' | 'chunk' | 'asks'> {
    const onBehalf = this.#chat?.onBehalf
    if (onBehalf && isWhole) return renderDraft(text, onBehalf, this.#asker()?.person)
    return { chunk: noText, source: { text: text + this.#footer(), format: 'markdown' } }
  }

  /** Model, context and cost, where `/footer` has switched them on. */
  #footer(): string {
    const { meta, store } = this.#session
    const turn = store.current()
    if (!meta.hasFooter || !turn) return ''
    const model = this.#session.promptModel(meta.model ?? undefined)?.id ?? 'no model'
    const cost = turn.usage.costStatus === 'unknown' ? 'cost unknown' : `${turn.usage.costUsd.toFixed(4)} USD`
    return `\n\n_${model}, ${store.contextTokens()} tokens of context, ${cost}_`
  }

  /** The voice message follows the text: speech takes time, and may fail. */
  #addSpeech(run: string, text: string): void {
    const { voice } = this.#session.meta
    const isSpoken = voice === 'tts' || (voice === 'on' && this.#asker()?.isVoice === true)
    if (!isSpoken || !text.trim() || isSilent(text)) return
    const replyHandle = this.#handle()
    const row = { run, kind: 'reply', deliveryState: policy.createDelivery(clock.now()), chunk: noText } as const
    this.outbox.add({ ...row, speech: text, ...(replyHandle && { replyHandle }) })
    this.#startSending()
  }

  /** The settings may have switched speech off since `/voice`. */
  async #speak(text: string, run: string): Promise<string | undefined> {
    const session = this.#session
    await session.ensureTenant()
    const canSpeak = session.toolRuntime.toolbox(session.settings, {}).has('text_to_speech')
    return canSpeak ? session.toolRuntime.paidMedia.speak(text, run) : undefined
  }

  /** The paths of the files that the answer names, or that tools of its turn have made. */
  #filesOfAnswer(): readonly string[] {
    const transcript = this.#session.store.transcript()
    const from = transcript.findLastIndex(({ role, ...rest }) => role === 'user' && !('source' in rest && rest.source))
    return findAttachmentPaths(transcript.slice(Math.max(0, from)))
  }

  #addPendingRequest(id: string, run: string): void {
    const pending = personRequests(this.#session).find((one) => one.id === id)
    const card = this.#presence.takeCard(run)
    if (!pending) return
    const shown = this.#chat?.isGroup ? maskPendingRequest(pending) : pending
    const { text, buttons, choices } = renderPendingRequest(shown, {
      mayChangePolicy: this.#mayAskerChangePolicy(),
      prefix: commandPrefixOf(this.#chat?.platform ?? ''),
    })
    const [person, replyHandle] = [this.#asker()?.person, this.#handle()]
    const asks = { request: this.#requestOf(id), choices, ...(person !== undefined && { person }) }
    this.outbox.add({
      run,
      kind: 'ask',
      deliveryState: policy.createDelivery(clock.now()),
      chunk: { ...noText, buttons },
      ...placeQuestion(text, asks, card),
      ...(replyHandle && { replyHandle }),
    })
    this.#startSending()
  }

  /** Takes a question out of the message of the progress, however it was decided. */
  #returnCard(id: string, run: string, decision: string): void {
    const request = this.#requestOf(id)
    const asked = this.outbox.listByRun(run).find(({ asks }) => asks?.request === request)
    const card = asked?.asks?.card
    if (asked && card !== undefined) this.#presence.returnCard(run, asked.id, card, decision)
  }

  #requestOf = (id: string): string => id.slice(this.#session.sessionId.length + 1)

  /** The person who began the open or last turn. */
  #asker(): ChatAuthor | undefined {
    return this.#session.store.current()?.options.asker
  }

  /** That of the message which the turn answers, or the last one of the chat where it is used up. */
  #handle(): ReplyHandle | undefined {
    const own = this.#asker()?.replyHandle
    const { lastHandle = own } = this.#session.meta
    const isUsable = own && own.expiresAt > clock.now() && this.outbox.countHandle(own) < (own.maxUses ?? Infinity)
    return isUsable ? own : lastHandle
  }

  #mayAskerChangePolicy(): boolean {
    const authority = this.#session.store.current()?.options.authority
    return authority !== undefined && hasScope(authority, 'approve')
  }

  #previewOf(run: string): OutboxRow | undefined {
    return this.outbox
      .listByRun(run)
      .find(({ kind, deliveryState }) => kind === 'preview' && deliveryState.state !== 'dead')
  }

  /** Whether a person, not the system, wrote the message that the turn answers. */
  #isAnsweringPerson(): boolean {
    const last = this.#session.store
      .transcript()
      .findLast((message) => message.role === 'user' && !(message.source && steering.has(message.source)))
    return last?.role === 'user' && last.source === undefined && !this.#chat?.onBehalf
  }

  /** In a group, an answer quotes the message that it answers. */
  #replyTo(): string | undefined {
    return this.#chat?.isGroup ? this.#asker()?.message : undefined
  }

  #startSending(): void {
    this.#session.runInBackground(this.start())
    this.#session.arm()
  }

  async #loadConnection({ connection: id }: ChatOrigin): Promise<LoadedConnection | { readonly refused: string }> {
    const connection = await loadConnection(this.#env, id, clock.now())
    if (!connection || ('tenantId' in connection && connection.tenantId !== this.#session.tenantId))
      return { refused: 'the channel was removed' }
    return connection
  }
}

/** Limit of one file. It is held in memory. */
const maxFileBytes = 20_000_000
/** Pauses before the attempts after the first one. */
const retryPausesMs = [1_000, 4_000]

type InboundMediaOptions = {
  readonly env: Env
  readonly tenantId: string
  readonly sessionId: string
  readonly loadConnection: (origin: ChatOrigin) => Promise<LoadedConnection | { readonly refused: string }>
}

/** Reads the files of inbound messages from their platform, and stores their images. */
export class InboundMedia {
  readonly #options: InboundMediaOptions

  constructor(options: InboundMediaOptions) {
    this.#options = options
  }

  async fetch(origin: ChatOrigin, reference: MediaReference): Promise<FetchedMedia> {
    if (reference.isCarried) return this.#readCarried(reference)
    const connection = await this.#options.loadConnection(origin)
    if ('refused' in connection) return { kind: 'failed', detail: connection.refused, canRetry: false }
    const { fetchMedia } = connection.channel
    if (!fetchMedia) return { kind: 'failed', detail: 'files of this platform cannot be read', canRetry: false }
    let fetched = await fetchMedia(connection, reference, maxFileBytes)
    for (const pauseMs of retryPausesMs) {
      if (fetched.kind === 'fetched' || !fetched.canRetry) return fetched
      await clock.wait(pauseMs)
      fetched = await fetchMedia(connection, reference, maxFileBytes)
    }
    return fetched
  }

  get blobs(): R2Bucket | undefined {
    return this.#options.env.BLOBS
  }

  async #readCarried(reference: MediaReference): Promise<FetchedMedia> {
    const { readCarriedFile } = await import('./carried-files.ts')
    return readCarriedFile(this.#options.env.BLOBS, this.#options, reference)
  }

  /** Deletes what we store of the files of a message that took effect. Never rejects. */
  async discard(media: readonly MediaReference[] = []): Promise<void> {
    if (!media.some(({ isCarried }) => isCarried)) return
    const { deleteCarriedFiles } = await import('./carried-files.ts')
    await deleteCarriedFiles(this.#options.env.BLOBS, this.#options, media)
  }
}

/** `said` is the message as JSON while it is held. */
const schema = 'CREATE TABLE IF NOT EXISTS heard (key TEXT PRIMARY KEY, at INTEGER NOT NULL, said TEXT) WITHOUT ROWID'
/** Platforms repeat deliveries for up to a few days. */
const retentionMs = 5 * 86_400_000

/** A message that is held, and when it is let go. */
type HeldMessage = { readonly key: string; readonly until: number; readonly body: string }

type HeardRow = { readonly key: string; readonly said: string }

/**
 * Stores the keys of inbound events, so that each event counts once however often the platform delivers it, and the
 * messages that are held for a moment, because the person may be writing another one.
 */
class InboundEvents {
  readonly #sql: SqlStorage
  #hasTable: boolean
  #isPruned = false
  /** Cache of the table; undefined: not read yet. */
  #held: readonly HeldMessage[] | undefined

  /** `exists`: the table was there when the object started. */
  constructor(sql: SqlStorage, exists: boolean) {
    this.#sql = sql
    this.#hasTable = exists
  }

  has(key: string): boolean {
    return this.#hasTable && this.#sql.exec('SELECT 1 FROM heard WHERE key = ?', key).toArray().length > 0
  }

  /** Called in the write that stores the effect of the event. */
  record(key: string, at: number): void {
    this.#insert(key, at, null)
  }

  /** Stores a message that takes effect later. */
  hold(message: HeldMessage, at: number): void {
    this.#insert(message.key, at, JSON.stringify({ until: message.until, body: message.body }))
    this.#held = undefined
  }

  replaceHeld({ key, until, body }: HeldMessage): void {
    this.#sql.exec('UPDATE heard SET said = ? WHERE key = ?', JSON.stringify({ until, body }), key)
    this.#held = undefined
  }

  /** The held messages in the order of their arrival. */
  held(): readonly HeldMessage[] {
    if (!this.#hasTable) return []
    const query = "SELECT key, said FROM heard WHERE said LIKE '{%' ORDER BY at, key"
    return (this.#held ??= this.#sql
      .exec<HeardRow>(query)
      .toArray()
      .map(({ key, said }) => ({ ...(JSON.parse(said) as Omit<HeldMessage, 'key'>), key })))
  }

  /** When the held messages are let go: with the last one of a burst. */
  getNextWake(): number | undefined {
    const held = this.held()
    return held.length ? Math.max(...held.map(({ until }) => until)) : undefined
  }

  /** Called in the write that stores the effect of the messages. */
  release(keys: readonly string[]): void {
    for (const key of keys) this.#sql.exec('UPDATE heard SET said = NULL WHERE key = ?', key)
    this.#held = undefined
  }

  #insert(key: string, at: number, said: string | null): void {
    if (!this.#hasTable) this.#sql.exec(schema)
    this.#hasTable = true
    if (!this.#isPruned) this.#sql.exec('DELETE FROM heard WHERE at < ? AND said IS NULL', at - retentionMs)
    this.#isPruned = true
    this.#sql.exec('INSERT INTO heard VALUES (?, ?, ?)', key, at, said)
  }
}
