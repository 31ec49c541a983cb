/**
 * Holds the live state of a session: the turn, the transcript in use and the inbox. Memory is a cache of the journal.
 * `save` changes it and collects the dirty rows; `write` stores them and then publishes the events. The output gate
 * delays what is sent until the write is durable.
 */

import { announce } from '#agent/loop/announce.ts'
import type { ApprovalDecision } from '#agent/core/permission/approval.ts'
import type { Event, SessionEvent } from '#agent/core/event.ts'
import { addFacets, type Facets, noFacets } from '#agent/core/facets.ts'
import type { Entry } from '#agent/core/history.ts'
import { type AssistantMessage, type Message, textIn, thinkingIn } from '#agent/core/message.ts'
import type { InboxMessage, Store } from '#agent/core/ports.ts'
import { type Commit, endTurn, isOver, newDecisions, newTurn, type Outcome, type Turn } from '#agent/core/turn.ts'
import { keepsNothing, type Summary } from '#agent/core/compression.ts'
import { createSummaryMessage, parseSummary } from '#agent/prompt/compression/summary-message.ts'
import { estimateMessageTokens } from '#agent/prompt/estimate-tokens.ts'
import { type Conversation, firstCurrent, isCurrent } from './conversation-span.ts'
import type { LastNumbers } from './session-metadata.ts'
import { hasUnwrittenEvents, lastNumbers, maxEventsPerCall, shownThrough } from './last-numbers.ts'
import {
  createDelta,
  type StoredDelta,
  type EventPosition,
  isDelta,
  replay,
  stepOf,
  toPlacedEvent,
  withStepIds,
} from './event-log.ts'
import { entryText, importRunId, type InboxItem, type InboxRow, type Journal, type StepRow } from './journal.ts'
import type { TurnOptions } from '#agent/core/turn-options.ts'
import type { Usage } from '#agent/core/usage.ts'
import { arrangeEntries, assembleContext } from '#agent/prompt/compression/assemble.ts'

export type StoreOptions = {
  readonly sessionId: string
  readonly now: () => number
  /** The last numbers that a lost object of the session has used. They are not in the rows. */
  readonly lastNumbers?: LastNumbers | undefined
  /** Returns which messages belong to the current conversation. Absent: all. */
  readonly conversation?: () => Conversation
  /** Masks secrets in the line about the session. */
  readonly redact?: (text: string) => string
  /** Called after each write with its events, in order. */
  readonly publish: (events: readonly SessionEvent[]) => void
  /** Called in the same synchronous stretch as each write. */
  readonly beforeWriteEnds: () => void
  /** Called after each write with the approval decisions that it stored. */
  readonly publishDecisions: (runId: string, decisions: readonly ApprovalDecision[]) => void
}

export class SessionStore implements Store {
  readonly #journal: Journal
  readonly #options: StoreOptions
  #turn: Turn | undefined
  #row: StepRow | undefined
  /** Events in an undone row are published, but they are no part of the conversation. */
  #startsRow = false
  #context: LoadedContext | undefined
  #facets: Facets | undefined
  #inbox: InboxRow[]
  #lastSeq = 0
  #lastEvent = 0
  /** The first row of the open turn. */
  #firstRow = 0
  /** The streamed answer: the event before its first delta, and the text and reasoning so far. */
  #answer = { fromSeq: 0, text: '', thinking: '' }
  #dirty = new Map<number, StepRow>()
  #drained: number[] = []
  #outgoing: SessionEvent[] = []
  #decided: ApprovalDecision[] = []
  readonly #progress = new RecentProgress()

  constructor(journal: Journal, options: StoreOptions) {
    this.#journal = journal
    this.#options = options
    const newest = journal.newest()
    this.#turn = newest?.turn
    this.#row = newest?.row
    this.#startsRow = newest?.isUndone ?? false
    this.#inbox = journal.inbox()
    const { message, event: written } = lastNumbers(newest?.row, options.lastNumbers)
    this.#lastSeq = message
    this.#lastEvent = this.#turn && hasUnwrittenEvents(this.#turn) ? written + maxEventsPerCall : written
    this.#answer = { fromSeq: written, text: this.#turn ? getSentDraft(this.#turn) : '', thinking: '' }
  }

