/**
 * The live state of one session: the turn, the transcript in use, what people said meanwhile. Memory is
 * a cache of the journal; `save` changes it and gathers what has to be written, `write` puts that down
 * and only then lets the world hear of it. (The output gate holds what is sent until it is durable.)
 */

import { announce } from '../../agent/loop/announce.ts'
import type { Event, PlacedEvent } from '../../agent/model/event.ts'
import type { Entry } from '../../agent/model/history.ts'
import { type AssistantMessage, type Message, textIn, thinkingIn } from '../../agent/model/message.ts'
import type { TurnOptions } from '../../agent/model/options.ts'
import type { Said, Store } from '../../agent/model/ports.ts'
import { type Commit, isOver, newTurn, type Summary, type Turn } from '../../agent/model/turn.ts'
import type { Usage } from '../../agent/model/usage.ts'
import { summaryMessage } from '../../agent/prompt/compress.ts'
import { tokensOf } from '../../agent/prompt/tokens.ts'
import type { Given } from './session-metadata.ts'
import { deltaOf, isDelta, ofStep, place, type Place, replay } from './event-log.ts'
import { importRun, type InboxItem, type Journal, type StepRow, type Waiting } from './journal.ts'

/** More events than one model call can send: after a crash, numbers go on beyond all that may have been heard. */
const unheard = 1_000_000

/** Something may have been said to the world after the last write. */
const inFlight = ({ stage }: Turn) =>
  stage.at === 'calling-model' || (stage.at === 'tools' && stage.calls.some(({ state }) => state === 'running'))

function lastNumbers(newest: StepRow | undefined, given: Given = { message: 0, event: 0 }): Given {
  if (!newest) return given
  return {
    message: Math.max(newest.entries.at(-1)?.seq ?? newest.n - 1, given.message),
    event: Math.max(newest.events.at(-1)?.[0] ?? 0, given.event),
  }
}

export type StoreOptions = {
  readonly sessionId: string
  readonly now: () => number
  /** Numbers that were given out in a former life of the session and are not in its rows. */
  readonly given?: Given | undefined
  /** Called after each write with what it made public, in order. */
  readonly publish: (events: readonly PlacedEvent[]) => void
  /** Called with each write, in its stretch. */
  readonly written: () => void
}

type Opening = {
  readonly options: TurnOptions
  readonly limit: number
  readonly usageBefore: Usage
  /** What of the inbox is part of the messages. */
  readonly drain?: readonly number[] | undefined
}

const hasSpoken = (row: StepRow) => row.entries.at(-1)?.message.role === 'assistant'

/** A history that a client brought along has no steps: its rows are filled. */
const hasRoom = (row: StepRow) => row.texts.reduce((sum, text) => sum + text.length, 0) < importRowLength
const importRowLength = 32 * 1024

/** Images come with what people say; results of tools are text. */
const hasImage = ({ role, content }: Message) => role !== 'assistant' && content.some(({ type }) => type === 'image')

export class SessionStore implements Store {
  readonly #journal: Journal
  readonly #options: StoreOptions
  #turn: Turn | undefined
  #row: StepRow | undefined
  /** It was taken back: what is put into it is heard, but no part of the conversation. */
  #isRowGone = false
  #context: Context | undefined
  #inbox: Waiting[]
  #lastSeq = 0
  #lastEvent = 0
  /** The row with which the open turn began. */
  #firstRow = 0
  /** Where the answer that is being given began, and what of it was heard. */
  #answer = { fromSeq: 0, text: '', thinking: '' }
  #dirty = new Map<number, StepRow>()
  #drained: number[] = []
  #outgoing: PlacedEvent[] = []