  // --- reading

  get sessionId(): string {
    return this.#options.sessionId
  }

  get hasOpenTurn(): boolean {
    return !isOver(this.#turn)
  }

  current = (): Turn | undefined => this.#turn

  turn(): Turn {
    if (!this.#turn) throw new Error('This session has had no turn yet.')
    return this.#turn
  }

  /** The turn of the newest run that is not undone, with the seq of its newest row. */
  lastTurn(): ReturnType<Journal['lastTurn']> {
    const [row, turn] = [this.#row, this.#turn]
    return row && turn && row.runId === turn.id && !this.#startsRow ? { n: row.n, turn } : this.#journal.lastTurn()
  }

  lastEventSeq = (): number => this.#lastEvent
  shownThrough = (): number => (this.hasOpenTurn ? shownThrough(this.#row, this.#lastEvent) : this.#lastEvent)
  lastMessageSeq = (): number => this.#lastSeq

  /** The messages that models get: the newest summary, if any, and everything after the messages it replaces. */
  transcript(): readonly Message[] {
    return this.#loaded().messages
  }

  /** The entries of `transcript()`. Their messages are those that were stored. */
  contextEntries(): readonly Entry[] {
    return this.#loaded().entries
  }

  contextTokens = (): number => this.#loaded().tokens

  hasImages(): boolean {
    return this.#loaded().images > 0
  }

  /** The facets of the whole session. Undone messages do not count. */
  facets(): Facets {
    return (this.#facets ??= loadFacets(this.#journal, this.#addFacets))
  }

  lastRole(): Message['role'] | undefined {
    return this.#loaded().messages.at(-1)?.role
  }

  /** Messages that arrived while the turn was open and are not part of the transcript yet. */
  inbox(): InboxMessage[] {
    return this.#inbox.flatMap(({ id, item }) =>
      item.kind === 'said' ? [{ id, mode: item.mode, message: item.message, requestId: item.runId }] : [],
    )
  }

  queued(): { readonly id: number; readonly item: Extract<InboxItem, { kind: 'queued' }> }[] {
    return this.#inbox.flatMap(({ id, item }) => (item.kind === 'queued' ? [{ id, item }] : []))
  }

  inboxRows = (): readonly InboxRow[] => this.#inbox

  // --- changing

  /** Opens a turn with these messages. No turn may be open. */
  openTurn(runId: string, messages: readonly Message[], opening: Opening): void {
    this.#apply(undefined, {
      turn: { ...openingTurn(runId, this.#options.now(), opening, this.#turn), facetsBefore: this.facets() },
      append: messages,
      drain: opening.drain ?? [],
    })
    this.#firstRow = this.#openRow().n
  }

  save(commit: Commit): void {
    this.#apply(this.turn(), commit)
  }

  /** Adds an event that no change of the turn brings. The next write stores and publishes it. */
  addEvent(event: Event): void {
    this.#logEvent(this.#openRow(), event)
    this.#markDirty(this.#openRow())
  }

  /** Adds messages that are older than the session's first turn: a history that a client sent. */
  importMessages(runId: string, messages: readonly Message[]): void {
    for (const message of messages) this.#append(runId, message)
  }

  /** Each message becomes a row of its own, so that it can be undone alone. */
  importRows(runId: string, messages: readonly Message[]): void {
    for (const message of messages) {
      this.#startsRow = true
      this.#append(runId, message)
    }
  }

  addToInbox(item: InboxItem): number {
    const id = (this.#inbox.at(-1)?.id ?? 0) + 1
    this.#inbox = [...this.#inbox, this.#journal.putInbox(id, item)]
    return id
  }

  removeFromInbox(ids: readonly number[]): void {
    if (!ids.length) return
    this.#drained.push(...ids)
    this.#inbox = this.#inbox.filter(({ id }) => !ids.includes(id))
  }

  /** Appends a delta to the streamed answer. It is published at once and stored with the answer. */
  appendDelta(kind: 'm' | 'r', text: string): void {
    if (kind === 'm') this.#answer.text += text
    else this.#answer.thinking += text
    this.#options.publish([this.#logDelta(this.#openRow(), { kind, text, step: this.#lastSeq + 1 })])
  }

  /** Takes back the streamed answer so far. */
  restartAnswer(reason: string): void {
    const { fromSeq } = this.#answer
    const row = this.#openRow()
    this.#discardAnswer()
    const position = this.#nextPosition(row)
    const event: Event = { type: 'turn.restarted', from_seq: fromSeq, reason }
    row.events.push([position.seq, position.at, event])
    this.#answer.fromSeq = position.seq
    this.#options.publish([toPlacedEvent(event, position)])
  }

  /** Publishes what a running call prints. It is not stored. */
  publishProgress(event: Extract<Event, { type: 'tool.progress' }>): void {
    const placed = toPlacedEvent(event, this.#nextPosition(this.#openRow()))
    this.#progress.add(placed)
    this.#options.publish([placed])
  }

  /** Publishes what the model writes of a call. It is not stored. */
  publishGenerating(event: Extract<Event, { type: 'tool.generating' }>): void {
    this.#options.publish([toPlacedEvent(event, this.#nextPosition(this.#openRow()))])
  }

  write(): void {
    for (const row of this.#dirty.values()) this.#journal.putStep(row, row === this.#row ? this.#turn : undefined)
    this.#dirty.clear()
    if (this.#drained.length) this.#journal.deleteInbox(this.#drained.splice(0))
    this.#options.beforeWriteEnds()
    const events = this.#outgoing.splice(0)
    if (events.length) this.#options.publish(events)
    const decisions = this.#decided.splice(0)
    if (decisions.length) this.#options.publishDecisions(this.turn().id, decisions)
  }

  /** Events after `seq`, of stored rows and of the open row. Nothing may be written while the caller reads them. */
  *eventsSince(seq: number): Generator<SessionEvent> {
    const open = this.#row
    for (const row of this.#journal.rowsSince(seq)) if (row.n !== open?.n) yield* this.#eventsOf(row, seq)
    if (open) yield* this.#eventsOf(open, seq)
  }

  #eventsOf(row: StepRow, after: number): SessionEvent[] {
    return this.#replay(row).filter(({ seq }) => seq > after)
  }

  #replay(row: StepRow): SessionEvent[] {
    const events = replay(row, this.#options.sessionId, { ...this.#answer, step: this.#lastSeq + 1 })
    return row === this.#row ? this.#progress.addTo(events) : events
  }

  /** All events of a run, or those since its message `from`. Of the open run, the newest row is in memory. */
  eventsOfRun(runId: string, from?: number): SessionEvent[] {
    const current = this.#row
    if (current?.runId === runId && this.#turn?.id === runId && current.n === this.#firstRow)
      return this.#replay(current)
    const rows = this.#journal.rowsOfRun(runId, from).filter(({ n }) => n !== current?.n)
    if (current?.runId === runId) rows.push(current)
    return rows.flatMap((row) => this.#replay(row))
  }

  /** Reads the context again with its next use: another conversation has begun. */
  dropContext = (): void => void (this.#context = undefined)

  /** Removes the turns from message `from` on from the conversation. */
  undo(from: number): void {
    this.#journal.undo(from)
    this.#startsRow = true
    this.#context = undefined
    this.#facets = undefined
  }

  /** Replaces the text of the answer with which the conversation ends, and returns its row. No turn may be open. */
  cutAnswer(cut: (text: string) => string): StepRow | undefined {
    const last = this.contextEntries().at(-1)
    if (last?.message.role !== 'assistant') return undefined
    const isNewest = this.#row?.entries.some(({ seq }) => seq === last.seq) === true
    const row = isNewest ? this.#row : this.#journal.rowsOfRun(last.runId, last.seq)[0]
    const at = row?.entries.findIndex(({ seq }) => seq === last.seq) ?? -1
    if (!row || at < 0) return undefined
    const others = last.message.content.filter(({ type }) => type !== 'text')
    const message = {
      ...last.message,
      content: [...others, { type: 'text', text: cut(textIn(last.message)) }],
    } as const
    row.entries[at] = { ...last, message, tokens: estimateMessageTokens(message) }
    row.texts[at] = undefined
    this.#journal.putStep(row, row === this.#row ? this.#turn : this.#journal.row(row.n).turn)
    this.#context = undefined
    return row
  }

  /** Takes rows out of the conversation, and brings undone ones back in their place. */
  exchange(gone: readonly number[], back: readonly number[]): void {
    this.#journal.exchange(gone, back)
    this.#startsRow = true
    this.#context = undefined
    this.#facets = undefined
  }

  // --- internal

  #apply(before: Turn | undefined, commit: Commit) {
    const drain = commit.drain ?? []
    const drained = this.inbox().filter(({ id }) => drain.includes(id))
    const step = stepOf(commit.append, this.#lastSeq)
    const announced = announce(before, commit, {
      now: this.#options.now(),
      drained,
      fromSeq: this.#answer.fromSeq,
    })
    const events = announced.map((event) => withStepIds(event, step))
    this.#decided.push(...newDecisions(before, commit.turn))
    this.#turn = commit.turn
    const isGivenUp = before !== undefined && before.restarts.count !== commit.turn.restarts.count
    if (isGivenUp) this.#discardAnswer()
    if (commit.summary !== undefined) this.#appendSummary(commit.summary)
    for (const message of commit.append ?? []) this.#append(commit.turn.id, message)
    this.removeFromInbox(drain)
    const row = this.#openRow()
    for (const event of events) this.#logEvent(row, event)
    this.#progress.dropEnded(events, commit.turn)
    // A continued answer keeps its text; any other one starts empty.
    if (commit.turn.stage.at === 'calling-model' && before?.stage !== commit.turn.stage) this.#openAnswer(commit.turn)
    this.#markDirty(row)
  }

  #openAnswer(turn: Turn) {
    const thinking = turn.draft === undefined ? '' : this.#answer.thinking
    this.#answer = { fromSeq: this.#lastEvent, text: getSentDraft(turn), thinking }
  }

  #append(runId: string, message: Message, summary?: Pick<Summary, 'covers' | 'keeps' | 'effects'>): Entry {
    const context = this.#loaded()
    const facets = this.facets()
    const seq = ++this.#lastSeq
    const entry: Entry = {
      id: `msg_${seq}`,
      seq,
      runId,
      at: this.#options.now(),
      tokens: estimateMessageTokens(message),
      message,
      ...summary,
    }
    const row = this.#rowFor(entry)
    row.entries.push(entry)
    row.texts[row.entries.length - 1] = JSON.stringify(entry)
    this.#facets = this.#addFacets(facets, entry)
    this.#markDirty(row)
    if (!summary) addToContext(context, entry)
    if (message.role === 'assistant') this.#closeAnswer(row, seq, message)
    return entry
  }

  /** A row ends with the model's reply, or when it is undone: the next entry starts another one. */
  #rowFor(entry: Entry): StepRow {
    const row = this.#startsRow ? undefined : this.#row
    if (row && isRowOf(row, entry)) return row
    this.#startsRow = false
    return (this.#row = { n: entry.seq, runId: entry.runId, entries: [], texts: [], events: [] })
  }

  #openRow(): StepRow {
    if (!this.#row) throw new Error('No turn has begun.')
    return this.#row
  }

  #markDirty(row: StepRow) {
    this.#dirty.set(row.n, row)
  }

  /** Assigns the deltas of the answer to its message. The part that was not streamed becomes one delta. */
  #closeAnswer(row: StepRow, seq: number, message: AssistantMessage) {
    const whole = { m: textIn(message), r: thinkingIn(message) }
    for (const kind of ['r', 'm'] as const) {
      const streamed = kind === 'm' ? this.#answer.text : this.#answer.thinking
      const isContinuation = whole[kind].startsWith(streamed)
      if (!isContinuation) this.#storeDeltaTexts(row, { kind, text: streamed, step: seq })
      const rest = isContinuation ? whole[kind].slice(streamed.length) : ''
      // The message differs from the streamed text: it is sent as a whole.
      if (!isContinuation && kind === 'm') this.#logEvent(row, createDelta('m', `\n\n${whole.m}`, seq))
      if (rest) this.#outgoing.push(this.#logDelta(row, { kind, text: rest, step: seq }))
    }
    for (const logged of row.events) if (isDelta(logged) && logged[4] === 0) logged[4] = seq
    this.#answer = { fromSeq: this.#lastEvent, text: '', thinking: '' }
  }

  /** Logs an event in full. The next write publishes it. */
  #logEvent(row: StepRow, event: Event) {
    const position = this.#nextPosition(row)
    row.events.push([position.seq, position.at, event])
    this.#outgoing.push(toPlacedEvent(event, position))
  }

  /** Logs a delta by its length: its text is a part of the message it will belong to. */
  #logDelta(row: StepRow, { kind, text, step }: StoredDelta): SessionEvent {
    const position = this.#nextPosition(row)
    row.events.push([position.seq, position.at, kind, text.length, 0])
    return toPlacedEvent(createDelta(kind, text, step), position)
  }

  /** Stores the text of the deltas, because the final message differs from them. */
  #storeDeltaTexts(row: StepRow, { kind, text: streamed, step }: StoredDelta) {
    let from = 0
    row.events = row.events.map((logged) => {
      if (!isDelta(logged) || logged[4] !== 0 || logged[2] !== kind) return logged
      const delta = streamed.slice(from, from + logged[3])
      from += logged[3]
      return [logged[0], logged[1], createDelta(kind, delta, step)] as const
    })
  }

  /** Deletes the deltas of an answer that is given up: a replay does not need them. */
  #discardAnswer() {
    const row = this.#row
    const { fromSeq } = this.#answer
    if (row) row.events = row.events.filter((logged) => !(isDelta(logged) && logged[4] === 0 && logged[0] > fromSeq))
    this.#answer = { fromSeq: this.#lastEvent, text: this.#turn ? getSentDraft(this.#turn) : '', thinking: '' }
  }

  #nextPosition({ runId }: StepRow): EventPosition {
    return { seq: ++this.#lastEvent, at: this.#options.now(), runId, sessionId: this.#options.sessionId }
  }

  readonly #addFacets = (facets: Facets, entry: Entry): Facets =>
    addFacets(facets, entry, {
      redact: this.#options.redact ?? ((text) => text),
      isCurrent: (seq) => isCurrent(this.#options.conversation?.() ?? {}, seq),
      parseSummary,
    })

  #appendSummary({ text, carried, marks, ...position }: Summary) {
    const { entries } = this.#loaded()
    const summary = this.#append(this.turn().id, createSummaryMessage(text, carried, marks), position)
    this.#context = createContext([...entries.filter(({ covers }) => covers === undefined), summary])
  }

  #loaded() {
    return (this.#context ??= this.#load())
  }

  /** One pass over plain arrays: a session that wakes may have ten thousand entries. */
  #load() {
    const { newestFirst, summary } = this.#read()
    if (!summary) return createContext(newestFirst.toReversed())
    const { covers = 0, keeps = keepsNothing } = summary
    const kept = this.#journal.entriesAt([...keeps.head, ...keeps.requests])
    const after = newestFirst.filter(({ seq }) => seq > covers)
    return createContext([...kept, ...after.toReversed(), summary])
  }

  /** Shares the entries of the newest row, which is in memory already. */
  #holdOnce(n: number, entries: Entry[]) {
    if (this.#row?.n === n && this.#row.entries.length === entries.length) this.#row.entries = entries
  }

  /** Reads back to the first message that the newest summary does not replace. */
  #read() {
    const newestFirst: Entry[] = []
    let summary: Entry | undefined
    const conversation = this.#options.conversation?.() ?? {}
    const first = firstCurrent(conversation)
    for (const { n, entries } of this.#journal.entriesNewestFirst()) {
      if (n < first) break
      if (!isCurrent(conversation, n)) continue
      this.#holdOnce(n, entries)
      for (const entry of entries.toReversed())
        if (entry.covers === undefined) newestFirst.push(entry)
        else summary ??= entry
      if (summary?.covers !== undefined && n <= summary.covers) break
    }
    return { newestFirst, summary }
  }
}

/** The newest turn has the facets before it, so that only its own messages are read. */
function loadFacets(journal: Journal, add: (facets: Facets, entry: Entry) => Facets): Facets {
  const last = journal.lastTurn()?.turn
  let facets = last?.facetsBefore ?? noFacets
  const rows = journal.entriesOldestFirst(last?.facetsBefore ? journal.firstRowOf(last.id) : 0)
  for (const { entries } of rows) for (const entry of entries) facets = add(facets, entry)
  return facets
}

/** An answer in a format is sent when it is whole. */
const getSentDraft = ({ draft = '', options }: Turn): string => (options.answerFormat ? '' : draft)

/** Imported messages have no steps, so their rows are filled by size. */
const maxImportRowChars = 32 * 1024

/** Whether the newest row takes the entry: a row ends with the model's reply. */
const isRowOf = (row: StepRow, { runId }: Entry): boolean =>
  row.runId === runId && (runId === importRunId ? charsOf(row) < maxImportRowChars : !isAnswered(row))

const isAnswered = (row: StepRow) => row.entries.at(-1)?.message.role === 'assistant'
const charsOf = (row: StepRow) => row.entries.reduce((sum, _, i) => sum + entryText(row, i).length, 0)

type Opening = {
  readonly options: TurnOptions
  readonly limit: number
  readonly usageBefore: Usage
  /** Inbox items that are part of the messages. */
  readonly drain?: readonly number[] | undefined
  /** The turn is over as soon as it begins. */
  readonly outcome?: Outcome
}

/** `before`: the turn before, which passes on how well compressions did. */
export function openingTurn(
  runId: string,
  now: number,
  { options, limit, usageBefore, outcome }: Opening,
  before?: Turn,
): Turn {
  const { compression } = before ?? {}
  const turn = { ...newTurn(runId, now, limit, options), usageBefore, ...(compression && { compression }) }
  return outcome ? endTurn(turn, outcome, now) : turn
}

/** Of at most 2 KB each. */
const maxEvents = 16

/** Keeps the newest progress of the calls that run, for subscribers that join. It is never stored. */
class RecentProgress {
  #events: readonly SessionEvent[] = []

  add(event: SessionEvent): void {
    this.#events = [...this.#events, event].slice(-maxEvents)
  }

  /** Drops the progress of calls that these events end. `stage`: that of the turn after them. */
  dropEnded(events: readonly Event[], { stage }: Turn): void {
    if (!this.#events.length) return
    const ended = events.flatMap((event) => (event.type === 'tool.completed' ? [event.call_id] : []))
    this.#events = this.#events.filter(
      (event) => stage.at === 'tools' && event.type === 'tool.progress' && !ended.includes(event.call_id),
    )
  }

  /** Adds the progress to the events of the open row, in order. */
  addTo(events: SessionEvent[]): SessionEvent[] {
    return this.#events.length ? [...events, ...this.#events].toSorted((one, other) => one.seq - other.seq) : events
  }
}

/** `entries` are in the order in which they are sent. Assembly may change and join their messages. */
export type LoadedContext = { readonly entries: Entry[]; readonly messages: Message[]; tokens: number; images: number }

/** `entries`: the newest summary, the messages that it keeps, and those after it, oldest first. */
export function createContext(entries: readonly Entry[]): LoadedContext {
  const context: LoadedContext = { entries: [], messages: [], tokens: 0, images: 0 }
  const arranged = arrangeEntries(entries)
  if (!arranged.some(({ covers }) => covers !== undefined)) {
    for (const entry of arranged) addToContext(context, entry)
    return context
  }
  const messages = [...assembleContext(arranged)]
  const tokensOf = new Map(arranged.map(({ message, tokens }) => [message, tokens]))
  const tokens = messages.reduce((sum, one) => sum + (tokensOf.get(one) ?? estimateMessageTokens(one)), 0)
  return { entries: [...arranged], messages, tokens, images: messages.filter(hasImage).length }
}

export function addToContext(context: LoadedContext, entry: Entry): void {
  context.entries.push(entry)
  context.messages.push(entry.message)
  context.tokens += entry.tokens
  if (hasImage(entry.message)) context.images++
}

const hasImage = ({ role, content }: Message) => role !== 'assistant' && content.some(({ type }) => type === 'image')