  constructor(journal: Journal, options: StoreOptions) {
    this.#journal = journal
    this.#options = options
    const newest = journal.newest()
    this.#turn = newest?.turn
    this.#row = newest?.row
    this.#isRowGone = newest?.isGone ?? false
    this.#inbox = journal.inbox()
    const { message, event: written } = lastNumbers(newest?.row, options.given)
    this.#lastSeq = message
    this.#lastEvent = this.#turn && inFlight(this.#turn) ? written + unheard : written
    this.#answer = { fromSeq: written, text: this.#turn?.draft ?? '', thinking: '' }
  }

  // --- reading

  get hasOpenTurn(): boolean {
    return !isOver(this.#turn)
  }

  current(): Turn | undefined {
    return this.#turn
  }

  turn(): Turn {
    if (!this.#turn) throw new Error('This session has had no turn yet.')
    return this.#turn
  }

  lastEventSeq = (): number => this.#lastEvent
  lastMessageSeq = (): number => this.#lastSeq

  /** What models get to see: the newest summary, if any, and all that came after what it covers. */
  transcript(): readonly Message[] {
    return this.#loaded().messages
  }

  contextTokens(): number {
    return this.#loaded().tokens
  }

  hasImages(): boolean {
    return this.#loaded().images > 0
  }

  lastRole(): Message['role'] | undefined {
    return this.#loaded().messages.at(-1)?.role
  }

  /** Said while the turn was open and not yet part of the transcript. */
  inbox(): Said[] {
    return this.#inbox.flatMap(({ id, item }) =>
      item.kind === 'said' ? [{ id, mode: item.mode, message: item.message, requestId: item.runId }] : [],
    )
  }

  queued(): { readonly id: number; readonly item: Extract<InboxItem, { kind: 'queued' }> }[] {
    return this.#inbox.flatMap(({ id, item }) => (item.kind === 'queued' ? [{ id, item }] : []))
  }

  /** All of the inbox, which is in memory as long as the object is. */
  waiting = (): readonly Waiting[] => this.#inbox

  // --- changing

  /** Begins a turn with these messages. The caller has made sure that none is open. */
  open(runId: string, messages: readonly Message[], { options, limit, usageBefore, drain = [] }: Opening) {
    const turn: Turn = { ...newTurn(runId, this.#options.now(), limit, options), usageBefore }
    this.#apply(undefined, { turn, append: messages, drain })
    this.#firstRow = this.#openRow().n
  }

  save(commit: Commit): void {
    this.#apply(this.turn(), commit)
  }

  /** Adds messages of before this session's first turn: a history that a client brought along. */
  preload(runId: string, messages: readonly Message[]): void {
    for (const message of messages) this.#append(runId, message)
  }

  say(item: InboxItem): number {
    const id = (this.#inbox.at(-1)?.id ?? 0) + 1
    this.#inbox = [...this.#inbox, this.#journal.putInbox(id, item)]
    return id
  }

  unsay(ids: readonly number[]): void {
    if (!ids.length) return
    this.#drained.push(...ids)
    this.#inbox = this.#inbox.filter(({ id }) => !ids.includes(id))
  }

  /** A piece of the answer that is being given. Public at once; durable with the answer. */
  hear(kind: 'm' | 'r', text: string): void {
    if (kind === 'm') this.#answer.text += text
    else this.#answer.thinking += text
    this.#options.publish([this.#logDelta(this.#openRow(), kind, text)])
  }

  write(): void {
    for (const row of this.#dirty.values()) this.#journal.putStep(row, row === this.#row ? this.#turn : undefined)
    this.#dirty.clear()
    if (this.#drained.length) this.#journal.dropInbox(this.#drained.splice(0))
    this.#options.written()
    const events = this.#outgoing.splice(0)
    if (events.length) this.#options.publish(events)
  }

  /** Events after `seq`, from the rows and from what is happening now. Nothing may be written while they are read. */
  *eventsSince(seq: number): Generator<PlacedEvent> {
    const open = this.#row
    for (const row of this.#journal.rowsSince(seq)) if (row.n !== open?.n) yield* this.#eventsOf(row, seq)
    if (open) yield* this.#eventsOf(open, seq)
  }

  #eventsOf(row: StepRow, after: number): PlacedEvent[] {
    return replay(row, this.#options.sessionId, this.#answer).filter(({ seq }) => seq > after)
  }

  /** All events of a run. The open run is in memory as far as its newest row goes. */
  eventsOfRun(runId: string): PlacedEvent[] {
    const current = this.#row
    if (current?.runId === runId && this.#turn?.id === runId && current.n === this.#firstRow)
      return replay(current, this.#options.sessionId, this.#answer)
    const rows = this.#journal.rowsOf(runId).filter(({ n }) => n !== current?.n)
    if (current?.runId === runId) rows.push(current)
    return rows.flatMap((row) => replay(row, this.#options.sessionId, this.#answer))
  }

  /** Takes the turns from message `from` on out of the conversation. */
  retract(from: number): void {
    this.#journal.retract(from)
    this.#isRowGone = true
    this.#context = undefined
  }

  // --- inside

  #apply(before: Turn | undefined, commit: Commit) {
    const drain = commit.drain ?? []
    const heard = this.inbox().filter(({ id }) => drain.includes(id))
    const step = this.#lastSeq
    const announced = announce(before, commit, { now: this.#options.now(), heard, fromSeq: this.#answer.fromSeq })
    const events = announced.map((event) => ofStep(event, step))
    this.#turn = commit.turn
    const givenUp = before !== undefined && before.restarts.count !== commit.turn.restarts.count
    if (givenUp) this.#forgetAnswer()
    if (commit.summary !== undefined) this.#summarise(commit.summary)
    for (const message of commit.append ?? []) this.#append(commit.turn.id, message)
    this.unsay(drain)
    const row = this.#openRow()
    for (const event of events) this.#tell(row, event)
    // An answer that is continued goes on where it stopped; any other begins anew.
    if (commit.turn.stage.at === 'calling-model' && before?.stage !== commit.turn.stage) this.#openAnswer(commit.turn)
    this.#touch(row)
  }

  #openAnswer({ draft }: Turn) {
    const thinking = draft === undefined ? '' : this.#answer.thinking
    this.#answer = { fromSeq: this.#lastEvent, text: draft ?? '', thinking }
  }

  #append(runId: string, message: Message, covers?: number) {
    const context = this.#loaded()
    const seq = ++this.#lastSeq
    const entry: Entry = {
      id: `msg_${seq}`,
      seq,
      runId,
      at: this.#options.now(),
      tokens: tokensOf(message),
      message,
      ...(covers !== undefined && { covers }),
    }
    const row = this.#rowFor(entry)
    row.entries.push(entry)
    row.texts.push(JSON.stringify(entry))
    this.#touch(row)
    if (covers === undefined) remember(context, entry)
    if (message.role === 'assistant') this.#closeAnswer(row, seq, message)
  }

  /** A row ends with what the model said, or when it is taken back: what comes next begins another. */
  #rowFor(entry: Entry): StepRow {
    const row = this.#isRowGone ? undefined : this.#row
    if (row?.runId === entry.runId && (entry.runId === importRun ? hasRoom(row) : !hasSpoken(row))) return row
    this.#isRowGone = false
    return (this.#row = { n: entry.seq, runId: entry.runId, entries: [], texts: [], events: [] })
  }

  #openRow(): StepRow {
    if (!this.#row) throw new Error('No turn has begun.')
    return this.#row
  }

  #touch(row: StepRow) {
    this.#dirty.set(row.n, row)
  }

  /** The deltas of the answer now belong to a message; what was never streamed is sent in one piece. */
  #closeAnswer(row: StepRow, seq: number, message: AssistantMessage) {
    const whole = { m: textIn(message), r: thinkingIn(message) }
    for (const kind of ['r', 'm'] as const) {
      const heard = kind === 'm' ? this.#answer.text : this.#answer.thinking
      const goesOn = whole[kind].startsWith(heard)
      if (!goesOn) this.#spellOut(row, kind, heard)
      const rest = goesOn ? whole[kind].slice(heard.length) : ''
      // Words that do not go on where the last ones stopped.
      if (!goesOn && kind === 'm') this.#tell(row, deltaOf('m', `\n\n${whole.m}`))
      if (rest) this.#outgoing.push(this.#logDelta(row, kind, rest))
    }
    for (const logged of row.events) if (isDelta(logged) && logged[4] === 0) logged[4] = seq
    this.#answer = { fromSeq: this.#lastEvent, text: '', thinking: '' }
  }

  /** Logs an event in full. The world hears of it with the next write. */
  #tell(row: StepRow, event: Event) {
    const where = this.#next(row)
    row.events.push([where.seq, where.at, event])
    this.#outgoing.push(place(event, where))
  }

  /** Logs a delta by its length: its text is that of the message it will belong to. */
  #logDelta(row: StepRow, kind: 'm' | 'r', text: string): PlacedEvent {
    const where = this.#next(row)
    row.events.push([where.seq, where.at, kind, text.length, 0])
    return place(deltaOf(kind, text), where)
  }

  /** What was heard is not how the message ends up: its pieces are stored as they were sent. */
  #spellOut(row: StepRow, kind: 'm' | 'r', heard: string) {
    let from = 0
    row.events = row.events.map((logged) => {
      if (!isDelta(logged) || logged[4] !== 0 || logged[2] !== kind) return logged
      const delta = heard.slice(from, from + logged[3])
      from += logged[3]
      return [logged[0], logged[1], deltaOf(kind, delta)] as const
    })
  }

  /** An answer is given up: whoever missed its pieces need not get them any more. */
  #forgetAnswer() {
    const row = this.#row
    const { fromSeq } = this.#answer
    if (row) row.events = row.events.filter((logged) => !(isDelta(logged) && logged[4] === 0 && logged[0] > fromSeq))
    this.#answer = { fromSeq: this.#lastEvent, text: this.#turn?.draft ?? '', thinking: '' }
  }

  #next({ runId }: StepRow): Place {
    return { seq: ++this.#lastEvent, at: this.#options.now(), runId, sessionId: this.#options.sessionId }
  }

  #summarise({ text, replaces }: Summary) {
    const { entries, messages } = this.#loaded()
    const covers = entries[replaces - 1]?.seq ?? 0
    this.#append(this.turn().id, summaryMessage(messages, replaces, text), covers)
    this.#context = undefined
    this.write() // the context is read again from the rows
  }

  #loaded() {
    return (this.#context ??= this.#load())
  }

  /** In one pass over plain arrays: a session that wakes up may have ten thousand entries. */
  #load() {
    const { newestFirst, summary } = this.#read()
    const context: Context = { entries: [], messages: [], tokens: 0, images: 0 }
    if (summary) remember(context, summary)
    const after = summary?.covers ?? 0
    for (let i = newestFirst.length - 1; i >= 0; i--) {
      const entry = newestFirst[i] as Entry
      if (entry.seq > after) remember(context, entry)
    }
    return context
  }

  /** As far back as the newest summary reaches. */
  #read() {
    const newestFirst: Entry[] = []
    let summary: Entry | undefined
    for (const { n, entries } of this.#journal.entriesBackwards()) {
      for (const entry of entries.toReversed())
        if (entry.covers === undefined) newestFirst.push(entry)
        else summary ??= entry
      if (summary?.covers !== undefined && n <= summary.covers) break
    }
    return { newestFirst, summary }
  }
}

/** What is sent to models. */
type Context = { readonly entries: Entry[]; readonly messages: Message[]; tokens: number; images: number }

function remember(context: Context, entry: Entry): void {
  context.entries.push(entry)
  context.messages.push(entry.message)
  context.tokens += entry.tokens
  if (hasImage(entry.message)) context.images++
}
